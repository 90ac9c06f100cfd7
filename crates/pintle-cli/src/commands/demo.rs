//! `pintle demo`: what a newcomer runs first. A real profile with real scripts, the real engine and sandbox; only the
//! model plays a script. Each proof is checked: the demo fails at the step where one does not hold.

mod folder;
mod steps;

use std::{process::ExitCode, sync::Arc};

use pintle::{Event, Hooks, points::BeforeLlmCall};
use pintle_agent::{RunRequest, store::Scope};
use pintle_sandbox::Tier;
use tokio::sync::{mpsc, oneshot};

use self::{
    folder::DemoFolder,
    steps::{Step, steps},
};
use crate::{
    args::Demo,
    assembly::{AgentOptions, Assembled},
    chat::{
        AskVia, CallLog, Ended, Input, Interrupts, Pacer, Reached, RunView, Screen, TerminalAnswer,
        print_events, short, terminal,
    },
    environment::Environment,
    out::{say, say_json, tell_line},
    problem::Problem,
    profile::{Model, Plan},
    shown::{Show, Shown, bold, dim, green, red, text, yellow},
    store,
    term::{Glyph, columns, duration, fit, fit_middle, pad, plural, width, wrap},
};

/// The key of the conversation in the list of sessions.
const KEY: &str = "demo";

