//! Which files a profile's programs are made of: what trust is about (R10.9) and what no event may be saved to (R10.6).
//!
//! A command names files; what those load is not known. So their company counts too: all that is in the folder of a
//! script, or in one that the command names, and every program of the profile that a script speaks of. A script in the
//! profile's own folder could load any file there, and a command that does not name what it runs (`make check`,
//! `python3 -m judge`) could run any: then all of them count.

use super::awaited::Awaited;
use super::company::{self, Company};
use super::data::checks_with_python;
use super::document::Node;
use super::entries::{Entry, entries};
use super::foreign::{Foreign, READ_BY_NODE};
use super::git::{self, Repositories, called_in};
use super::installed;
use super::lines::{Line, lines, saved_files};
use super::looked_at::{LookedAt, spellings};
use super::mentions::{self, Among};
use super::reached::is_module_here;
use crate::contents::{Contents, is_of_the_system};
use crate::paths::{is_inside, normal, resolve};
use crate::profile::AGENT_FILE;
use crate::shell::{Loads, SimpleCommand, Word, is_variable_name, loads, steers_programs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More files than can be looked at before each start of a program: a folder with more of them is not trusted.
pub const MOST_FILES: usize = 50_000;

/// The files that a profile's programs are made of, as they are on the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scripts {
    /// Each by its path in the profile, or its full path when it lies outside.
    pub files: BTreeSet<String>,
    /// The folders of which every file counts, also one that is yet to come. The profile's own is the empty path.
    pub folders: BTreeSet<PathBuf>,
    /// Files that a hook asks for, or reads and writes itself: they change, so they are no part of trust. What a gate says
    /// hangs on them all the same, so the agent has to ask before it writes to one.
    pub kept: BTreeSet<String>,
    /// Files that a script only looks into: they count as they were trusted, but one that comes to be later changes no program.
    pub read: BTreeSet<String>,
    /// Files of scripts' words, each with the first script that speaks of it.
    pub by: BTreeMap<String, String>,
    /// What is not there, and would count.
    pub awaited: Awaited,
    /// The first command that could run any file: because of it, the profile's own folder is among them.
    pub unnamed: Option<String>,
    /// The script that gives Python a program, which then finds modules in the profile's own folder.
    pub python_here: Option<String>,
    /// A folder with more than [`MOST_FILES`] of them: nobody can trust the profile then.
    pub too_large: Option<String>,
    /// Scripts that calculate with what a file of their own says: the sum, and the file.
    pub(super) calculated: BTreeMap<String, (String, String)>,
    /// What hooks save to and must not: it lies in the operator's data folder.
    pub(super) saved_among_data: BTreeSet<String>,
}

/// Where a profile is read, and what is given to its hooks.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) data: Option<&'a Path>,
    pub(crate) hook_env: &'a BTreeMap<String, String>,
}

impl Scripts {
    /// All of them, from a file that may still be wrong in other places.
    pub(crate) fn of(file: &Node, around: Around<'_>, contents: &mut Contents) -> Self {
        let (found, aside) = Self::without(BTreeSet::new(), file, around, contents);
        if aside.is_empty() {
            return found;
        }
        // What hooks keep may speak of any file, as a log does of those that the agent works on.
        Self::without(aside, file, around, contents).0
    }

    /// The same without some that are found to be none; and more of these.
    fn without(
        aside: BTreeSet<String>,
        file: &Node,
        around: Around<'_>,
        contents: &mut Contents,
    ) -> (Self, BTreeSet<String>) {
        let folder = around.folder;
        let company = Company::of(folder, around.data);
        let saved_among_data =
            saved_files(file).filter(|path| company.keeps_really(folder, Path::new(path)));
        let found = Self { saved_among_data: saved_among_data.collect(), ..Self::default() };
        let mut search = Search {
            folder,
            company,
            found,
            litter: BTreeSet::new(),
            saved: saved_files(file).collect(),
            stable: Vec::new(),
            data: BTreeSet::new(),
            named: BTreeSet::new(),
            gone_through: BTreeSet::new(),
            written: BTreeSet::new(),
            loaded: BTreeSet::new(),
            not_only_read: BTreeSet::new(),
            taken: BTreeSet::new(),
            aside,
            passed: BTreeSet::new(),
            lists: false,
            starts_node: false,
            git: Repositories::default(),
        };
        for line in lines(file, folder, around.hook_env) {
            match line {
                Line::Read(commands, looked_at) => search.line(&commands, &looked_at),
                Line::Foreign(foreign) => search.foreign(&foreign),
                Line::Unreadable(text) => search.all(&text),
            }
        }
        search.follow(contents);
        search.set_aside_what_is_kept();
        search.found.read.extend(search.data.iter().cloned());
        search.found.read.retain(|file| {
            !search.not_only_read.contains(file)
                && !search.taken.contains(file)
                && !search.loaded.contains(file)
                && !search.named.contains(file)
                && !search.found.folders.iter().any(|it| Path::new(file).starts_with(it))
        });
        let data = std::mem::take(&mut search.data);
        search.found.files.extend(data);
        for place in &search.stable {
            contents.see_folder(folder, place);
        }
        if search.found.too_large.is_some() {
            return (search.found, BTreeSet::new());
        }
        if search.found.unnamed.is_some() {
            let saved = &search.saved;
            search.found.files.retain(|name| name != AGENT_FILE && !saved.contains(name));
        }
        // What a script speaks of is no litter.
        let spoken_of = |name: &String| {
            search.found.files.iter().any(|file| {
                contents
                    .read_words(folder, file)
                    .is_ok_and(|known| company::speaks_of(known.words(), name))
            })
        };
        let loaded: Vec<String> = search.litter.into_iter().filter(spoken_of).collect();
        search.found.files.extend(loaded);
        (search.found, search.aside)
    }

