//! `pintle trust`: what changed in a profile since a person reviewed it, and the question whether to trust it.

use std::{collections::BTreeSet, process::ExitCode};

use pintle_actions::trust::{Change, ChangeKind, accept, changes, sides};
use pintle_policy::is_inside;
use pintle_profile::{AGENT_FILE, Profile, typed};
use serde_json::json;
use similar::TextDiff;

use crate::{
    agents::refuse_agents,
    args::Trust,
    chat::{INTERRUPTED, ask_key},
    environment::Environment,
    in_force::{self, of_folder, summary},
    out::{say, say_json, say_line, tell},
    problem::Problem,
    profile,
    shown::{Shown, bold, cyan, dim, green, red, text, yellow},
    term::{Diff, Glyph, plural, width, wrap},
};

/// So many lines of a change are shown until `d` shows all.
const SHOWN_LINES: usize = 30;
const CONTEXT: usize = 3;

/// One file that changed, and both of its texts where they are text.
struct Changed {
    change: Change,
    sides: Option<(String, String)>,
}

pub(crate) fn run(environment: &Environment, trust: &Trust) -> Result<ExitCode, Problem> {
    let named = trust.dir.clone().unwrap_or_else(|| ".".into());
    let dir = environment.absolute(&named)?;
    let profile = profile::load(&of_folder(&dir).unwrap_or(dir), environment)?;
    let mut changed = Vec::new();
    let data = environment.data_dir()?;
    for change in changes(&data, &profile)? {
        changed.push(Changed { sides: sides(&data, &profile, &change), change });
    }
    if environment.json {
        if trust.accept {
            store(environment, &profile)?;
        }
        let all: Vec<_> = changed.iter().map(Changed::to_json).collect();
        let widened: Vec<_> =
            profile.widened().iter().map(|(who, may)| format!("{who} {may}")).collect();
        say_json(&json!({ "changes": all, "accepted": trust.accept, "widened": widened }))?;
        return Ok(exit_code(trust.accept || changed.is_empty()));
    }
    let is_new = changed.iter().any(|it| it.change.what == AGENT_FILE && it.change.was.is_none());
    let state = match (changed.is_empty(), is_new) {
        (true, _) => green("trusted, nothing has changed"),
        (false, true) => yellow("not trusted yet"),
        (false, false) => yellow("changed since it was trusted"),
    };
    say!("profile {} · {}", bold(&profile.name), state);
    show(environment, &profile, &changed, SHOWN_LINES);
    // A profile that was found in a folder is used only after a person accepted its agent.json, even if it runs no programs.
    if changed.is_empty() && !trust.accept {
        return Ok(ExitCode::SUCCESS);
    }
    let agreed = match trust.accept {
        true => true,
        false => match ask(environment, &profile, &changed)? {
            Some(agreed) => agreed,
            None => return Ok(INTERRUPTED.into()),
        },
    };
    if agreed {
        store(environment, &profile)?;
        say!("{} trusted as it is now", Glyph::Ok);
    } else {
        let how = text!("pintle trust {} --accept", typed(&named));
        tell!("{} not trusted · {} trusts it without a question", Glyph::Warning, cyan(how));
    }
    Ok(exit_code(agreed))
}

