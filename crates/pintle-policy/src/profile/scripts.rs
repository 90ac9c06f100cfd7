//! Which files a profile's programs are made of: what trust is about (R10.9) and what no event may be saved to (R10.6).
//!
//! A command names files; what those load is not known. So their company counts too: all that is in the folder of a
//! script, or in one that the command names, and every program of the profile that a script speaks of. A script in the
//! profile's own folder could load any file there, and a command that does not name what it runs (`make check`,
//! `python3 -m judge`) could run any: then all of them count.

use super::company::{self, Company};
use super::document::Node;
use super::installed;
use super::mentions::{self, Among};
use crate::contents::{Contents, is_of_the_system};
use crate::paths::{is_inside, normal, resolve};
use crate::profile::AGENT_FILE;
use crate::shell::{
    SimpleCommand, Word, commands_of_words, is_variable_name, loads_nothing, simple_commands,
    steers_programs,
};
use std::collections::BTreeSet;
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
    /// The first command that could run any file: because of it, the profile's own folder is among them.
    pub unnamed: Option<String>,
    /// A folder with more than [`MOST_FILES`] of them: nobody can trust the profile then.
    pub too_large: Option<String>,
    /// What hooks save to and must not: it lies in the operator's data folder.
    pub(super) saved_among_data: BTreeSet<String>,
}

impl Scripts {
    /// All of them, from a file that may still be wrong in other places.
    pub(crate) fn of(
        file: &Node,
        folder: &Path,
        data: Option<&Path>,
        contents: &mut Contents,
    ) -> Self {
        let company = Company::of(folder, data);
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
            named: BTreeSet::new(),
            starts_node: false,
        };
        for line in lines(file) {
            match line {
                Line::Read(commands) => search.line(&commands),
                Line::Unreadable(text) => search.all(&text),
            }
        }
        if search.found.unnamed.is_some() {
            search.below(Path::new(""));
        } else {
            search.follow(contents);
        }
        for place in &search.stable {
            contents.see_folder(folder, place);
        }
        if search.found.too_large.is_some() {
            return search.found;
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
        search.found
    }

    /// The folders of which every file counts, and the files that are in none of them.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        let inside = |file: &Path| self.folders.iter().any(|folder| file.starts_with(folder));
        let others = self.files.iter().map(Path::new).filter(move |file| !inside(file));
        self.folders.iter().map(PathBuf::as_path).chain(others)
    }

    /// Whether a file at this place in the profile would be one of them.
    #[must_use]
    pub fn holds(&self, place: &str) -> bool {
        let inside = |folder: &PathBuf| Path::new(place).starts_with(folder);
        self.files.contains(place) || self.folders.iter().any(inside)
    }
}

enum Line {
    Read(Vec<SimpleCommand>),
    Unreadable(String),
}

/// Every line that the profile runs: of its command hooks, and of the servers it starts.
fn lines(file: &Node) -> Vec<Line> {
    let texts = |nodes: &[Node]| nodes.iter().filter_map(Node::text).map(str::to_owned).collect();
    let items =
        |node: &Node, key: &str| node.get(key).map(Node::items).unwrap_or_default().to_vec();
    let of_words = |words: Vec<String>| match commands_of_words(&words) {
        Ok(commands) => Line::Read(commands),
        Err(_) => Line::Unreadable(words.join(" ")),
    };
    let mut lines = Vec::new();
    for action in actions(file) {
        if let Some(line) = action.get("command").and_then(Node::text) {
            lines.push(match simple_commands(line) {
                Ok(commands) => Line::Read(commands),
                Err(_) => Line::Unreadable(line.to_owned()),
            });
        }
        lines.push(of_words(texts(&items(action, "argv"))));
    }
    for server in file.get("mcpServers").map(Node::fields).unwrap_or_default() {
        let Some(program) = server.value.get("command").and_then(Node::text) else { continue };
        // `env` says what it says in a line: which variables the program gets.
        let mut words = vec!["env".to_owned()];
        for variable in server.value.get("env").map(Node::fields).unwrap_or_default() {
            words.push(format!("{}={}", variable.key, variable.value.text().unwrap_or_default()));
        }
        words.push(program.to_owned());
        words.extend::<Vec<String>>(texts(&items(&server.value, "args")));
        lines.push(of_words(words));
    }
    lines
}

fn actions(file: &Node) -> impl Iterator<Item = &Node> {
    let buckets = file.get("hooks").map(Node::fields).unwrap_or_default();
    buckets.iter().flat_map(|bucket| bucket.value.items())
}