    /// The folders of which every file counts, and the files that are in none of them.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        let inside = |file: &Path| self.folders.iter().any(|folder| file.starts_with(folder));
        let others =
            self.files.iter().chain(&self.kept).map(Path::new).filter(move |file| !inside(file));
        self.folders.iter().map(PathBuf::as_path).chain(others)
    }

    /// Whether a file at this place in the profile would be one of them.
    #[must_use]
    pub fn holds(&self, place: &str) -> bool {
        let inside = |folder: &PathBuf| Path::new(place).starts_with(folder);
        self.files.contains(place)
            || self.folders.iter().any(inside)
            || (self.python_here.is_some() && is_module_here(Path::new(place)))
    }
}

pub(super) struct Search<'a> {
    pub(super) folder: &'a Path,
    pub(super) company: Company,
    pub(super) found: Scripts,
    /// What editors leave in the folders that count.
    litter: BTreeSet<String>,
    /// What hooks save to, also before they did.
    pub(super) saved: BTreeSet<String>,
    /// The folders that were gone through and in which nothing comes or goes by itself: no events are saved there.
    pub(super) stable: Vec<PathBuf>,
    /// What lines read and do not run: what it says is not looked for.
    pub(super) data: BTreeSet<String>,
    /// The scripts that commands name.
    pub(super) named: BTreeSet<String>,
    /// What scripts write to.
    pub(super) written: BTreeSet<String>,
    /// What scripts load, whatever else they do with it.
    pub(super) loaded: BTreeSet<String>,
    /// What scripts may load, or speak of otherwise than to look into it.
    pub(super) not_only_read: BTreeSet<String>,
    /// What was found to be loaded, and not only spoken of.
    pub(super) taken: BTreeSet<String>,
    /// What scripts give to those of whom it is not known that they only read it.
    pub(super) passed: BTreeSet<String>,
    /// What is no part of the programs, though it lies among them.
    pub(super) aside: BTreeSet<String>,
    /// Whether a script goes through whatever is in a folder, and loads something.
    pub(super) lists: bool,
    /// The scripts of which it is known what they reach for.
    pub(super) gone_through: BTreeSet<String>,
    starts_node: bool,
    pub(super) git: Repositories,
}

