//! §16: every command has `--help` with an example.

use insta::assert_snapshot;
use pintle::points::InboundMessage;
use pintle_agent::{
    Store,
    store::{MessageEnd, MessageState, NewInbound, Queues},
};
use pintle_store::SqliteStore;
use serde_json::Value;

use crate::{
    serving::Served,
    support::{Said, World},
};

fn help(world: &World, command: &[String]) -> String {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    let said = world.run(&arguments);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{command:?}");
    said.out
}

/// The names under `Commands:`, or in the groups of the overview.
fn subcommands(help: &str) -> Vec<String> {
    if let Some((_, groups)) = help.split_once("Usage: pintle [OPTIONS] [COMMAND]\n\n") {
        let lines = groups.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.get(10..)?.split_whitespace().next());
        return names.map(str::to_string).collect();
    }
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

/// The program and all its commands, the innermost included.
fn all(world: &World) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let text = help(world, &command);
        open.extend(subcommands(&text).into_iter().rev().map(|name| {
            let mut inner = command.clone();
            inner.push(name);
            inner
        }));
        found.push((command, text));
    }
    found
}

#[test]
fn every_command_explains_itself_with_an_example_and_fits_a_terminal() {
    let world = World::new();
    let all = all(&world);
    assert!(all.len() > 12, "the commands are found: {}", all.len());
    for (command, text) in all {
        if !command.is_empty() {
            let examples = examples(&text).len();
            assert!(
                examples >= 2,
                "`pintle {}` has {examples} examples:\n{text}",
                command.join(" ")
            );
            assert!(text.contains("\nSee also: "), "{text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
        }
        let name: Vec<&str> =
            ["pintle"].into_iter().chain(command.iter().map(String::as_str)).collect();
        assert_snapshot!(name.join("-"), text);
    }
}

#[test]
fn asking_for_help_leaves_no_trace() {
    let world = World::new();
    all(&world);
    assert!(!world.data().exists());
}

/// The lines below `Examples:`, or those of the overview's line `Examples`.
fn examples(help: &str) -> Vec<String> {
    if let Some((_, line)) = help.split_once("\nExamples  ") {
        return line.lines().next().unwrap().split(" · ").map(|it| it.trim().to_string()).collect();
    }
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    lines.map_while(|line| line.strip_prefix("  ").map(str::to_string)).collect()
}

/// The exit codes of examples that do not end with 0: their help names them.
const CODES: [(&str, i32); 3] = [
    ("pintle explain --untrusted -- git push", 4),
    ("pintle explain -- git push origin main", 4),
    ("pintle chat --model anthropic/claude-sonnet-4-5   # needs ANTHROPIC_API_KEY", 1),
];

/// Runs an example in which `id` stands for a question that waits.
fn with_a_question(world: &World, example: &str, id: &str) -> Said {
    let mut asking = world.start(&["chat", "-q", "read /etc/passwd", "--wait-for-approval"]);
    world.pending();
    let listed = world.run(&["approvals"]).out;
    let row = listed.lines().nth(1).unwrap();
    let said = world.pasted(&example.replace(id, row.split_whitespace().next().unwrap()), &[]);
    asking.kill().unwrap();
    asking.wait().unwrap();
    // Calls off what was only looked at: the next example has a question of its own.
    world.run(&["chat", "-q", "list ."]);
    said
}

/// Runs an example in which `id` stands for a run in the skill queue.
fn with_a_queued_run(world: &World, example: &str, id: &str) -> Said {
    let settings = "[consumers.skill_queue]\nmin_tool_calls = 1\ncool_down_minutes = 0\n";
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    let pending = world.run(&["skills", "pending", "--json"]).json();
    world.pasted(&example.replace(id, pending[0]["runId"].as_str().unwrap()), &[])
}

/// Runs an example in which `id` is the start of the id of a message that was put aside.
fn with_a_dead_message(world: &World, example: &str, id: &str) -> Said {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(world.data().join("pintle.db")).await.unwrap();
        let ended = store.messages(MessageState::Queued).await.unwrap().len();
        let new = NewInbound {
            dedup_key: format!("key {ended}"),
            lane: format!("lane {ended}"),
            run_id: format!("{id}-{ended}"),
            session_id: "session".into(),
            personality: None,
            message: InboundMessage::default().id("1").platform("http").chat_id("c").text("hi"),
        };
        store.accept(new, 10).await.unwrap();
        let lease = std::time::Duration::from_secs(60);
        loop {
            let claimed = store.claim_lane("test", lease).await.unwrap().unwrap();
            let is_new = claimed.claim.lane == format!("lane {ended}");
            let end = match is_new {
                true => MessageEnd::Dead { error: "it failed three times".into() },
                // One that an earlier example put back.
                false => MessageEnd::Released,
            };
            assert!(store.settle_lane(&claimed.claim, end, Vec::new()).await.unwrap());
            if is_new {
                break;
            }
        }
        store.close().await;
    });
    let said = world.pasted(example, &[]);
    assert_eq!(world.run(&["messages", "dead", "--json"]).json(), serde_json::json!([]), "{said}");
    said
}