/// What hooks save to changes with every event; no program is made of it.
fn saved_files(file: &Node) -> impl Iterator<Item = String> {
    let saves = |action: &&Node| action.get("action").and_then(Node::text) == Some("save_json");
    let path = |action: &Node| action.get("path").and_then(Node::text).map(normal);
    actions(file).filter(saves).filter_map(path)
}

struct Search<'a> {
    folder: &'a Path,
    company: Company,
    found: Scripts,
    /// What editors leave in the folders that count.
    litter: BTreeSet<String>,
    /// What hooks save to, also before they did.
    saved: BTreeSet<String>,
    /// The folders that were gone through and in which nothing comes or goes by itself: no events are saved there.
    stable: Vec<PathBuf>,
    /// The scripts that commands name.
    named: BTreeSet<String>,
    starts_node: bool,
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
            starts_node: self.starts_node,
        };
        while self.found.too_large.is_none() {
            let known = self.found.folders.len();
            for folder in mentions::follow(&among, &mut self.found.files, contents) {
                self.below(&folder);
            }
            if self.found.folders.len() == known {
                return;
            }
        }
    }

    fn line(&mut self, commands: &[SimpleCommand]) {
        let mut places = vec![PathBuf::new()];
        for command in commands {
            if let (Some("cd"), [place]) = (command.program(), command.args.as_slice())
                && let Some(Named::Folder(place)) = place.literal().and_then(|it| self.named(it))
            {
                places.push(place);
            }
        }
        for command in commands {
            self.starts_node |= command.program().is_some_and(installed::starts_node);
            self.variables(command, &places);
            if loads_nothing(command) {
                self.handed_on(command, &places);
            } else {
                self.command(command, &places);
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
                if let Some(found) = self.named_from(places, part) {
                    self.add(found, command);
                }
            }
        }
    }

    /// `cp rules.sh /tmp/x && sh /tmp/x`: what only reads a program may hand it to one that runs it.
    fn handed_on(&mut self, command: &SimpleCommand, places: &[PathBuf]) {
        for word in command.args.iter().filter_map(Word::literal) {
            if let Some(Named::Script(script)) = self.named_from(places, word)
                && mentions::is_program(&self.folder.join(&script))
            {
                self.found.files.insert(script);
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
        let program = named(&command.name);
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
    fn environment(&self, places: &[PathBuf], word: &str) -> Option<PathBuf> {
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
    fn named_from(&self, places: &[PathBuf], word: &str) -> Option<Named> {
        let from = |place: &PathBuf| self.named(&place.join(word).to_string_lossy());
        if word.is_empty() { None } else { places.iter().find_map(from) }
    }

    /// What a word names, if that is a file or folder of the profile, or a file outside it that the system did not bring.
    fn named(&self, word: &str) -> Option<Named> {
        // Most words name nothing at all: that is the cheaper question.
        let path = self.folder.join(word);
        if word.is_empty() || !path.exists() {
            return None;
        }
        if !is_inside(self.folder, self.folder, Path::new(word)) {
            let counts = path.is_absolute() && path.is_file() && !is_of_the_system(&path);
            return counts.then(|| Named::Outside(path.to_string_lossy().into_owned()));
        }
        let inner = Path::new(word).strip_prefix(self.folder).unwrap_or(Path::new(word));
        let inner = normal(&inner.to_string_lossy());
        Some(if path.is_dir() { Named::Folder(inner.into()) } else { Named::Script(inner) })
    }

    fn all(&mut self, command: &str) {
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

    fn below(&mut self, start: &Path) {
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
                if self.company.is_kept(&file) || installed::is_data_of_git(&file) {
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
enum Named {
    Folder(PathBuf),
    Script(String),
    Outside(String),
}

/// What is in a folder of the profile, by its path in the profile. No link is followed.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
    is_link: bool,
}

pub(super) fn entries(folder: &Path, place: &Path) -> impl Iterator<Item = Entry> {
    let place = place.to_owned();
    let listed = folder.join(&place).read_dir().into_iter().flatten().flatten();
    listed.map(move |entry| {
        let kind = entry.file_type();
        let is_folder = kind.as_ref().is_ok_and(|kind| kind.is_dir());
        let is_link = kind.is_ok_and(|kind| kind.is_symlink());
        Entry { path: place.join(entry.file_name()), is_folder, is_link }
    })
}