impl Search<'_> {
    /// All that the files found so far speak of, and the installed modules that these load from.
    fn follow(&mut self, contents: &mut Contents) {
        let company = self.company.clone();
        let among = Among {
            folder: self.folder,
            company: &company,
            named: self.named.clone(),
            saved: self.saved.clone(),
            aside: self.aside.clone(),
            starts_node: self.starts_node,
        };
        while self.found.too_large.is_none() && self.found.unnamed.is_none() {
            let known = self.found.folders.len();
            let followed = mentions::follow(&among, &mut self.found.files, contents);
            for folder in &followed.installed {
                self.below(folder);
            }
            self.not_only_read.extend(followed.loaded);
            self.found.read.extend(followed.read);
            self.found.by.extend(followed.by);
            let patterns = std::mem::take(&mut self.found.awaited.patterns);
            self.found.awaited = Awaited { patterns, ..followed.awaited };
            if !self.reach_on(contents) && self.found.folders.len() == known {
                return;
            }
        }
        if self.found.unnamed.is_some() {
            self.below(Path::new(""));
        }
    }

    fn line(&mut self, commands: &[SimpleCommand], looked_at: &LookedAt) {
        let mut places = vec![PathBuf::new()];
        for command in commands {
            if let (Some("cd"), [place]) = (command.program(), command.args.as_slice())
                && let Some(Named::Folder(place)) = place.literal().and_then(|it| self.named(it))
            {
                places.push(place);
            }
        }
        self.repositories(&places, called_in(commands).iter());
        for command in commands {
            self.starts_node |= command.program().is_some_and(installed::starts_node);
            self.variables(command, &places);
            if checks_with_python(command) {
                self.python_here(AGENT_FILE);
            } else if loads(command) == Loads::Anything {
                self.command(command, &places);
            }
        }
        self.look_at(looked_at, &places);
    }

    /// What is fetched by its name is not of the profile, unless it is installed there.
    fn foreign(&mut self, foreign: &Foreign) {
        if foreign.of_node {
            self.below(Path::new("node_modules"));
            let read = READ_BY_NODE.iter().filter(|file| self.folder.join(file).is_file());
            // A package may name programs of its own: what it names is looked for.
            self.found.files.extend(read.map(|file| (*file).to_owned()));
        }
        for word in &foreign.args {
            for word in spellings(word) {
                if let Some(Named::Script(script)) = self.named(&word)
                    && mentions::is_program(&self.folder.join(&script))
                {
                    let command = SimpleCommand::new(Word::Literal(script.clone()), Vec::new());
                    self.with_company(&script, &command);
                }
            }
        }
    }

    /// `PYTHONPATH=lib`, before a command or after `env` or `export`: what a variable names may be loaded.
    fn variables(&mut self, command: &SimpleCommand, places: &[PathBuf]) {
        for word in command.assignments.iter().chain(&command.args).map(Word::text) {
            let Some((_, value)) = word.split_once('=').filter(|it| is_variable_name(it.0)) else {
                continue;
            };
            if steers_programs(word) {
                self.all(&command.summary());
            }
            for part in value.split(':') {
                match self.named_from(places, part) {
                    Some(found) => self.add(found, command),
                    None => self.found.awaited.held(self.folder, part),
                }
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand, places: &[PathBuf]) {
        let named = |word: &Word| {
            let text = word.literal()?;
            let valued = text.rsplit('=').next().unwrap_or(text);
            // `-frules.awk`: an option and its value may be one word.
            let glued = text.strip_prefix('-').and_then(|it| it.get(1..)).unwrap_or_default();
            self.named_from(places, valued).or_else(|| self.named_from(places, glued))
        };
        // `.` is a command of the shell here, and no folder.
        let program = Some(&command.name).filter(|it| it.text() != ".").and_then(named);
        let is_option = |word: &&Word| word.text().starts_with(['-', '+']);
        let mut options = command.args.iter().take_while(is_option);
        let operand = command.args.iter().find(|word| !is_option(word)).and_then(named);
        let says_what_it_runs =
            program.is_some() || (operand.is_some() && !options.any(takes_a_program));
        let input = command.redirects.iter().filter(|it| !it.writes()).map(|it| &it.target);
        let words = command.args.iter().chain(input);
        let environments: Vec<PathBuf> = words
            .clone()
            .chain([&command.name])
            .filter_map(|word| self.environment(places, word.literal()?))
            .collect();
        let found: Vec<Named> = words.filter_map(named).chain(program).collect();
        if !says_what_it_runs {
            self.all(&command.summary());
        }
        for found in found {
            self.add(found, command);
        }
        for environment in environments {
            self.below(&environment);
        }
    }

    /// `.venv/bin/python`: a link to a program of the system, which loads what is installed around the link.
    pub(super) fn environment(&self, places: &[PathBuf], word: &str) -> Option<PathBuf> {
        let word = Path::new(word).strip_prefix(self.folder).unwrap_or(Path::new(word));
        places.iter().find_map(|place| {
            let inner = PathBuf::from(normal(&place.join(word).to_string_lossy()));
            let is_there = inner.is_relative() && self.folder.join(&inner).exists();
            is_there.then(|| installed::around_existing(self.folder, &inner)).flatten()
        })
    }

    fn add(&mut self, found: Named, command: &SimpleCommand) {
        match found {
            Named::Folder(place) if place.as_os_str().is_empty() => self.all(&command.summary()),
            Named::Folder(place) => self.below(&place),
            Named::Script(script) => self.with_company(&script, command),
            Named::Outside(path) => self.with_its_like(Path::new(&path)),
        }
    }

    /// What a word names from where the command may run: the profile's folder, or one that the line goes to.
    pub(super) fn named_from(&self, places: &[PathBuf], word: &str) -> Option<Named> {
        let from = |place: &PathBuf| self.named(&place.join(word).to_string_lossy());
        if word.is_empty() { None } else { places.iter().find_map(from) }
    }

    /// What a word names, if that is a file or folder of the profile, or a file outside it that the system did not bring.
    pub(super) fn named(&self, word: &str) -> Option<Named> {
        // Most words name nothing at all: that is the cheaper question.
        let path = self.folder.join(word);
        if word.is_empty() || !path.exists() {
            return None;
        }
        if let Some(link) = installed::interpreter(self.folder, Path::new(word)) {
            return Some(Named::Script(link));
        }
        if !is_inside(self.folder, self.folder, Path::new(word)) {
            if let Some(link) = self.linked_out(word) {
                return Some(Named::Folder(link));
            }
            let counts = path.is_absolute() && path.is_file() && !is_of_the_system(&path);
            return counts.then(|| Named::Outside(path.to_string_lossy().into_owned()));
        }
        let inner = Path::new(word).strip_prefix(self.folder).unwrap_or(Path::new(word));
        let inner = normal(&inner.to_string_lossy());
        Some(if path.is_dir() { Named::Folder(inner.into()) } else { Named::Script(inner) })
    }

    /// A folder of the profile that is a link to one elsewhere; not to one that the profile lies in.
    fn linked_out(&self, word: &str) -> Option<PathBuf> {
        let inner = Path::new(word).strip_prefix(self.folder).unwrap_or(Path::new(word));
        let goes_up = inner.is_absolute() || inner.iter().any(|part| part == "..");
        let reached = resolve(self.folder, inner).ok().filter(|it| !goes_up && it.is_dir())?;
        let folder = resolve(self.folder, Path::new("")).ok()?;
        let counts = !is_of_the_system(&reached) && !folder.starts_with(&reached);
        counts.then(|| PathBuf::from(normal(&inner.to_string_lossy())))
    }

    pub(super) fn all(&mut self, command: &str) {
        self.found.unnamed.get_or_insert_with(|| command.to_owned());
    }

    fn with_company(&mut self, script: &str, command: &SimpleCommand) {
        match Path::new(script).parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => self.below(parent),
            None => self.all(&command.summary()),
        }
        self.found.files.insert(script.to_owned());
        self.named.insert(script.to_owned());
    }

    /// Outside the profile there is no telling whose folder it is: the files of the same kind beside it.
    fn with_its_like(&mut self, script: &Path) {
        let folder = script.parent().unwrap_or(script);
        let beside = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let like = beside.filter(|file| file.extension() == script.extension() && file.is_file());
        let kept = like.take(MOST_FILES).filter(|_| script.extension().is_some());
        self.found.files.extend(kept.map(|file| file.to_string_lossy().into_owned()));
        self.found.files.insert(script.to_string_lossy().into_owned());
    }

    /// The folder of the profile that a link leads to.
    fn linked_folder(&self, link: &Path) -> Option<PathBuf> {
        let path = self.folder.join(link);
        if !path.is_dir() {
            return None;
        }
        let reached = resolve(self.folder, link).ok()?;
        let inner = reached.strip_prefix(resolve(self.folder, Path::new("")).ok()?).ok()?;
        Some(inner.to_owned())
    }

    pub(super) fn below(&mut self, start: &Path) {
        if self.found.folders.iter().any(|folder| start.starts_with(folder)) {
            return;
        }
        self.found.folders.insert(start.to_owned());
        let mut pending = vec![start.to_owned()];
        let mut seen = 0_usize;
        let mut linked = BTreeSet::new();
        while let Some(place) = pending.pop() {
            let is_saved = |saved: &String| Path::new(saved).starts_with(&place);
            let mut stable = !self.saved.iter().any(is_saved);
            for Entry { path: file, is_folder, is_link } in entries(self.folder, &place) {
                if self.company.is_kept(&file)
                    || installed::is_data_of_git(&file)
                    || git::is_sample(&file)
                {
                    stable = false;
                    continue;
                }
                if is_folder {
                    pending.push(file);
                    continue;
                }
                seen = seen.saturating_add(1);
                if seen > MOST_FILES {
                    let whole = if start.as_os_str().is_empty() { Path::new(".") } else { start };
                    self.found.too_large = Some(whole.to_string_lossy().into_owned());
                    return;
                }
                let name = file.to_string_lossy().into_owned();
                if self.aside.contains(&name) {
                    stable = false;
                    continue;
                }
                if company::is_litter(&self.folder.join(&file)) {
                    self.litter.insert(name);
                    continue;
                }
                let led_to = if is_link { self.linked_folder(&file) } else { None };
                pending.extend(led_to.filter(|it| linked.insert(it.clone())));
                self.found.files.insert(name);
            }
            if stable {
                self.stable.push(place);
            }
        }
    }
}

/// `-m judge`, `-c TEXT`, `-e TEXT`: what follows is no file.
fn takes_a_program(option: &Word) -> bool {
    let text = option.text();
    !text.starts_with("--") && text.ends_with(['m', 'c', 'e'])
}

#[derive(Clone)]
pub(super) enum Named {
    Folder(PathBuf),
    Script(String),
    Outside(String),
}