/// Starts what the example starts, at a free port: another program may have the port of the example.
fn serves(world: &World, example: &str) {
    world.run(&["init", "my-agent"]);
    let mut arguments: Vec<&str> = example.split_whitespace().skip(2).collect();
    if let Some(place) = arguments.iter().position(|argument| *argument == "--addr") {
        arguments.drain(place..place + 2);
    }
    let served = Served::start_as(world, &arguments);
    let (status, reply) = served.say("c", "1", "list .", "");
    assert_eq!((status, reply["outcome"].as_str()), (200, Some("end_turn")), "{example}: {reply}");
    served.kill();
}

/// One of three parts of the commands: all of them take a minute.
///
/// §16: a newcomer pastes the examples, one after the other, in a folder that `pintle init` made.
fn paste_a_third(part: usize) {
    for (command, text) in all(&World::new()).into_iter().skip(part).step_by(3) {
        let world = World::new();
        assert_eq!(world.run(&["init"]).code, Some(0));
        // The folder of data is there.
        assert_eq!(world.run(&["chat", "-q", "hi"]).code, Some(0));
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{command:?}: {text}");
        for example in examples {
            if example.starts_with("pintle serve") {
                serves(&world, &example);
                continue;
            }
            let words: Vec<_> = example.split_whitespace().take(4).collect();
            let said = match words.as_slice() {
                ["pintle", "approvals", "show" | "approve" | "deny", id] => {
                    with_a_question(&world, &example, id)
                }
                ["pintle", "skills", "show" | "drop", id] => {
                    with_a_queued_run(&world, &example, id)
                }
                ["pintle", "messages", "retry", id] => with_a_dead_message(&world, &example, id),
                _ => world.pasted(&example, &[]),
            };
            let code =
                CODES.iter().find(|(other, _)| *other == example).map_or(0, |(_, code)| *code);
            assert_eq!(said.code, Some(code), "`pintle {}`: {example}\n{said}", command.join(" "));
            if example.contains("--json") && !example.contains(['|', '>']) {
                let values = serde_json::Deserializer::from_str(&said.out).into_iter::<Value>();
                assert!(values.collect::<Result<Vec<_>, _>>().is_ok(), "{example}: {said}");
            }
            if example.contains("ANTHROPIC_API_KEY") {
                assert!(said.err.contains("set ANTHROPIC_API_KEY"), "{example}: {said}");
            }
        }
    }
}

#[test]
fn every_example_works_when_it_is_pasted() {
    paste_a_third(0);
}

#[test]
fn every_example_works_when_it_is_pasted_too() {
    paste_a_third(1);
}

#[test]
fn every_example_works_when_it_is_pasted_as_well() {
    paste_a_third(2);
}

#[test]
fn every_example_with_an_exit_code_of_its_own_is_in_a_help() {
    let all = all(&World::new());
    let examples: Vec<_> = all.iter().flat_map(|(_, text)| examples(text)).collect();
    for (example, _) in CODES {
        assert!(examples.iter().any(|other| other == example), "no help has `{example}`");
    }
}

// The request in the help of `serve`, with the address and the folder of a gateway that runs.
#[test]
fn the_request_in_the_help_of_serve_is_answered() {
    let world = World::new();
    let text = help(&world, &["serve".to_string()]);
    let (_, request) = text.split_once("  curl ").expect("the help shows a request");
    let request = format!("curl -sS {}", request.split("\n\n").next().unwrap());
    let served = Served::start(&world);
    let request = request.replace("127.0.0.1:7437", &served.address);
    let request = request.replace("DATA", &world.data().display().to_string());
    let said = world.pasted(&request, &[]);
    assert_eq!(said.json()["outcome"], "end_turn", "{request}\n{said}");
    served.kill();
}

#[test]
fn the_version_is_the_same_by_each_of_its_names() {
    let world = World::new();
    let version = format!("pintle {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [&["--version"][..], &["-V"], &["--json", "--version"]] {
        assert_eq!(world.run(arguments).out, version, "{arguments:?}");
    }
}
