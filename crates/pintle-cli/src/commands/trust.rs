//! `pintle trust`: what changed in a profile since somebody looked at it.

use std::process::ExitCode;

use pintle_policy::{
    on_one_line,
    trust::{Change, ChangeKind},
};
use serde_json::{Value, json};

use crate::{
    args::Trust,
    bindings::{accept, changes},
    environment::Environment,
    problem::{CYAN, GREEN, Problem, RED, YELLOW},
    profile,
};

pub(crate) fn run(environment: &Environment, trust: &Trust) -> Result<ExitCode, Problem> {
    let profile = profile::load(&environment.absolute(&trust.dir)?, environment)?;
    let changed = changes(environment, &profile)?;
    if trust.accept {
        accept(environment, &profile)?;
    }
    if environment.json {
        let entry = |change: &Change| json!({ "file": change.what, "change": word(change.kind) });
        let all: Vec<Value> = changed.iter().map(entry).collect();
        anstream::println!("{}", json!({ "changes": all, "accepted": trust.accept }));
        return Ok(ExitCode::SUCCESS);
    }
    for change in &changed {
        let style = match change.kind {
            ChangeKind::Added => GREEN,
            ChangeKind::Changed => YELLOW,
            ChangeKind::Removed => RED,
        };
        anstream::println!(
            "{style}{:<8}{style:#} {}",
            word(change.kind),
            on_one_line(&change.what)
        );
    }
    match (changed.is_empty(), trust.accept) {
        (true, false) => anstream::println!("{GREEN}trusted{GREEN:#}: nothing changed"),
        (_, true) => anstream::println!("{GREEN}trusted{GREEN:#} as it is now"),
        (false, false) => anstream::println!(
            "\nlook at these, then: {CYAN}pintle trust {} --accept{CYAN:#}",
            trust.dir.display()
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Changed => "changed",
        ChangeKind::Removed => "removed",
    }
}
