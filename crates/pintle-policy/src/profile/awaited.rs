//! Files that are not there and would count if they were: whoever makes one changes what hooks are made of, or what they say.

use crate::contents::is_part_of_a_path;
use crate::paths::normal;
use glob::Pattern;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What scripts and lines speak of that is not there yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Awaited {
    /// By their paths in the profile, each with the script that speaks of it.
    pub(super) files: BTreeMap<String, String>,
    /// Folders of which files with one of these endings count.
    pub(super) folders: BTreeMap<PathBuf, (BTreeSet<String>, String)>,
    /// Files that count, and folders of which every file does, though no script names them: `Makefile`, `node_modules`.
    pub(super) whole: BTreeMap<PathBuf, String>,
    /// `etc/*.txt` in a line.
    pub(super) patterns: BTreeSet<String>,
}

/// More than anybody writes into scripts.
const MOST: usize = 10_000;

impl Awaited {
    pub(super) fn file(&mut self, place: &Path, script: &Path) {
        if let Some(place) =
            place.to_str().filter(|it| it.contains(['.', '/']) && self.files.len() < MOST)
        {
            let script = script.to_string_lossy().into_owned();
            self.files.entry(place.to_owned()).or_insert(script);
        }
    }

    /// `PYTHONPATH=lib` before there is such a folder.
    pub(super) fn held(&mut self, folder: &Path, value: &str) {
        let inner = Path::new(value).strip_prefix(folder).unwrap_or(Path::new(value));
        let place = normal(&inner.to_string_lossy());
        let is_path = place.chars().all(is_part_of_a_path) && !place.starts_with(['/', '.', '-']);
        if is_path && !place.is_empty() && self.patterns.len() < MOST {
            self.patterns.extend([place.clone(), format!("{place}/*")]);
        }
    }

    pub(super) fn all_below(&mut self, place: &Path, script: &Path) {
        if self.whole.len() < MOST {
            let script = script.to_string_lossy().into_owned();
            self.whole.entry(place.to_owned()).or_insert(script);
        }
    }

    pub(super) fn folder(
        &mut self,
        place: &Path,
        kinds: impl Iterator<Item = String>,
        script: &Path,
    ) {
        if place.as_os_str().is_empty() || self.folders.len() >= MOST {
            return;
        }
        let script = script.to_string_lossy().into_owned();
        let known =
            self.folders.entry(place.to_owned()).or_insert_with(|| (BTreeSet::new(), script));
        known.0.extend(kinds);
    }

    /// Why a file at this place of the profile would count, if it came to be.
    #[must_use]
    pub fn why(&self, place: &Path) -> Option<String> {
        let kind = place.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let speaks = |script: &String| format!("the script `{script}` speaks of it");
        if let Some(script) = place.to_str().and_then(|it| self.files.get(it)) {
            return Some(speaks(script));
        }
        if let Some(script) = place.ancestors().find_map(|it| self.whole.get(it)) {
            return Some(format!("the script `{script}` may load it"));
        }
        let holds =
            |folder: &&Path| self.folders.get(*folder).is_some_and(|it| it.0.contains(kind));
        if let Some(folder) = place.ancestors().skip(1).find(holds) {
            let script = self.folders.get(folder).map(|it| it.1.as_str()).unwrap_or_default();
            return Some(format!("the script `{script}` speaks of `{}`", folder.display()));
        }
        let fits = |pattern: &&String| Pattern::new(pattern).is_ok_and(|it| it.matches_path(place));
        self.patterns.iter().find(fits).map(|it| format!("a hook reads `{it}`"))
    }
}
