//! Where the words lead by which scripts reach for more than they name.

use super::entries::entries;
use super::loaders::KEPT;
use super::reaches::Reaches;
use super::scripts::{Named, Scripts, Search};
use super::strings::is_kept_by_name;
use super::{installed, mentions};
use crate::contents::Contents;
use crate::paths::{normal, resolve};
use crate::profile::AGENT_FILE;
use std::path::{Path, PathBuf};

/// Endings of what Python loads by the name of a module.
const MODULES: [&str; 4] = ["py", "pyc", "pyd", "so"];
/// What Node loads of a folder.
const INDEXES: [&str; 4] = ["index.cjs", "index.js", "index.json", "index.mjs"];

impl Search<'_> {
    /// All that the scripts found so far reach for. Whether something new was among it.
    pub(super) fn reach_on(&mut self, contents: &mut Contents) -> bool {
        let is_new = |search: &Self, file: &String| {
            let path = Path::new(file);
            let is_foreign = path.is_absolute() || installed::holds(path);
            (!is_foreign || search.named.contains(file)) && !search.gone_through.contains(file)
        };
        let files: Vec<String> =
            self.found.files.iter().filter(|file| is_new(self, file)).cloned().collect();
        for file in &files {
            self.gone_through.insert(file.clone());
            if let Ok(known) = contents.read_words(self.folder, file) {
                self.reach(file, known.reaches());
            }
        }
        !files.is_empty()
    }

    fn reach(&mut self, script: &str, reaches: &Reaches) {
        let beside = Path::new(script).parent().unwrap_or(Path::new("")).to_owned();
        let from = [PathBuf::new(), beside];
        let folders = self.found.folders.len();
        self.lists |= reaches.lists;
        if let Some(sum) = &reaches.calculated {
            self.found.calculated.insert(script.to_owned(), sum.clone());
        }
        let mut reached = false;
        for word in &reaches.places {
            for named in self.all_named(&from, word) {
                reached |= self.load(named);
            }
        }
        for word in &reaches.shebang {
            let around = self.environment(&from, word);
            around.iter().for_each(|it| self.below(it));
            for named in self.all_named(&from, word) {
                self.load(named);
            }
        }
        for word in reaches.outside.iter().filter(|it| !reaches.kept.contains(*it)) {
            for named in self.all_named(&from, word) {
                self.load_outside(&named);
            }
        }
        for word in &reaches.folders {
            for named in self.all_named(&from, word) {
                let is_one = matches!(&named, Named::Folder(place) if !installed::holds(place));
                reached |= is_one && self.load(named);
            }
        }
        for pattern in reaches.patterns.iter().flat_map(|it| from.iter().map(move |at| at.join(it)))
        {
            self.found.awaited.patterns.insert(normal(&pattern.to_string_lossy()));
            for place in self.fitting_places(&pattern.to_string_lossy()) {
                let named = self.named(&place);
                reached |= named.is_some_and(|named| self.load(named));
            }
        }
        reached |= self.found.folders.len() > folders;
        let files = |word: &String| {
            let word = word.trim_matches('/').to_owned();
            from.clone().map(|at| normal(&at.join(&word).to_string_lossy()))
        };
        self.written.extend(reaches.kept.iter().flat_map(files));
        self.loaded.extend(reaches.loaded.iter().flat_map(files));
        self.passed.extend(reaches.passed.iter().flat_map(files));
        for word in &reaches.given_to_python {
            for named in self.all_named(&from, word) {
                let Named::Script(file) = named else { continue };
                match Path::new(&file).parent().filter(|it| !it.as_os_str().is_empty()) {
                    Some(parent) => self.below(parent),
                    None => self.python_here(script),
                }
                self.load(Named::Script(file));
            }
        }
        self.repositories(&from, reaches.repositories.iter());
        if reaches.python_here {
            self.python_here(script);
        }
        // `hooks/c.py:12: exec(x)`
        let in_script = |command: &str| match command.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{script}:{command}"),
            false => format!("{script}: {command}"),
        };
        if let Some(command) = &reaches.anything {
            self.all(&in_script(command));
        }
        for open in reaches.open.iter().filter(|_| !reached) {
            let names_it = |word: &String| {
                let named = self.all_named(&from, word);
                named
                    .iter()
                    .any(|it| !matches!(it, Named::Folder(place) if place.as_os_str().is_empty()))
            };
            if !open.words.iter().any(names_it) {
                self.all(&in_script(&open.command));
            }
        }
    }

    /// Everything that a word names, from each of these places.
    fn all_named(&self, from: &[PathBuf], word: &str) -> Vec<Named> {
        let trimmed = word.trim_matches('/');
        if trimmed.is_empty() || trimmed == "." {
            return Vec::new();
        }
        let places = from.iter().map(|place| place.join(trimmed)).chain([PathBuf::from(word)]);
        places.filter_map(|path| self.named(&path.to_string_lossy())).collect()
    }

    /// Whether it is a part of the profile that counts now.
    fn load(&mut self, named: Named) -> bool {
        match named {
            Named::Folder(place) if place.as_os_str().is_empty() => {
                let there = INDEXES.iter().filter(|file| self.folder.join(file).is_file());
                self.found.files.extend(there.map(|file| (*file).to_owned()));
                false
            }
            Named::Folder(place) => {
                let counts = !self.company.keeps(&place);
                if counts {
                    self.below(&place);
                }
                counts
            }
            Named::Script(file) => {
                let counts = file != AGENT_FILE
                    && !self.saved.contains(&file)
                    && !self.company.keeps(Path::new(&file))
                    && !installed::is_data_of_git(Path::new(&file));
                if counts {
                    self.taken.insert(file.clone());
                    self.found.files.insert(file);
                }
                counts
            }
            // A link that leads there.
            Named::Outside(path) => {
                let place = normal(&path);
                let inner = Path::new(&place).strip_prefix(self.folder).ok();
                let Some(inner) = inner.map(|it| it.to_string_lossy().into_owned()) else {
                    return false;
                };
                self.taken.insert(inner.clone());
                self.found.files.insert(inner);
                true
            }
        }
    }

    /// A script elsewhere counts by itself; what it loads is not looked for.
    fn load_outside(&mut self, named: &Named) {
        const OF_THE_SYSTEM: [&str; 6] = ["/dev", "/etc", "/nix", "/proc", "/run", "/usr"];
        let Named::Outside(path) = named else { return };
        let Ok(real) = resolve(self.folder, Path::new(path)) else { return };
        let counts = !Path::new(&normal(path)).starts_with(self.folder)
            && !OF_THE_SYSTEM.iter().any(|place| real.starts_with(place));
        if counts {
            let file = real.to_string_lossy().into_owned();
            self.taken.insert(file.clone());
            self.found.files.insert(file);
        }
    }

    /// What scripts write to and nothing loads is no part of trust; whoever else writes to it is asked.
    pub(super) fn set_aside_what_is_kept(&mut self) {
        let inside =
            |file: &str| self.found.folders.iter().any(|it| Path::new(file).starts_with(it));
        let is_kept = |file: &&String| {
            !self.loaded.contains(*file)
                && !self.named.contains(*file)
                && (!inside(file) || self.is_kept_among_scripts(file))
                && !mentions::is_program(&self.folder.join(file))
        };
        // What is loaded as soon as it is there is not the agent's to make.
        let is_awaited = |file: &&String| {
            file.contains(['.', '/'])
                && !file.starts_with(['.', '/'])
                && !self.folder.join(file).exists()
                && Path::new(file).parent().is_some_and(|it| self.folder.join(it).is_dir())
        };
        let awaited: Vec<String> = self.loaded.iter().filter(is_awaited).cloned().collect();
        let kept: Vec<String> = self.written.iter().filter(is_kept).cloned().collect();
        for file in kept {
            // What comes to be beside scripts leaves its mark on their folder.
            let place = Path::new(&file).parent().unwrap_or(Path::new("")).to_owned();
            let is_among = self.found.folders.iter().any(|it| place.starts_with(it))
                && self.folder.join(&place).is_dir();
            if is_among {
                self.stable.retain(|stable| *stable != place);
            }
            let is_removed = self.found.files.remove(&file);
            if is_removed {
                self.aside.insert(file.clone());
            }
            if is_removed || self.folder.join(&file).is_file() || is_among {
                self.found.kept.insert(file);
            }
        }
        self.found.kept.extend(awaited);
        self.set_aside_kept_folders();
    }

    /// `hooks/cache`, which a script fills by names that it works out: what is there and is no program.
    fn set_aside_kept_folders(&mut self) {
        let inside = |it: &Path| {
            self.found.folders.iter().any(|folder| it.starts_with(folder) && it != folder)
        };
        let is_kept = |place: &&Path| {
            let name = place.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            KEPT.contains(&name.trim_start_matches('.')) && inside(place)
        };
        let places: Vec<PathBuf> =
            self.written.iter().map(Path::new).filter(is_kept).map(Path::to_owned).collect();
        let may_be_loaded = self.lists || self.found.unnamed.is_some();
        for place in places.iter().filter(|_| !may_be_loaded) {
            let is_data = |file: &&String| {
                Path::new(file).starts_with(place)
                    && !self.taken.contains(*file)
                    && !mentions::is_program(&self.folder.join(file))
            };
            let data: Vec<String> = self.found.files.iter().filter(is_data).cloned().collect();
            self.found.files.retain(|file| !data.contains(file));
            self.aside.extend(data);
            self.stable.retain(|it| !it.starts_with(place) && Some(it.as_path()) != place.parent());
        }
    }

    /// A log beside the scripts: it is written by its name, and nothing there loads or lists whatever there is.
    fn is_kept_among_scripts(&self, file: &str) -> bool {
        let kind = Path::new(file).extension().and_then(|it| it.to_str()).unwrap_or_default();
        let may_be_loaded = self.lists || self.found.unnamed.is_some();
        !may_be_loaded
            && !self.taken.contains(file)
            && !self.passed.contains(file)
            && (is_kept_by_name(file) || kind == "txt")
    }

    /// Modules in the profile's own folder go before those of the system.
    pub(super) fn python_here(&mut self, script: &str) {
        if self.found.python_here.is_none() {
            self.found.python_here = Some(script.to_owned());
        }
        let mut modules = Vec::new();
        for entry in entries(self.folder, Path::new("")) {
            match entry.is_folder {
                true => modules.extend(
                    entries(self.folder, &entry.path)
                        .filter(|inner| !inner.is_folder && is_module_here(&inner.path))
                        .map(|inner| inner.path),
                ),
                false if is_module_here(&entry.path) => modules.push(entry.path),
                false => {}
            }
        }
        self.found.files.extend(modules.iter().map(|it| it.to_string_lossy().into_owned()));
    }
}

