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
use pintle_store::SqliteStore;

use crate::{
    args::Demo,
    assembly::{Assembled, Extras},
    chat::{Ears, Ended, Lines, Player, Screen, terminal},
    environment::Environment,
    problem::{BOLD, CYAN, DIM, GREEN, Problem, RED},
    profile::Plan,
};

const CONVERSATION: [(&str, &str); 3] = [
    ("write notes.txt: hooks you can rely on", "A file in the workspace: that runs by itself."),
    ("run rm -rf /", "A destructive command: it never runs, whoever asks."),
    ("run ls -l", "A harmless command, but a command: a person is asked."),
];

pub(crate) async fn run(environment: &Environment, demo: Demo) -> Result<ExitCode, Problem> {
    let folder = tempfile::tempdir()?;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir(&workspace)?;
    let tally = Arc::new(Tally::default());
    let hooks = Hooks::builder().sink(tally.clone()).build();
    bind(&hooks)?;

    let mut plan = Plan::read(environment, None)?;
    plan.policy.workspace = workspace;
    let store = SqliteStore::open(folder.path().join("demo.db")).await?;
    let (sender, questions) = terminal();
    let can_ask = environment.stdin_is_terminal || demo.yes;
    let screen = Screen::full(environment);
    let ears = Ears { terminal: can_ask.then_some(sender), elsewhere: false };
    let extras = Extras { ears, hooks: Some(hooks), ..Extras::default() };
    let llm = pintle_llm::open("offline", &environment.llm_settings())?;
    let assembled =
        Assembled::from_parts(environment, plan, ("offline", llm), store, extras).await?;
    let lines = Lines::open(environment.stdin_is_terminal, folder.path().join("history"));
    let mut player = Player::new(screen, lines, questions);
    if demo.yes {
        player = player.answering_yes();
    }
    for (text, comment) in CONVERSATION {
        anstream::println!("\n{DIM}# {comment}{DIM:#}\n{BOLD}›{BOLD:#} {text}");
        if let Ended::Quit = player.play(assembled.agent.run(Ask::new("demo", text))).await {
            return Ok(ExitCode::from(130));
        }
    }
    if !player.wait_for(assembled.close()).await {
        return Ok(ExitCode::from(130));
    }
    tally.print();
    anstream::println!(
        "\nnext: {CYAN}pintle init my-agent{CYAN:#} for a profile of your own, {CYAN}pintle chat{CYAN:#} to talk"
    );
    Ok(ExitCode::SUCCESS)
}

/// Two hooks of the demo's own, beside the built-in terminal guard.
fn bind(hooks: &Hooks) -> Result<(), Problem> {
    let greet = |e: Event<SessionStart>| async move {
        anstream::eprintln!("  {DIM}hook greeter: session {} begins{DIM:#}", e.session_id());
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
        anstream::println!("\n{BOLD}what fired{BOLD:#}");
        for (point, (fires, handlers, blocks)) in tally.iter() {
            let heard = if *handlers > 0 {
                format!("{GREEN}{handlers} handled{GREEN:#}")
            } else {
                String::new()
            };
            let blocked =
                if *blocks > 0 { format!(" {RED}{blocks} blocked{RED:#}") } else { String::new() };
            anstream::println!("  {point:<22} {fires:>2}×  {heard}{blocked}");
        }
    }
}
