//! Why a file is one of the agent's rules: whoever is asked sees what makes it one.

use std::path::{Path, PathBuf};

use pintle_policy::{
    Profile,
    profile::{Action, Hook, Run},
    resolve,
};

use super::Look;

/// A place of the profile that counts because of a command.
pub(super) struct Counts {
    place: PathBuf,
    why: String,
    /// Every file of the profile counts.
    whole: bool,
}

/// Of each place that its programs are made of.
pub(super) fn of(profile: &Profile) -> Vec<Counts> {
    let counts = |place: &Path| {
        let whole = place.as_os_str().is_empty();
        let why = match &profile.scripts.unnamed {
            Some(command) if whole => format!(
                "every file of the profile counts, for it runs `{command}`, which could load any of them"
            ),
            _ => of_place(profile, place),
        };
        Counts { place: profile.dir.join(place), why, whole }
    };
    profile.scripts.places().map(counts).collect()
}

fn of_place(profile: &Profile, place: &Path) -> String {
    let names =
        |hook: &&Hook| line(hook).is_some_and(|line| line.contains(&*place.to_string_lossy()));
    let runs = match profile.hooks.iter().find(names) {
        Some(hook) => {
            format!("the hook `{}` runs `{}`", hook.name, line(hook).unwrap_or_default())
        }
        None => {
            let file = place.to_string_lossy();
            let does = if profile.scripts.read.contains(&*file) { "reads" } else { "speaks of" };
            match profile.scripts.by.get(&*file) {
                Some(script) => format!("the script `{script}` {does} it"),
                None => "a program that the profile runs may load it".to_owned(),
            }
        }
    };
    match profile.dir.join(place).is_dir() {
        true => format!("all in {} counts, for {runs}", place.display()),
        false => format!("it counts, for {runs}"),
    }
}

/// What a hook runs.
fn line(hook: &Hook) -> Option<String> {
    match &hook.action {
        Action::Command { run: Run::Shell(line), .. } => Some(line.clone()),
        Action::Command { run: Run::Argv(argv), .. } => Some(argv.join(" ")),
        _ => None,
    }
}

/// Said when no word is a file.
pub(super) const NOBODY_KNOWS: &str = "nobody can tell which files it writes";

impl Look<'_> {
    /// Whether any file of the profile's folder is one of them, so that nearly any word seems to name one.
    pub(super) fn any_counts(&self) -> bool {
        self.own.counts.iter().any(|counts| counts.whole)
    }

    /// What is said of a call that may change what was found, which may be one of these paths from one of these folders.
    pub(super) fn changes(&self, found: &str, paths: &[&str], bases: &[PathBuf]) -> String {
        let real = |place: &Path| resolve(place, Path::new("")).unwrap_or(place.to_path_buf());
        let mut all = Vec::new();
        for base in bases {
            all.extend(paths.iter().map(|path| real(&base.join(path))));
        }
        let is_it = |counts: &&Counts| {
            let place = real(&counts.place);
            // Of agent.json and the personalities everybody knows.
            let is_known = |path: &PathBuf| {
                let inner = path.strip_prefix(&place).unwrap_or(path);
                inner.starts_with("agent.json") || inner.starts_with("personalities")
            };
            all.iter().any(|path| path.starts_with(&place) && !is_known(path))
        };
        let unknown = found == NOBODY_KNOWS;
        let because = self.own.counts.iter().find(|it| (unknown && it.whole) || is_it(it));
        let awaited = || all.iter().find_map(|path| self.awaited(path));
        let awaited = || awaited().map(|why| format!("it would count, for {why}"));
        let why = because.map(|counts| counts.why.clone()).or_else(awaited);
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        // What the reader of commands calls these is no word of the line.
        let shown = match found {
            "$(input of xargs)" => "whatever `xargs` reads, which may be one of their files",
            "{}" => "whatever `find` finds, which may be one of their files",
            found => found,
        };
        format!("it may change the rules the agent works under ({shown}{why})")
    }
}
