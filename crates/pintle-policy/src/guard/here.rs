//! What the words of a command name, seen from where the command runs: `cd config && cat a` is about `config/a`.

use crate::Reach;
use crate::folders::places;
use crate::movers::is_mover;
use crate::paths::{normal, resolve};
use crate::shell::{Script, SimpleCommand, Word, may_be_long};
use glob::Pattern;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where one command runs.
pub(super) struct Here<'a> {
    workspace: Option<&'a Path>,
    /// Every folder that it may run in; `None` when only running it would tell.
    folders: Option<Vec<PathBuf>>,
}

impl<'a> Here<'a> {
    /// For each command of the script, in order.
    pub(super) fn of_each(script: &Script, input: &Value, reach: &'a Reach) -> Vec<Self> {
        let workspace = reach.workspace().ok();
        let start = match reach.path("cwd") {
            Some(path) => path.ok(),
            // Not a text: nobody knows what is made of it.
            None if input.get("cwd").is_some() => None,
            None => workspace,
        };
        let movers = script.commands().filter(|command| is_mover(command));
        // `mkdir x; cd *; …`: what is to be found there is not there yet.
        let is_lost = script.any_is_open(movers.flat_map(|command| &command.args))
            || script.commands().any(goes_first);
        let start = start.filter(|_| !is_lost);
        let places = start.and_then(|start| places(script, start).ok());
        let here = |at: usize| {
            let place = places.as_ref().and_then(|places| places.each.get(at));
            Self { workspace, folders: place.map(|place| place.folders.clone()) }
        };
        (0..script.commands().count()).map(here).collect()
    }

    /// Whether the pattern may mean the place that the text names.
    pub(super) fn may_be(&self, pattern: &Pattern, text: &str) -> bool {
        self.names(text, |name| pattern.matches(name))
            || (self.is_anywhere(text) && is_named_like(pattern, text))
    }

    /// Whether one of the ways to write the place is such a text.
    pub(super) fn names(&self, text: &str, is: impl Fn(&str) -> bool) -> bool {
        let places = || {
            let folders = self.folders.iter().flatten();
            let seem = folders.clone().map(|folder| lexical(folder, text));
            let lead = folders.filter_map(|folder| resolve(folder, Path::new(text)).ok());
            seem.chain(lead).collect::<Vec<_>>()
        };
        is(text)
            || is(&normal(text))
            || places().iter().any(|place| self.written(place).iter().any(|name| is(name)))
    }

    /// Whether the text surely names a place that one of the patterns means, from wherever the command runs.
    pub(super) fn surely_is(&self, patterns: &[&Pattern], text: &str) -> bool {
        let is_meant = |folder: &PathBuf| {
            let real = resolve(folder, Path::new(text)).ok().filter(|real| real.to_str().is_some());
            let names = real.map(|real| self.written(&real)).unwrap_or_default();
            names.iter().any(|name| patterns.iter().any(|pattern| pattern.matches(name)))
        };
        self.folders.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is_meant))
    }

    fn is_anywhere(&self, text: &str) -> bool {
        text.starts_with('~') || (self.folders.is_none() && !text.starts_with('/'))
    }

    /// The place as it is written from the root, and from the workspace.
    fn written(&self, place: &Path) -> Vec<String> {
        let inside = self.workspace.and_then(|workspace| place.strip_prefix(workspace).ok());
        let paths = [Some(place), inside].into_iter().flatten();
        paths.map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

/// `env -C x sh -c '…'`
fn goes_first(command: &SimpleCommand) -> bool {
    let goes = |arg: &Word| arg.text().starts_with("-C") || may_be_long(arg.text(), "chdir");
    command.program() == Some("env") && command.args.iter().any(goes)
}

fn lexical(folder: &Path, text: &str) -> PathBuf {
    PathBuf::from(normal(&folder.join(text).to_string_lossy()))
}

/// Whether a file of that name could be what the pattern means, in a folder that nobody knows.
fn is_named_like(pattern: &Pattern, text: &str) -> bool {
    let last =
        |text: &str| text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    Pattern::new(&last(pattern.as_str())).map_or(true, |name| name.matches(&last(text)))
}
