//! What git runs: what its settings name, its hooks, and drivers that attributes turn on.

mod called;
mod settings;

pub(super) use called::called_in;
pub(crate) use settings::counted;

use super::entries::entries;
use super::installed;
use super::scripts::{MOST_FILES, Named, Search};
use crate::paths::{is_inside, normal, resolve};
use settings::Settings;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// In place of a folder: any of the profile.
pub(super) const ANYWHERE: &str = "**";
/// What git runs, or finds it by.
const AWAITED: [&str; 5] =
    [".git", ".git/config*", ".git/commondir", ".git/hooks/**", ".git/info/attributes"];
/// Hooks that run also when nobody commits or pushes.
const RUN_BY_READING: [&str; 3] = ["fsmonitor", "post-index-change", "reference-transaction"];
/// So deep modules lie in one another.
const MOST_DEPTH: usize = 12;

/// What is known of the repositories of a profile.
#[derive(Default)]
pub(super) struct Repositories {
    trees: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    settings: BTreeSet<PathBuf>,
    anywhere: bool,
    drives: bool,
}

/// `.git/hooks/pre-commit.sample`: git runs none of these.
pub(super) fn is_sample(place: &Path) -> bool {
    place.extension().is_some_and(|it| it == "sample")
        && place.parent().is_some_and(|it| it.ends_with(".git/hooks"))
}

