//! `pintle trust`: what changed in a profile since a person looked at it.

use std::{collections::BTreeSet, process::ExitCode};

use pintle_policy::is_inside;
use pintle_profile::trust::{Change, ChangeKind};
use serde_json::json;

use crate::{
    agents::refuse_agents,
    args::Trust,
    bindings::{accept, changes, diff},
    environment::Environment,
    in_force::{self, of_folder},
    out::{say, say_json},
    problem::Problem,
    profile,
    shown::{Shown, cyan, dim, green, red, text, typed, yellow},
};

pub(crate) fn run(environment: &Environment, trust: &Trust) -> Result<ExitCode, Problem> {
    let dir = environment.absolute(&trust.dir)?;
    let profile = profile::load(&of_folder(&dir).unwrap_or(dir), environment)?;
    let mut changed = Vec::new();
    for change in changes(environment, &profile)? {
        let diff = diff(environment, &profile, &change)?;
        changed.push((change, diff));
    }
    if trust.accept {
        refuse_agents("trusts a profile")?;
        accept(environment, &profile)?;
        in_force::accept(environment, &profile)?;
    }
    if environment.json {
        let entry = |(change, diff): &(Change, Option<String>)| {
            json!({
                "file": change.what, "change": word(change.kind), "was": change.was, "now": change.now, "diff": diff
            })
        };
        let all: Vec<_> = changed.iter().map(entry).collect();
        let widened: Vec<_> =
            profile.widened().iter().map(|(who, may)| format!("{who} {may}")).collect();
        say_json(&json!({ "changes": all, "accepted": trust.accept, "widened": widened }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (change, diff) in &changed {
        let path = profile.dir.join(&change.what);
        let target = path.canonicalize().unwrap_or_default();
        match path.exists() && !is_inside(&profile.dir, &profile.dir, &path) {
            true => say!("{} {} → {}", coloured(change.kind), change.what, target.display()),
            false => say!("{} {}", coloured(change.kind), change.what),
        }
        show(change, diff.as_deref());
    }
    let advised: BTreeSet<String> = changed.iter().filter_map(|(it, _)| advice(it)).collect();
    for advice in advised {
        say!("\n{}: {}", yellow("note"), advice);
    }
    for (who, may) in profile.widened() {
        say!("\n{}: {} {}", yellow("note"), who, may);
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

/// The lines that changed; of a file that is not text, or large, only its hash.
fn show(change: &Change, diff: Option<&str>) {
    let Some(diff) = diff else {
        let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "none".into());
        say!("  {}", dim(text!("{} → {}", hash(&change.was), hash(&change.now))));
        return;
    };
    for line in diff.lines() {
        say!("  {}", line_coloured(line));
    }
}

fn line_coloured(line: &str) -> Shown {
    match line.chars().next() {
        Some('+') => green(line),
        Some('-') => red(line),
        Some('@') => cyan(line),
        _ => text!("{}", line),
    }
}

fn coloured(kind: ChangeKind) -> Shown {
    let word = text!("{:<8}", word(kind));
    match kind {
        ChangeKind::Added => green(word),
        ChangeKind::Changed => yellow(word),
        ChangeKind::Removed => red(word),
    }
}

/// What to do about a file; for many in one folder it is said once.
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
