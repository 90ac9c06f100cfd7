//! `pintle trust`: what changed in a profile since somebody looked at it.

use std::{collections::BTreeSet, process::ExitCode};

use pintle_policy::trust::{Change, ChangeKind};
use serde_json::{Value, json};

use crate::{
    agents::refuse_agents,
    args::Trust,
    bindings::{accept, changes},
    environment::Environment,
    in_force::{self, of_folder},
    out::{say, say_json},
    problem::Problem,
    profile,
    shown::{cyan, green, red, text, typed, yellow},
};

pub(crate) fn run(environment: &Environment, trust: &Trust) -> Result<ExitCode, Problem> {
    let dir = environment.absolute(&trust.dir)?;
    let profile = profile::load(&of_folder(&dir).unwrap_or(dir), environment)?;
    let changed = changes(environment, &profile)?;
    if trust.accept {
        refuse_agents("trusts a profile")?;
        accept(environment, &profile)?;
        in_force::accept(environment, &profile)?;
    }
    if environment.json {
        let entry = |change: &Change| json!({ "file": change.what, "change": word(change.kind) });
        let all: Vec<Value> = changed.iter().map(entry).collect();
        let widened: Vec<_> =
            profile.widened().iter().map(|(who, may)| format!("{who} {may}")).collect();
        say_json(&json!({ "changes": all, "accepted": trust.accept, "widened": widened }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for change in &changed {
        let word = text!("{:<8}", word(change.kind));
        let word = match change.kind {
            ChangeKind::Added => green(word),
            ChangeKind::Changed => yellow(word),
            ChangeKind::Removed => red(word),
        };
        say!("{} {}", word, change.what);
    }
    let mut advised: BTreeSet<String> = changed.iter().filter_map(advice).collect();
    advised.extend(changed.iter().filter_map(|change| profile.scripts.advice(&change.what)));
    for advice in advised {
        say!("\n{}: {}", yellow("note"), advice);
    }
    if let Some(why) = profile.scripts.why_any().filter(|_| !changed.is_empty()) {
        say!("\n{}: {}", yellow("note"), why);
    }
    for (who, may) in profile.widened() {
        say!("\n{}: {} {}", yellow("note"), who, may);
    }
    for risk in profile.scripts.risks() {
        say!("\n{}: {}", yellow("warning"), risk);
    }
    match (changed.is_empty(), trust.accept) {
        (true, false) => say!("{}: nothing changed", green("trusted")),
        (_, true) => say!("{} as it is now", green("trusted")),
        (false, false) => {
            let accept = cyan(text!("pintle trust {} --accept", typed(&trust.dir)));
            say!("\nlook at these, then: {}", accept);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do about a file; of many in one folder it is said once.
fn advice(change: &Change) -> Option<String> {
    let advice = change.advice()?;
    let (folder, _) = change.what.rsplit_once('/').unwrap_or(("", ""));
    let what = if advice.contains(folder) && !folder.is_empty() { folder } else { &change.what };
    Some(format!("`{what}`: {advice}"))
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Changed => "changed",
        ChangeKind::Removed => "removed",
    }
}
