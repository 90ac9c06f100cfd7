//! `pintle hooks`: look at hooks.

use std::{collections::HashSet, process::ExitCode};

use pintle::{HandlerInfo, Hooks as Registry, PointInfo};
use pintle_store::SqliteStore;
use serde_json::{Value, json};

use crate::{
    args::{Hooks, HooksCommand, Who},
    assembly::{Assembled, Extras},
    environment::Environment,
    out::{say, say_json, say_pretty_json},
    problem::Problem,
    profile,
    shown::{Shown, bold, cyan, dim, green, text, yellow},
};

pub(crate) async fn run(environment: &Environment, hooks: Hooks) -> Result<ExitCode, Problem> {
    match hooks.command {
        HooksCommand::List { who } => list(environment, &who).await?,
        HooksCommand::Lint { dir } => {
            let found = profile::load_allowed(&environment.absolute(&dir)?, environment)?;
            if environment.json {
                say_json(&json!({ "ok": true, "profile": found.name }))?;
            } else {
                let (hooks, guards) = (found.hooks.len(), found.guards.len());
                say!("{} {}: {} hooks, {} guards", green("ok"), found.name, hooks, guards);
            }
        }
        HooksCommand::Fire { point, payload, plugins, who } => {
            return super::fire::run(environment, &point, &payload, plugins, &who).await;
        }
        HooksCommand::Explain { tool, args, who } => {
            return super::explain::run(environment, &tool, &args, &who).await;
        }
        HooksCommand::Schema { point: None } => points(environment)?,
        HooksCommand::Schema { point: Some(point) } => schema(&point)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How many of the newest runs are looked through for hooks that have fired.
const LOOKED_AT: u32 = 50;

async fn list(environment: &Environment, who: &Who) -> Result<(), Problem> {
    let assembled = Assembled::new(environment, who, Extras::default()).await?;
    let list = assembled.agent.hooks().list();
    let fired = fired(&assembled.store).await?;
    let bound = &assembled.bound;
    let state = |info: &HandlerInfo| match &*info.name {
        name if bound.untrusted.iter().any(|untrusted| untrusted == name) => "untrusted",
        name if !fired.contains(name) => "never fired",
        _ => "active",
    };
    if environment.json {
        let row = |info: &HandlerInfo| {
            let mut row = serde_json::to_value(info).unwrap_or_default();
            if let Some(row) = row.as_object_mut() {
                row.insert("state".into(), state(info).into());
            }
            row
        };
        let disabled =
            bound.disabled.iter().map(|name| json!({ "name": name, "state": "disabled" }));
        let rows: Vec<Value> = list.iter().map(row).chain(disabled).collect();
        say_pretty_json(&rows)?;
    } else {
        for info in &list {
            say!("{} {}", line(info), yellow(state(info)));
        }
        for name in &bound.disabled {
            let by = dim("by PINTLE_DISABLE_HOOKS");
            say!("{} {} {}", bold(name), yellow("disabled"), by);
        }
    }
    assembled.close().await;
    Ok(())
}

/// The names of the handlers that the newest runs have reached.
async fn fired(store: &SqliteStore) -> Result<HashSet<String>, Problem> {
    let mut names = HashSet::new();
    for run in store.runs(LOOKED_AT).await? {
        for event in
            store.events(&run.run_id).await?.iter().filter(|event| event.kind == "hook.fired")
        {
            let json: Value = serde_json::from_str(&event.json).unwrap_or_default();
            let handlers =
                json.get("handlers").and_then(Value::as_array).cloned().unwrap_or_default();
            let named =
                |handler: &Value| handler.get("name").and_then(Value::as_str).map(str::to_string);
            names.extend(handlers.iter().filter_map(named));
        }
    }
    Ok(names)
}

pub(crate) fn print_list(list: &[HandlerInfo]) {
    if list.is_empty() {
        say!("no hooks are bound");
    }
    for info in list {
        say!("{}", line(info));
    }
}

fn line(info: &HandlerInfo) -> Shown {
    let plugin = info.plugin.as_deref().unwrap_or("built-in");
    let deadline = info.deadline.map(|deadline| format!(" · {deadline:?}")).unwrap_or_default();
    let (point, model) = (cyan(text!("{:<22}", info.point)), info.model.to_string());
    let (priority, source) = (info.priority, info.source.to_string());
    let rest = text!("{} · priority {}{} · {}", plugin, priority, deadline, source);
    text!("{} {:<10} {} {}", point, model, bold(&*info.name), dim(rest))
}

fn points(environment: &Environment) -> Result<(), Problem> {
    let points = Registry::new().known_points();
    if environment.json {
        return say_pretty_json(&points);
    }
    for PointInfo { name, model, doc, .. } in points {
        let when = first_sentence(doc);
        say!("{} {:<10} {}", cyan(text!("{:<24}", name)), model.to_string(), dim(when));
    }
    Ok(())
}

/// A sentence may go over several lines.
fn first_sentence(doc: &str) -> String {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or_default();
    let joined = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.split_once(". ").map_or(joined.clone(), |(first, _)| format!("{first}."))
}

fn schema(named: &str) -> Result<(), Problem> {
    let points = Registry::new().known_points();
    let Some(point) = points.iter().find(|point| point.name == named) else {
        return Err(Problem::new(format!("there is no hook point `{named}`"))
            .hint("`pintle hooks schema` lists them"));
    };
    let schemas = json!({ "payload": point.payload_schema(), "result": point.result_schema() });
    say_pretty_json(&schemas)
}