fn exit_code(is_trusted: bool) -> ExitCode {
    if is_trusted { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn store(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    refuse_agents("trust a profile")?;
    accept(&environment.create_data_dir()?, profile)?;
    in_force::accept(environment, profile)
}

/// Asks the person at the terminal; without a terminal the answer is no. `None` after Ctrl-C.
fn ask(
    environment: &Environment,
    profile: &Profile,
    changed: &[Changed],
) -> Result<Option<bool>, Problem> {
    if !environment.stdin_is_terminal || !environment.stderr_is_terminal {
        return Ok(Some(false));
    }
    refuse_agents("trust a profile")?;
    loop {
        let title = match changed.len() as u64 {
            1 => text!("Trust this change?"),
            several => text!("Trust these {} changes?", several),
        };
        tell!("");
        tell!("{} {}", Glyph::Ask, bold(title));
        let (y, n, d) = (bold("y"), bold("n"), bold("d"));
        let keys = text!("  {} yes   {} no   {} show all   {} ", y, n, d, Glyph::Prompt);
        match ask_key(keys, "ynd") {
            Some('d') => show(environment, profile, changed, usize::MAX),
            key => return Ok(key.map(|key| key == 'y')),
        }
    }
}

/// Each change, what runs when, and what leaves the machine.
fn show(environment: &Environment, profile: &Profile, changed: &[Changed], most: usize) {
    for it in changed {
        say!("");
        it.show(profile, most);
    }
    if !changed.is_empty() {
        say!("");
        for (does, what) in summary(profile) {
            say!("{}", wrap(&text!("{:<9} {}", does, what.join(", ")), width(), 10));
        }
        let folder = environment.short(&profile.dir);
        let reads = text!("{:<9} its own files in {}, and this folder", "reads", folder);
        say!("{}", wrap(&reads, width(), 10));
    }
    let advised: BTreeSet<String> = changed.iter().filter_map(|it| advice(&it.change)).collect();
    let widened = profile.widened().into_iter().map(|(who, may)| format!("{who} {may}"));
    for note in advised.into_iter().chain(widened) {
        say!("{}", wrap(&text!("{} {}", Glyph::Warning, note), width(), 2));
    }
}

impl Changed {
    fn show(&self, profile: &Profile, most: usize) {
        let Change { what, kind, was, now, .. } = &self.change;
        let mut line = text!("{}  {}", bold(what), coloured(*kind));
        if let Some((old, new)) = &self.sides {
            line = text!("{}  {}", line, Diff::between(old, new).counts());
        }
        let runs_at = runs_at(profile, what);
        if !runs_at.is_empty() {
            line = text!("{}  {}", line, dim(text!("runs at: {}", runs_at.join(", "))));
        }
        let path = profile.dir.join(what);
        if path.exists() && !is_inside(&profile.dir, &profile.dir, &path) {
            let target = path.canonicalize().unwrap_or_default();
            line = text!("{}  → {}", line, target.display());
        }
        say!("{}", wrap(&line, width(), 2));
        match &self.sides {
            Some((old, new)) => {
                let lines = Diff::between(old, new).lines(CONTEXT, 1, width());
                lines.iter().take(most).for_each(say_line);
                let more = lines.len().saturating_sub(most) as u64;
                if more > 0 {
                    say!("{}", dim(text!("    … │ {} more · d shows all", plural(more, "line"))));
                }
            }
            // Not text, or large.
            None => {
                let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "none".into());
                say!("  {}", dim(text!("{} → {}", hash(was), hash(now))));
            }
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let Self { change, sides } = self;
        let diff = sides.as_ref().map(|(old, new)| {
            TextDiff::from_lines(old, new).unified_diff().context_radius(CONTEXT).to_string()
        });
        json!({
            "file": change.what, "change": word(change.kind), "was": change.was,
            "now": change.now, "diff": diff
        })
    }
}

/// The points at which hooks name this file.
fn runs_at(profile: &Profile, file: &str) -> Vec<&'static str> {
    let names = |hook: &&pintle_profile::Hook| hook.fields.to_string().contains(file);
    let points: BTreeSet<&str> =
        profile.hooks.iter().filter(names).map(|hook| hook.bucket.point).collect();
    points.into_iter().collect()
}

fn coloured(kind: ChangeKind) -> Shown {
    match kind {
        ChangeKind::Added => green("new"),
        ChangeKind::Changed => yellow(word(kind)),
        ChangeKind::Removed => red(word(kind)),
    }
}

/// Advice about a file; for many files of one folder it is given once.
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
