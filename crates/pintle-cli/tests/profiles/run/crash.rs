//! `kill -9` at random moments of runs: nothing acknowledged is lost, no call is without a result, the next run works.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use futures_util::StreamExt;
use pintle_agent::{Agent, Message, Personalities, Policy, RunEventKind, RunRequest, Store};
use pintle_policy::Level;
use pintle_store::SqliteStore;
use pintle_tools::{Background, TerminalConfig, builtin};
use serde_json::{Value, json};

use super::random::Random;
use super::support::{assert_whole, calls, done, messages, personality, rest, says, scripted};

const KILLS: usize = 50;
const RUNS: usize = 40;
const TEST: &str =
    "run::crash::a_run_that_is_killed_at_any_moment_loses_nothing_and_can_be_resumed";
const FOLDER: &str = "PINTLE_RUN_TEST_FOLDER";
const KEY: &str = "PINTLE_RUN_TEST_KEY";
const MARK: &str = "@ ";

async fn agent(folder: &Path, script: Vec<Value>) -> (Agent, Arc<dyn Store>) {
    let store = Arc::new(SqliteStore::open(folder.join("pintle.db")).await.unwrap());
    let workspace = folder.canonicalize().unwrap().join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let policy = Policy { level: Level::Permissive, ..Policy::standard(workspace) };
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let agent = Agent::builder(
        pintle::Hooks::new(),
        scripted(Value::from(script)),
        store.clone(),
        Personalities::new(personality("main", None, None)),
        policy,
    )
    .tools(builtin(TerminalConfig { env, ..TerminalConfig::default() }, &Background::default()))
    .build()
    .unwrap();
    (agent, store)
}

/// Tells the parent; what was told has left this process when it returns.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{MARK}{line}\n").unwrap();
    out.flush().unwrap();
}

/// The child's part: runs with tools, one after another, until it is killed.
async fn converse(folder: PathBuf, key: String) {
    let script = (0..RUNS).flat_map(|n| {
        let both = [
            (
                format!("{n}-write"),
                "write_file",
                json!({"path": format!("{key}.txt"), "content": format!("{n}")}),
            ),
            (format!("{n}-run"), "terminal", json!({"command": "sleep 0.02"})),
        ];
        let both: Vec<_> =
            both.iter().map(|(id, name, input)| (id.as_str(), *name, input.clone())).collect();
        [calls(&both), says(&format!("answer {n}"))]
    });
    let (agent, _store) = agent(&folder, script.collect()).await;
    tell("ready");
    for n in 0..RUNS {
        let mut run = agent.run(RunRequest::new(&key, format!("message {n}")));
        while let Some(event) = run.next().await {
            match event.kind {
                // A tool starts only when the answer that asks for it is stored.
                RunEventKind::ToolStart { .. } => tell(&format!("asked {n}")),
                RunEventKind::Done { .. } => tell(&format!("done {n}")),
                _ => {}
            }
        }
    }
}

/// Starts a child, lets it tell a random number of things, and kills it a random moment later; what it told in all.
fn kill_at_a_random_moment(folder: &Path, key: &str, random: &mut Random) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(FOLDER, folder)
        .env(KEY, key)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told =
        lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(MARK).map(str::to_owned));
    let enough = usize::try_from(random.below(8)).unwrap();
    let mut all: Vec<String> = told.by_ref().take(1 + enough).collect();
    std::thread::sleep(std::time::Duration::from_micros(random.below(15_000)));
    child.kill().unwrap();
    all.extend(told);
    child.wait().unwrap();
    all
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_moment_loses_nothing_and_can_be_resumed() {
    if let (Some(folder), Ok(key)) = (std::env::var_os(FOLDER), std::env::var(KEY)) {
        return converse(folder.into(), key).await;
    }
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new());
    let (mut interrupted, mut acknowledged) = (0, 0);
    for round in 0..KILLS {
        let key = format!("cli:{round}");
        let told = kill_at_a_random_moment(folder.path(), &key, &mut random);
        assert_eq!(told.first().map(String::as_str), Some("ready"), "round {round}");

        let (agent, store) = agent(folder.path(), vec![says("Back again.")]).await;
        let before = store.sessions().await.unwrap().into_iter().find(|session| session.key == key);
        let before = match &before {
            Some(session) => messages(store.history(&session.id).await.unwrap()),
            None => Vec::new(),
        };
        for line in &told[1..] {
            acknowledged += 1;
            check_kept(line, &before, round);
        }
        let open = matches!(before.last(), Some(Message::Assistant { tool_calls, .. }) if !tool_calls.is_empty());
        interrupted += usize::from(open);

        let events = rest(agent.run(RunRequest::new(&key, "are you there?"))).await;
        assert_eq!(done(&events), ("Back again.".into(), "end_turn".into()), "round {round}");
        let session =
            store.sessions().await.unwrap().into_iter().find(|session| session.key == key);
        let after = messages(store.history(&session.unwrap().id).await.unwrap());
        assert_whole(&after);
        assert_eq!(after[..before.len()], before, "round {round}: what was there stays");
        let repaired = usize::from(open);
        assert_eq!(after.len(), before.len() + repaired + 2, "round {round}");
        store.close().await;
    }
    assert!(acknowledged > KILLS, "only {acknowledged} things were acknowledged");
    assert!(interrupted > 0, "no kill hit a tool that was running");
}

fn check_kept(line: &str, history: &[Message], round: usize) {
    let (what, n) = line.split_once(' ').unwrap();
    let user = Message::user(format!("message {n}"));
    assert!(history.contains(&user), "round {round}: {line} was told, and the message is gone");
    let kept = history.iter().any(|message| match message {
        Message::Assistant { text, .. } if what == "done" => *text == format!("answer {n}"),
        Message::Assistant { tool_calls, .. } => {
            what == "asked" && tool_calls.iter().any(|call| call.id == format!("{n}-run"))
        }
        _ => false,
    });
    assert!(kept, "round {round}: {line} was told, and the answer is gone");
}
