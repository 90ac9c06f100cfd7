//! `pintle demo`: what a newcomer runs first.

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::{
    Event, FireRecord, Hooks, Outcome, RecordSink,
    points::{BeforePromptBuild, PromptPatch, SessionStart},
};
use pintle_agent::Ask;
use pintle_store::{Scope, SqliteStore};
use serde_json::{Value, json};

use crate::{
    args::Demo,
    assembly::{Assembled, Extras},
    chat::{
        Ears, Ended, Interrupts, Lines, Player, Questions, Screen, TerminalAnswer, print_events,
        terminal,
    },
    environment::Environment,
    out::{say, say_json, tell},
    problem::Problem,
    profile::Plan,
    shown::{Shown, bold, cyan, dim, green, red, text},
};

const CONVERSATION: [(&str, &str); 3] = [
    ("write notes.txt: hooks you can rely on", "A file in the workspace: that runs by itself."),
    ("run rm -rf /", "A destructive command: the terminal guard blocks it."),
    ("read ../outside.txt", "A file outside the workspace: a person is asked."),
];

pub(crate) async fn run(environment: &Environment, demo: Demo) -> Result<ExitCode, Problem> {
    let folder = tempfile::tempdir_in(&environment.temporary).map_err(|error| {
        let place = environment.temporary.display();
        Problem::new(format!("the demo needs a folder for a moment, in {place}: {error}"))
            .hint("say another place: TMPDIR")
    })?;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir(&workspace)?;
    std::fs::write(folder.path().join("outside.txt"), "not the agent's to read unasked\n")?;
    let tally = Arc::new(Tally::default());
    let hooks = Hooks::builder().sink(tally.clone()).build();
    bind(&hooks, !environment.json)?;

    let plan = Plan::without_profile(environment, workspace)?;
    let store = SqliteStore::open(folder.path().join("demo.db")).await?;
    let (sender, questions) = terminal();
    let can_ask = demo.yes || environment.stdin_is_terminal && !environment.json;
    let ears = Ears { terminal: can_ask.then_some(sender), ..Ears::default() };
    let extras = Extras { ears, hooks: Some(hooks), ..Extras::default() };
    let llm = pintle_llm::open("offline", &environment.llm_settings())?;
    let assembled =
        Assembled::from_parts(environment, plan, ("offline", llm), store, extras).await?;
    if environment.json {
        return for_machines(assembled, &tally, demo.yes.then_some(questions)).await;
    }
    let lines = Lines::open(environment.stdin_is_terminal, folder.path().join("history"));
    let screen = Screen::full(environment).when_unasked(
        "no one was asked: this is no terminal. `pintle demo --yes` answers with yes",
    );
    let mut player = Player::new(screen, lines, questions);
    if demo.yes {
        player = player.answering_yes();
    }
    for (text, comment) in CONVERSATION {
        say!("\n{}\n{} {}", dim(text!("# {}", comment)), bold("›"), text);
        match player.play(assembled.agent.run(Ask::new("demo", text))).await {
            Ended::Quit(code) => return Ok(code.into()),
            Ended::Leave(code) => {
                let code = player.interrupts.last(Some(code), assembled.close()).await;
                return Ok(code.map_or(ExitCode::FAILURE, ExitCode::from));
            }
            Ended::Done { .. } => {}
        }
    }
    if let Some(code) = player.interrupts.last(None, assembled.close()).await {
        return Ok(code.into());
    }
    tally.print();
    let (init, chat) = (cyan("pintle init my-agent"), cyan("pintle chat"));
    say!("\nnext: {} for a profile of your own, {} to talk", init, chat);
    Ok(ExitCode::SUCCESS)
}

/// The events of the three runs, one JSON object per line, and what fired as the last.
async fn for_machines(
    assembled: Assembled,
    tally: &Tally,
    questions: Option<Questions>,
) -> Result<ExitCode, Problem> {
    let mut interrupts = Interrupts::listen();
    if let Some(mut questions) = questions {
        tokio::spawn(async move {
            while let Some((_, reply)) = questions.recv().await {
                let _ = reply.send(TerminalAnswer::Yes(Scope::Once));
            }
        });
    }
    let mut told = None;
    for (text, _) in CONVERSATION {
        let run = assembled.agent.run(Ask::new("demo", text));
        match print_events(run, &mut interrupts).await? {
            Ended::Quit(code) => return Ok(code.into()),
            Ended::Leave(code) => told = Some(code),
            Ended::Done { .. } => {}
        }
        if told.is_some() {
            break;
        }
    }
    if let Some(code) = interrupts.last(told, assembled.close()).await {
        return Ok(code.into());
    }
    say_json(&tally.to_json())?;
    Ok(ExitCode::SUCCESS)
}

/// Two hooks of the demo's own, beside the built-in terminal guard.
fn bind(hooks: &Hooks, speaks: bool) -> Result<(), Problem> {
    let greet = move |e: Event<SessionStart>| async move {
        if speaks {
            tell!("  {}", dim(text!("hook greeter: session {} begins", e.session_id())));
        }
    };
    hooks.named("greeter").source("demo").register_void(greet).map_err(Problem::new)?;
    let brief = |_: Event<BeforePromptBuild>| async {
        Some(PromptPatch { append_system: Some("Be brief.".into()), ..PromptPatch::default() })
    };
    hooks.named("be-brief").source("demo").register_modifying(brief).map_err(Problem::new)?;
    Ok(())
}

/// What fired, how often, and what handlers said.
#[derive(Default)]
struct Tally(Mutex<BTreeMap<&'static str, (u32, u32, u32)>>);

impl RecordSink for Tally {
    fn record(&self, record: &FireRecord) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (fires, handlers, blocks) = tally.entry(record.point).or_default();
        *fires += 1;
        *handlers += u32::try_from(record.handlers.len()).unwrap_or(u32::MAX);
        let blocked =
            record.handlers.iter().filter(|handler| matches!(handler.outcome, Outcome::Blocked(_)));
        *blocks += u32::try_from(blocked.count()).unwrap_or(u32::MAX);
    }
}

impl Tally {
    fn print(&self) {
        let tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        say!("\n{}", bold("what fired"));
        for (point, (fires, handlers, blocks)) in tally.iter() {
            let heard = match handlers {
                0 => Shown::default(),
                handlers => green(text!("{} handled", handlers)),
            };
            let blocked = match blocks {
                0 => Shown::default(),
                blocks => text!(" {}", red(text!("{} blocked", blocks))),
            };
            say!("  {:<22} {:>2}×  {}{}", point, fires, heard, blocked);
        }
    }

    fn to_json(&self) -> Value {
        let tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |(point, (fires, handled, blocked)): (&&str, &(u32, u32, u32))| json!({ "point": point, "fires": fires, "handled": handled, "blocked": blocked });
        json!({ "fired": tally.iter().map(entry).collect::<Vec<_>>() })
    }
}