/// Whether Python would load it by a name, when it is started in the profile's own folder: `json.py`, `json/__init__.py`.
#[must_use]
pub fn is_module_here(place: &Path) -> bool {
    let ending = place.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    let is_found = match parts.as_slice() {
        [_] | ["__pycache__", _] => true,
        [_, name] => name.starts_with("__init__."),
        _ => false,
    };
    is_found && MODULES.contains(&ending)
}

impl Scripts {
    /// Why any file counts, if that is so, and how to write it so that it does not.
    #[must_use]
    pub fn why_any(&self) -> Option<String> {
        let command = self.unnamed.as_ref()?;
        // `hooks/c.py:4: exec(x)`: a line of a script, and not one of agent.json.
        let is_in_script = command.split_once(": ").is_some_and(|(place, _)| {
            let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
            self.files.contains(file)
        });
        Some(match is_in_script {
            true => format!(
                "any file of the folder counts, as `{command}` does not name what it runs: write there as a plain text what is \
                 run or loaded, like [\"sh\", \"lib/check.sh\"] or HERE + \"/check.sh\""
            ),
            false => format!(
                "any file of the folder counts, as `{command}` does not name what it runs: name a script, or keep the profile \
                 in a folder of its own"
            ),
        })
    }

    /// What scripts do with their own files that lets whoever writes to these run something.
    #[must_use]
    pub fn risks(&self) -> Vec<String> {
        let told = |(script, (sum, file)): (&String, &(String, String))| {
            format!(
                "{script}: `{sum}` calculates with what was read from `{file}`, which the script writes itself and which is no part \
                 of trust; a shell runs what stands in an index there: take the digits alone, as in `n=$(tr -dc 0-9 < {file})`"
            )
        };
        self.calculated.iter().map(told).collect()
    }

    /// What to do about a module of Python that came to count, where that is plain.
    #[must_use]
    pub fn advice(&self, file: &str) -> Option<String> {
        let script = self.python_here.as_ref().filter(|_| is_module_here(Path::new(file)))?;
        Some(format!(
            "Python looks for modules in the profile's own folder when `{script}` gives it a program: with `python3 -I -c …` it \
             does not"
        ))
    }
}
