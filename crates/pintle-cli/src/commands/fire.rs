//! `pintle hooks fire`: one point, a payload of yours, and everything that comes of it.

use std::{
    io::Read,
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::{
    Cx, DynOutcome, Envelope, FireRecord, HandlerRecord, Outcome, PluginGate, Point, RecordSink,
    points::ToolPre,
};
use serde_json::{Value, json};

use crate::{
    args::Who,
    assembly::{Assembled, Extras},
    chat::now_ms,
    environment::Environment,
    out::{say, say_json},
    problem::Problem,
    shown::{Shown, bold, cyan, dim, green, pretty_json, red, text},
};

pub(crate) async fn run(
    environment: &Environment,
    point: &str,
    payload: &Path,
    plugins: Option<Vec<String>>,
    who: &Who,
) -> Result<ExitCode, Problem> {
    super::hooks::find_point(point)?;
    let payload = read(payload)?;
    let assembled = Assembled::new(environment, who, Extras::default()).await?;
    let last = Arc::new(Last::default());
    let gate = plugins.map_or(PluginGate::All, PluginGate::only);
    let cx = Cx::new(envelope(&payload), gate).observed_by(last.clone());
    let fired = assembled.agent.hooks().fire_dyn(point, &cx, payload).await;
    assembled.close().await;
    let outcome = fired.map_err(|error| {
        Problem::new(error).hint(format!("`pintle hooks schema {point}` shows what it takes"))
    })?;
    let record = last.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let handlers = record.map(|record| record.handlers).unwrap_or_default();
    let alone = (point == ToolPre::NAME).then_some(HOOKS_ALONE);
    if environment.json {
        let mut fired = json!({ "point": point, "handlers": handlers, "outcome": outcome });
        if let (Some(fired), Some(alone)) = (fired.as_object_mut(), alone) {
            fired.insert("note".into(), alone.into());
        }
        say_json(&fired)?;
    } else {
        print(&handlers, &outcome)?;
        if let Some(alone) = alone {
            say!("{}", dim(alone));
        }
    }
    let stopped = match &outcome {
        DynOutcome::Gate { binding, outcome } => *binding && outcome.blocked().is_some(),
        DynOutcome::Failed(_) => true,
        _ => false,
    };
    Ok(if stopped { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whoever asks whether a call may run asks more than its hooks.
const HOOKS_ALONE: &str = "only hooks were asked: tools, `policies`, zones and approvals were not looked at; `pintle hooks explain` judges the whole call";

fn read(path: &Path) -> Result<Value, Problem> {
    let mut text = String::new();
    let done = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(path).map(|read| text = read),
    };
    done.map_err(|error| {
        Problem::new(format!("the payload {} cannot be read: {error}", path.display()))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::new(format!("the payload {} is not JSON: {error}", path.display()))
    })
}

/// What the payload says of its circumstances; the rest as on a command line.
fn envelope(payload: &Value) -> Envelope {
    let mut envelope: Envelope = serde_json::from_value(payload.clone()).unwrap_or_default();
    if envelope.platform.is_empty() {
        envelope.platform = "cli".into();
    }
    if envelope.ts == 0 {
        envelope.ts = now_ms();
    }
    envelope
}

fn print(handlers: &[HandlerRecord], outcome: &DynOutcome) -> Result<(), Problem> {
    if handlers.is_empty() {
        say!("{}", dim("nobody listens"));
    }
    for HandlerRecord { name, plugin, outcome, duration, won, lost, notes } in handlers {
        let plugin = plugin.as_deref().map_or(Shown::default(), |id| text!(" ({})", id));
        let said = match outcome {
            Outcome::Blocked(reason) => text!("{}: {}", red("blocked"), reason),
            Outcome::Asked(reason) => text!("asked: {}", reason),
            Outcome::Failed(failure) => red(failure.to_string()),
            other => green(other.name()),
        };
        let took = dim(format!("{duration:.1?}"));
        say!("{}{} {} {}", bold(&**name), plugin, said, took);
        for (word, keys) in [("won", won), ("lost", lost)] {
            if !keys.is_empty() {
                say!("  {} {}", word, keys.join(", "));
            }
        }
        for note in notes {
            say!("  {}", dim(note));
        }
    }
    say!("{} {}", cyan("→"), pretty_json(outcome).map_err(Problem::new)?);
    Ok(())
}

#[derive(Default)]
struct Last(Mutex<Option<FireRecord>>);

impl RecordSink for Last {
    fn record(&self, record: &FireRecord) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.clone());
    }
}
