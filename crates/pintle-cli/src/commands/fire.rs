//! `pintle hooks fire`: fires one point with a given payload and prints the result.

use std::{
    io::Read,
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::similar::nearest;
use pintle::{
    Cx, DynOutcome, Envelope, FireRecord, HandlerOutcome, HandlerRecord, PluginFilter, Point,
    PointInfo, RecordSink, points::ToolPre,
};
use serde_json::{Map, Value, json};

use crate::{
    args::Who,
    assembly::{AgentOptions, Assembled},
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
    let info = super::hooks::find_point(point)?;
    let payload = read(payload)?;
    let unfit = unfit(&info, &payload);
    let assembled = Assembled::new(environment, who, AgentOptions::default()).await?;
    let last = Arc::new(Last::default());
    let gate = plugins.map_or(PluginFilter::All, PluginFilter::only);
    let cx = Cx::new(envelope(&payload), gate).observed_by(last.clone());
    let fired = assembled.agent.hooks().fire_dyn(point, &cx, payload).await;
    assembled.close().await;
    let outcome = fired.map_err(|error| {
        // The engine stops at the first.
        let problem = match unfit.as_slice() {
            [] => Problem::new(error),
            all => Problem::new(format!("this payload does not fit {point}")).cause(all.join("; ")),
        };
        problem.fix(format!("pintle hooks schema {point} shows the fields"))
    })?;
    let record = last.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let handlers = record.map(|record| record.handlers.clone()).unwrap_or_default();
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
        DynOutcome::Gate(outcome) => outcome.blocked().is_some(),
        DynOutcome::Failed(_) => true,
        _ => false,
    };
    Ok(if stopped { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Hooks are only one step of the judgement.
const HOOKS_ALONE: &str =
    "only hooks were asked; `pintle explain` also asks tools, policies, zones and approvals";

fn read(path: &Path) -> Result<Value, Problem> {
    let mut text = String::new();
    let done = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(path).map(|read| text = read),
    };
    done.map_err(|error| {
        Problem::io(format!("cannot read the payload {}", path.display()), &error)
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::new(format!("the payload {} is not JSON", path.display())).cause(error)
    })
}

/// All mistakes in the payload's own fields. The point checks the values.
fn unfit(point: &PointInfo, payload: &Value) -> Vec<String> {
    let Some(given) = payload.as_object() else { return Vec::new() };
    let (schema, empty) = (point.payload_schema(), Map::new());
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    // The fields of the envelope are optional: see `envelope`.
    let own = required.filter_map(Value::as_str).filter(|name| point.fields.contains(name));
    let missing = own.filter(|name| !given.contains_key(*name));
    let mut unfit: Vec<_> = missing.map(|name| format!("missing field `{name}`")).collect();
    for (name, value) in given {
        match known.get(name) {
            None => {
                let near = nearest(name, known.keys().map(String::as_str));
                let near = near.map(|near| format!(" (did you mean `{near}`?)"));
                unfit.push(format!("unknown field `{name}`{}", near.unwrap_or_default()));
            }
            Some(schema) => {
                let kinds = kinds(schema);
                if !kinds.is_empty() && !kinds.iter().any(|kind| is_a(kind, value)) {
                    unfit.push(format!("`{name}` is not a {}: {value}", kinds.join(" or ")));
                }
            }
        }
    }
    unfit
}

fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// The envelope in the payload, completed as for the command line.
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
        say!("{}", dim("no hook is bound to this point"));
    }
    for HandlerRecord { name, plugin, outcome, duration, won, lost, notes, shadow, .. } in handlers
    {
        let plugin = plugin.as_deref().map_or(Shown::default(), |id| text!(" ({})", id));
        let said = match outcome {
            HandlerOutcome::Blocked(reason) => text!("{}: {}", red("blocked"), reason),
            HandlerOutcome::Asked(reason) => text!("asked: {}", reason),
            HandlerOutcome::Failed(failure) => red(failure.to_string()),
            other => green(other.name()),
        };
        let took = dim(format!("{duration:.1?}"));
        let shadow = if *shadow { dim(" in shadow mode, no effect") } else { Shown::default() };
        say!("{}{} {} {}{}", bold(&**name), plugin, said, took, shadow);
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
struct Last(Mutex<Option<Arc<FireRecord>>>);

impl RecordSink for Last {
    fn record(&self, record: Arc<FireRecord>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }
}
