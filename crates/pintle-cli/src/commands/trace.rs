//! `pintle trace`: a run as a waterfall.

use std::process::ExitCode;

use pintle_sandbox::{ProtectedChange, Refused};
use pintle_store::{Run, RunEvent, SqliteStore};
use serde_json::{Value, json};

use crate::{
    args::Trace,
    environment::Environment,
    out::{say, say_json},
    problem::Problem,
    shown::{Show, Shown, bold, cyan, dim, green, red, text, yellow},
};

/// How many of the newest runs a part of an id is looked for in.
const SEARCHED: u32 = 1000;
const BAR: u64 = 30;

pub(crate) async fn run(environment: &Environment, trace: Trace) -> Result<ExitCode, Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    let run = find(&store, trace.run.as_deref()).await?;
    let events = store.events(&run.run_id).await?;
    store.close().await;
    if environment.json {
        let events: Vec<Value> =
            events.iter().filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
        say_json(&json!({ "run": run, "events": events }))?;
    } else {
        print(&run, &events);
    }
    Ok(ExitCode::SUCCESS)
}

async fn find(store: &SqliteStore, named: Option<&str>) -> Result<Run, Problem> {
    let mut runs = store.runs(SEARCHED).await?;
    if let Some(named) = named {
        let fits = |id: &str| id.starts_with(named) || id.ends_with(named);
        runs.retain(|run| !named.is_empty() && fits(&run.run_id));
        if runs.len() > 1 {
            return Err(Problem::new(format!("`{named}` fits {} runs", runs.len()))
                .hint("give more of the id"));
        }
    }
    runs.into_iter().next().ok_or_else(|| match named {
        Some(named) => Problem::new(format!("there is no run `{named}`")),
        None => Problem::new("there are no runs yet").hint("`pintle chat` makes one"),
    })
}

fn print(run: &Run, events: &[RunEvent]) {
    let outcome = run.outcome.as_deref().unwrap_or("not ended");
    say!("{} {}", bold(text!("run {}", run.run_id)), dim(text!("{} · {}", run.model, outcome)));
    let end = events.last().map_or(run.started_at, |event| event.at);
    let whole = end.saturating_sub(run.started_at).max(1);
    for event in events {
        let Ok(json) = serde_json::from_str::<Value>(&event.json) else { continue };
        let at = event.at.saturating_sub(run.started_at);
        let filled = usize::try_from(at * BAR / whole).unwrap_or_default();
        let empty = usize::try_from(BAR).unwrap_or_default().saturating_sub(filled);
        let bar = format!("{}▏{}", " ".repeat(filled), " ".repeat(empty));
        for line in describe(&event.kind, &json) {
            say!("{} {}", dim(text!("{:>6} ms {}", at, bar)), line);
        }
    }
    if run.dropped_events > 0 {
        let missing = red(text!("{} events are missing", run.dropped_events));
        say!("{}: they came faster than the disk took them", missing);
    }
}

/// How a process was held: `build · full · wanted to write /x`.
fn sandbox(json: &Value) -> Shown {
    let word = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    let list = |key: &str| json.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut line = text!("  sandbox {} · {}", word("zone"), word("tier"));
    for host in list("hosts") {
        let reached = host.get("allowed") == Some(&Value::Bool(true));
        let verb = if reached { "reached" } else { "was refused" };
        let name = host.get("host").and_then(Value::as_str).unwrap_or_default();
        line = text!("{} · {} {}", line, verb, name);
    }
    for refused in list("refused") {
        line = match serde_json::from_value::<Refused>(refused) {
            Ok(refused) => {
                text!("{} · {}", line, yellow(text!("wanted to {}", refused.to_string())))
            }
            Err(_) => line,
        };
    }
    for changed in list("changed") {
        line = match serde_json::from_value::<ProtectedChange>(changed) {
            Ok(changed) => text!("{} · {}", line, red(changed.to_string())),
            Err(_) => line,
        };
    }
    line
}

fn describe(kind: &str, json: &Value) -> Vec<Shown> {
    let word = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    match kind {
        "hook.fired" => {
            let handlers =
                json.get("handlers").and_then(Value::as_array).cloned().unwrap_or_default();
            let one = |handler: &Value| -> Vec<Shown> {
                let field = |key: &str| handler.get(key).cloned().unwrap_or_default();
                let name = field("name").as_str().unwrap_or_default().to_string();
                let outcome = field("outcome").as_str().unwrap_or_default().to_string();
                let took = dim(text!("{} ms", field("durationMs")));
                let line = text!("{} {} {} {}", cyan(word("point")), name, outcome, took);
                let notes = field("notes").as_array().cloned().unwrap_or_default();
                let note = |note: &Value| text!("  {}", yellow(note.as_str().unwrap_or_default()));
                std::iter::once(line).chain(notes.iter().map(note)).collect()
            };
            handlers.iter().flat_map(one).collect()
        }
        "hook.blocked" => {
            let blocked = red(text!("{} blocked by {}", word("point"), word("handler")));
            vec![text!("{}: {}", blocked, word("reason"))]
        }
        "tool.start" => {
            let args = json.get("args").cloned().unwrap_or_default();
            vec![text!("→ {} {}", word("toolName"), dim(args))]
        }
        "tool.end" if json.get("ok") == Some(&Value::Bool(true)) => {
            vec![text!("{} {}", green("✓"), word("toolName"))]
        }
        "tool.end" => {
            let (tool, outcome, error) = (word("toolName"), word("outcome"), word("error"));
            vec![text!("{} {} {}: {}", red("✗"), tool, outcome, error)]
        }
        "sandbox" => vec![sandbox(json)],
        "done" => vec![text!("{} {}", bold("done"), word("outcome"))],
        "error" => vec![text!("{} {}: {}", red("error"), word("code"), word("message"))],
        other => vec![other.shown()],
    }
}