pub(crate) async fn run(environment: &Environment, demo: Demo) -> Result<ExitCode, Problem> {
    let folder = Arc::new(DemoFolder::make(&environment.temporary)?);
    // It has settings of its own, and leaves the person's as they are. Its run is kept with the others.
    let own = environment.for_demo(folder.data(), folder.work());
    folder.trust(&own)?;
    let plan = Plan::read(&own, Some(&folder.profile()), Model::Chosen)?;
    let store = store::open(environment).await?;
    let hooks = Hooks::new();
    let (sender, questions) = terminal();
    let can_ask = demo.yes || environment.stdin_is_terminal && !environment.json;
    let ask_via = AskVia { terminal: can_ask.then_some(sender), ..AskVia::default() };
    let extras = AgentOptions {
        ask_via,
        hooks: Some(hooks.clone()),
        keeps_no_rules: true,
        ..AgentOptions::default()
    };
    let has_sandbox = own.sandbox().tier() != Tier::None;
    let steps = steps(has_sandbox);
    let said = folder.script(&steps)?;
    let llm = pintle_llm::open(&said, &own.llm_settings())?;
    let assembled = Assembled::from_parts(&own, plan, (&said, llm), store, extras).await?;
    let request = RunRequest::in_new_session(KEY, "pintle demo");
    if environment.json {
        if demo.yes {
            let mut questions = questions;
            tokio::spawn(async move {
                while let Some((request, reply)) = questions.recv().await {
                    let is_again = request.args.get("grants").is_some();
                    let _ = reply.send(match is_again {
                        true => TerminalAnswer::No(None),
                        false => TerminalAnswer::Yes(Scope::Once),
                    });
                }
            });
        }
        return for_machines(assembled, request, &folder, &steps).await;
    }
    let input = Input::open(environment.stdin_is_terminal, folder.data().join("history"));
    let screen = Screen::full(environment)
        .without_totals()
        .when_unasked("`pintle demo --yes` answers with yes");
    let turns = announce_turns(&hooks)?;
    let paces = environment.stdin_is_terminal && !demo.yes;
    let pacer = Pacer { turns, reached: presenter(folder.clone(), steps.clone(), paces) };
    let mut view = RunView::new(screen, input, questions).paced(pacer).declining_attempts();
    if demo.yes {
        view = view.answering_yes();
    }
    let place = folder.work().display().to_string();
    let header = text!(
        "{} · {} · offline model · files in {}",
        bold("pintle demo"),
        plural(6, "step"),
        place
    );
    tell_line(&wrap(&header, width(), 2));
    let leaves = match view.play(&assembled, request).await {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    let leaves = view.interrupts.last(leaves, assembled.close()).await;
    if let Some(problem) = view.take_failure() {
        return Err(problem);
    }
    if let Some(code) = leaves {
        return Ok(code.into());
    }
    summary(view.log(), has_sandbox, view.run_id());
    Ok(ExitCode::SUCCESS)
}

/// Each request to the model waits until the reader has followed.
fn announce_turns(
    hooks: &Hooks,
) -> Result<mpsc::UnboundedReceiver<(u32, oneshot::Sender<()>)>, Problem> {
    let (sender, turns) = mpsc::unbounded_channel();
    let wait = move |e: Event<BeforeLlmCall>| {
        let (go, gone_on) = oneshot::channel();
        let _ = sender.send((e.turn_number, go));
        async move {
            let _ = gone_on.await;
        }
    };
    hooks.named("pace").source("demo").register_void(wait).map_err(Problem::new)?;
    Ok(turns)
}

/// The lines at a turn of the run: the end of the last step, then the beginning of the next.
fn presenter(
    folder: Arc<DemoFolder>,
    steps: Vec<Step>,
    paces: bool,
) -> Box<dyn FnMut(u32) -> Result<Option<Reached>, Problem> + Send> {
    Box::new(move |turn| {
        let Some(at) = steps.iter().position(|step| step.turn == turn) else { return Ok(None) };
        let mut reached = Reached { pauses: paces && at > 0, ..Reached::default() };
        let before = at.checked_sub(1).and_then(|before| steps.get(before));
        if let Some(step) = before {
            reached.end = step.proofs(&folder)?;
            reached.end.extend(step.others());
        }
        let Some(step) = steps.get(at) else { return Ok(None) };
        reached.begin.push(Shown::default());
        reached.begin.push(bold(text!("{}/6  {}", at + 1, step.title)));
        if !step.prompt.is_empty() {
            reached.begin.push(text!("{} {}", Glyph::Prompt, step.prompt));
        }
        reached.begin.extend(step.skipped());
        Ok(Some(reached))
    })
}

/// The events of the run, one JSON object per line, and at the end whether every proof holds.
async fn for_machines(
    assembled: Assembled,
    request: RunRequest,
    folder: &DemoFolder,
    steps: &[Step],
) -> Result<ExitCode, Problem> {
    let mut interrupts = Interrupts::listen();
    let run = assembled.agent.run(request);
    let leaves = match print_events(run, &mut interrupts).await? {
        Ended::Quit(code) => return Ok(code.into()),
        Ended::Leave(code) => Some(code),
        Ended::Done { .. } => None,
    };
    if let Some(code) = interrupts.last(leaves, assembled.close()).await {
        return Ok(code.into());
    }
    for step in steps {
        step.proofs(folder)?;
    }
    say_json(&serde_json::json!({ "type": "demo", "proofs": "hold" }))?;
    Ok(ExitCode::SUCCESS)
}

/// Step 6: every call on one axis, the figures, and what to try next.
fn summary(log: &[CallLog], has_sandbox: bool, run: &str) {
    const TIME: usize = 8;
    let label = if width() < 60 { 30 } else { width() * 45 / 100 };
    let bar = width().saturating_sub(label + TIME + 2);
    let whole = log.iter().map(|row| row.from + row.took).max().unwrap_or_default().as_secs_f64();
    for row in log {
        // The outcome is never cut; the call loses its middle.
        let room = label.saturating_sub(columns(&row.what) + 4);
        let call = fit_middle(&row.call, room);
        let what = fit(&text!("{} {}  {}", row.glyph, call, dim(&row.what)), label);
        let cells = |seconds: f64| (seconds / whole.max(0.001) * bar as f64) as usize;
        let (from, length) = (cells(row.from.as_secs_f64()), cells(row.took.as_secs_f64()));
        let mark = if length == 0 { "▏".to_owned() } else { "█".repeat(length) };
        let mark = if row.ran { green(mark) } else { red(mark) };
        let drawn =
            pad(&text!("{}{}", " ".repeat(from.min(bar.saturating_sub(1))), mark), bar, false);
        let time = pad(&duration(row.took).shown(), TIME, true);
        say!("{} {} {}", pad(&what, label, false), drawn, dim(time));
    }
    let count = |is: fn(&&CallLog) -> bool| log.iter().filter(is).count() as u64;
    let (blocked, refused) = (count(|row| !row.ran), count(|row| row.refused > 0));
    let (approved, unjudged) = (count(|row| row.approved), count(|row| row.ran && !row.judged));
    let figures = text!(
        "{} blocked, {} refused by the kernel, {} approved, {} ran unjudged.",
        plural(blocked, "call"),
        plural(refused, "write"),
        approved,
        unjudged
    );
    say!("{}", wrap(&figures, width(), 2));
    if !has_sandbox {
        say!("{} {}", Glyph::Warning, yellow("this machine has no sandbox: step 4 was skipped"));
    }
    let next = [
        (format!("pintle trace {}", short(run)), "the whole run"),
        ("pintle explain -- git push".to_owned(), "what your folder would do with that"),
        ("pintle init && pintle chat".to_owned(), "your own rules"),
    ];
    for (command, does) in &next {
        let line = text!("{} {}", Glyph::Next, bold(command));
        let half = width() / 2;
        match columns(&line) + 2 <= half && does.len() <= half {
            true => say!("{}{}", pad(&line, half, false), does),
            false => say!("{}\n    {}", line, wrap(&does.shown(), width(), 4)),
        }
    }
}