impl Search<'_> {
    /// Git runs in one of these folders, and finds its repository there or above.
    pub(super) fn repositories<'w>(
        &mut self,
        from: &[PathBuf],
        words: impl Iterator<Item = &'w String>,
    ) {
        for word in words {
            if word == ANYWHERE {
                self.any_repository();
                continue;
            }
            for at in from.iter().map(|at| at.join(word)) {
                let at = at.strip_prefix(self.folder).map(Path::to_owned).unwrap_or(at);
                let at = PathBuf::from(normal(&at.to_string_lossy()));
                if at.is_relative() {
                    at.ancestors().for_each(|at| self.repository(at));
                }
            }
        }
    }

    fn any_repository(&mut self) {
        if std::mem::replace(&mut self.git.anywhere, true) {
            return;
        }
        let patterns = AWAITED.map(|it| format!("**/{it}"));
        self.found.awaited.patterns.extend(patterns);
        for place in self.all_folders() {
            self.repository(&place);
        }
    }

    /// Every folder of the profile but for what git keeps and what is installed.
    fn all_folders(&mut self) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::new()];
        let mut at = 0;
        while let Some(place) = found.get(at).cloned() {
            at = at.saturating_add(1);
            if installed::holds(&place) || self.company.keeps(&place) {
                continue;
            }
            let inner = entries(self.folder, &place).filter(|it| it.is_folder).map(|it| it.path);
            found.extend(inner.filter(|it| !it.ends_with(".git")));
            if found.len() > MOST_FILES {
                self.found.too_large = Some(".".to_owned());
                break;
            }
        }
        found
    }

    fn repository(&mut self, at: &Path) {
        if !self.git.trees.insert(at.to_owned()) || !is_inside(self.folder, self.folder, at) {
            return;
        }
        let tree = self.folder.join(at);
        let kept = at.join(".git");
        if tree.join(".git").is_file() {
            self.counts_for_git(&kept);
            let text = std::fs::read_to_string(tree.join(".git")).unwrap_or_default();
            let led_to = text.lines().find_map(|line| line.strip_prefix("gitdir:"));
            if let Some(led_to) = led_to {
                self.kept_by_git(&at.join(led_to.trim()), at);
            }
        } else if at.as_os_str().is_empty() || tree.join(".git").exists() {
            self.kept_by_git(&kept, at);
        }
        let is_bare = tree.join("HEAD").is_file()
            && (tree.join("objects").exists() || tree.join("commondir").exists());
        if is_bare {
            self.kept_by_git(at, at);
        }
        let escaped = glob::Pattern::escape(&at.to_string_lossy());
        let awaited = AWAITED.map(|it| Path::new(&escaped).join(it).to_string_lossy().into_owned());
        self.found.awaited.patterns.extend(awaited.into_iter().filter(|_| tree.is_dir()));
        for file in [".gitattributes", ".gitmodules"].map(|file| at.join(file)) {
            if self.folder.join(&file).is_file() {
                self.data.insert(normal(&file.to_string_lossy()));
            }
        }
    }

    /// A folder in which git keeps a repository.
    fn kept_by_git(&mut self, kept: &Path, tree: &Path) {
        let kept = self.place_of(kept);
        if !self.git.folders.insert(kept.clone()) {
            return;
        }
        for file in ["config", "config.worktree"] {
            self.settings(&kept.join(file), tree);
        }
        self.hooks(&kept.join("hooks"));
        for file in ["info/attributes", "commondir"].map(|file| kept.join(file)) {
            if self.folder.join(&file).is_file() {
                self.counts_for_git(&file);
            }
        }
        if let Ok(common) = std::fs::read_to_string(self.folder.join(kept.join("commondir"))) {
            self.kept_by_git(&kept.join(common.trim()), tree);
        }
        for other in entries(self.folder, &kept.join("worktrees")) {
            self.settings(&other.path.join("config.worktree"), tree);
        }
        self.modules(&kept.join("modules"), tree, 0);
    }

    fn hooks(&mut self, hooks: &Path) {
        let is_plain = hooks.is_relative() && hooks.ends_with(".git/hooks");
        if is_plain {
            self.below(hooks);
        }
        let there = entries(self.folder, hooks).filter(|it| !it.is_folder).map(|it| it.path);
        let there = there.filter(|it| it.extension().is_none_or(|it| it != "sample"));
        for file in there.take(MOST_FILES).collect::<Vec<_>>() {
            if !is_plain {
                self.counts_for_git(&file);
            }
            let name = file.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            // Of others it hangs on what the script has git do whether they run: what they load is not looked for.
            if RUN_BY_READING.iter().any(|it| name.starts_with(it)) && hooks.is_relative() {
                let file = file.to_string_lossy().into_owned();
                self.named.insert(file.clone());
                self.found.files.insert(file);
            }
        }
    }

    /// `git status` looks into modules, which have settings of their own.
    fn modules(&mut self, at: &Path, tree: &Path, depth: usize) {
        let inner: Vec<PathBuf> =
            entries(self.folder, at).filter(|it| it.is_folder).map(|it| it.path).collect();
        for place in inner.iter().filter(|_| depth < MOST_DEPTH) {
            let has = |name: &str| self.folder.join(place).join(name).exists();
            match has("config") || has("HEAD") {
                true => self.kept_by_git(place, tree),
                false => self.modules(place, tree, depth.saturating_add(1)),
            }
        }
    }

    fn settings(&mut self, file: &Path, tree: &Path) {
        let file = self.place_of(file);
        let Some(settings) = Settings::read(&self.folder.join(&file)) else { return };
        if !self.git.settings.insert(file.clone()) {
            return;
        }
        if settings.runs_something() {
            self.counts_for_git(&file);
        } else if file.is_relative() {
            self.found.kept.insert(file.to_string_lossy().into_owned());
        }
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        let from = [tree.to_owned(), PathBuf::new(), beside.clone()];
        for word in settings.words.iter().filter(|it| !matches!(it.as_str(), "." | "..")) {
            match self.named_from(&from, word) {
                Some(Named::Folder(place)) if !place.as_os_str().is_empty() => self.below(&place),
                Some(Named::Script(script)) if !installed::holds(Path::new(&script)) => {
                    self.taken.insert(script.clone());
                    self.found.files.insert(script);
                }
                _ => {}
            }
        }
        for more in settings.includes.iter().filter(|it| !it.starts_with('~')) {
            let more = beside.join(more);
            if self.folder.join(&more).is_file() {
                let more = self.place_of(&more);
                self.counts_for_git(&more);
                self.settings(&more, tree);
            }
        }
        if settings.drives && !std::mem::replace(&mut self.git.drives, true) {
            self.all_attributes();
        }
    }

    /// Which files are given to a driver is said by attributes in any folder.
    fn all_attributes(&mut self) {
        self.found.awaited.patterns.insert("**/.gitattributes".to_owned());
        for file in self.all_folders().iter().map(|it| it.join(".gitattributes")) {
            if self.folder.join(&file).is_file() {
                self.counts_for_git(&file);
            }
        }
    }

    /// Its path in the profile, or its full path when it lies outside.
    fn place_of(&self, path: &Path) -> PathBuf {
        let real = |path: &Path| resolve(self.folder, path).ok();
        let inner = real(path).zip(real(Path::new("")));
        match inner {
            Some((path, folder)) => path.strip_prefix(folder).map(Path::to_owned).unwrap_or(path),
            None => PathBuf::from(normal(&path.to_string_lossy())),
        }
    }

    /// It is no script, and what it says was looked at; but one that comes to be later counts.
    fn counts_for_git(&mut self, file: &Path) {
        let file = file.to_string_lossy().into_owned();
        self.taken.insert(file.clone());
        self.data.insert(file);
    }
}
