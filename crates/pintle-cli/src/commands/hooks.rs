//! `pintle hooks`: look at hooks.

use std::process::ExitCode;

use pintle::{HandlerInfo, Hooks as Registry, PointInfo};
use serde_json::json;

use crate::{
    args::{Hooks, HooksCommand},
    assembly::{Assembled, Extras},
    environment::Environment,
    problem::{BOLD, CYAN, DIM, GREEN, Problem},
    profile,
};

pub(crate) async fn run(environment: &Environment, hooks: Hooks) -> Result<ExitCode, Problem> {
    match hooks.command {
        HooksCommand::List { who } => {
            let assembled = Assembled::new(environment, &who, Extras::default()).await?;
            let list = assembled.agent.hooks().list();
            if environment.json {
                anstream::println!(
                    "{}",
                    serde_json::to_string_pretty(&list).map_err(Problem::new)?
                );
            } else {
                print_list(&list);
            }
            assembled.close().await;
        }
        HooksCommand::Lint { dir } => {
            let found = profile::load_allowed(&environment.absolute(&dir)?, environment)?;
            if environment.json {
                anstream::println!("{}", json!({ "ok": true, "profile": found.name }));
            } else {
                anstream::println!(
                    "{GREEN}ok{GREEN:#} {}: {} hooks, {} guards",
                    found.name,
                    found.hooks.len(),
                    found.guards.len()
                );
            }
        }
        HooksCommand::Fire { point, payload, plugins, who } => {
            return super::fire::run(environment, &point, &payload, plugins, &who).await;
        }
        HooksCommand::Schema { point: None } => points(environment)?,
        HooksCommand::Schema { point: Some(point) } => schema(&point)?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn print_list(list: &[HandlerInfo]) {
    if list.is_empty() {
        anstream::println!("no hooks are bound");
    }
    for info in list {
        let plugin = info.plugin.as_deref().unwrap_or("built-in");
        let deadline = info.deadline.map(|deadline| format!(" · {deadline:?}")).unwrap_or_default();
        anstream::println!(
            "{CYAN}{:<22}{CYAN:#} {:<10} {BOLD}{}{BOLD:#} {DIM}{plugin} · priority {}{deadline} · {}{DIM:#}",
            info.point,
            info.model.to_string(),
            info.name,
            info.priority,
            info.source
        );
    }
}

fn points(environment: &Environment) -> Result<(), Problem> {
    let points = Registry::new().known_points();
    if environment.json {
        anstream::println!("{}", serde_json::to_string_pretty(&points).map_err(Problem::new)?);
        return Ok(());
    }
    for PointInfo { name, model, doc, .. } in points {
        let when = first_sentence(doc);
        anstream::println!("{CYAN}{name:<24}{CYAN:#} {:<10} {DIM}{when}{DIM:#}", model.to_string());
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
    anstream::println!("{}", serde_json::to_string_pretty(&schemas).map_err(Problem::new)?);
    Ok(())
}
