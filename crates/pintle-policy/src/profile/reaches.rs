//! What a script reaches beyond the files it names: folders that it goes to, puts on a path or loads all of, what git runs
//! there, and the modules that Python finds by itself.

use super::calls::{Calls, Tongue, place};
use super::data::{Use, only_data, use_of, without_checks};
use super::git::{ANYWHERE, called_in};
use super::loaders::{DECLARERS, FINDERS, KEPT, LISTERS, TALKERS, is_loader, runs_the_project};
use super::looked_at::{WRITERS, pattern};
use super::open::Open;
use super::own_functions::OwnFunctions;
use super::run_as_read::{calculated, calculated_with, given_to_run, read_and_run};
use super::steered::{run_by_path, shebang};
use super::strings::{
    folders_not_loaded, goes_elsewhere, is_kept_by_name, keeps_files, lists_folders,
    lists_somewhere, runs_files, runs_lines, runs_what_it_finds, strings,
};
use crate::contents::is_part_of_a_path;
use crate::shell::{SimpleCommand, Word, is_variable_name, is_wrapper, simple_commands};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a script says of it, in its words: what those name is known only where it lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reaches {
    /// Each may name a folder of which anything may be loaded, or a file.
    pub(super) places: BTreeSet<String>,
    /// The same of a script that is not understood: only folders are taken from it, for its files are found otherwise.
    pub(super) folders: BTreeSet<String>,
    /// `rules.d/*`
    pub(super) patterns: BTreeSet<String>,
    /// The folders in which git runs; the empty one is where the hook does.
    pub(super) repositories: BTreeSet<String>,
    /// Scripts that Python is given: it loads what lies beside them.
    pub(super) given_to_python: BTreeSet<String>,
    /// Python has its program from the script, and looks for modules where the hook runs.
    pub(super) python_here: bool,
    /// Commands that run what only running them tells.
    pub(super) open: Vec<Open>,
    /// Files that it writes to and does not load: they change by themselves.
    pub(super) kept: BTreeSet<String>,
    /// What it gives to those who load it.
    pub(super) loaded: BTreeSet<String>,
    /// What it gives to those of whom it is not known that they only read it: `awk -f rules.txt`.
    pub(super) passed: BTreeSet<String>,
    /// What it gives to a pipe at whose end it is run.
    pub(super) run: BTreeSet<String>,
    /// A sum with what may be no number, and the file of its own which it has that from.
    pub(super) calculated: Option<(String, String)>,
    /// Whether it loads nothing but modules, by their names.
    pub(super) only_modules: bool,
    /// Whether it goes through whatever is in a folder, and may load that.
    pub(super) lists: bool,
    /// Words that it only says, or that name files it only looks at.
    pub(super) data: BTreeMap<String, Use>,
    /// What runs it, and what that is given: `#!/usr/bin/perl -Ilib`.
    pub(super) shebang: BTreeSet<String>,
    /// What it runs by a path, which may lead out of the profile.
    pub(super) outside: BTreeSet<String>,
    /// A command that may run any file.
    pub(super) anything: Option<String>,
}

/// So many texts of a script are read as lines for a shell; of further ones every word may be a folder.
const MOST_LINES: usize = 500;

enum Language {
    Shell,
    /// By its name it could be anything; a file that a shell loads often has no ending.
    Unknown,
    Other,
}

impl Reaches {
    /// Of a script.
    pub(crate) fn of(file: &Path, text: &str) -> Self {
        let mut found = Self { shebang: shebang(text), ..Self::default() };
        match language(file, text) {
            Some(Language::Shell) => match simple_commands(text) {
                Ok(commands) => {
                    let functions = OwnFunctions::of(text);
                    let mut commands = without_checks(commands);
                    commands.retain(|it| !functions.are_all_of(&it.name));
                    found.read(&commands);
                    found.piped(text);
                    found.data = only_data(&commands);
                    let mut run = calculated_with(&commands);
                    run.retain(|word| !found.kept.contains(word));
                    run.extend(found.run.iter().cloned());
                    found.data.retain(|word, _| !run.contains(word));
                }
                Err(_) => found.only_words(text),
            },
            Some(Language::Unknown) => {
                if let Ok(commands) = simple_commands(text) {
                    found.read(&commands);
                    (found.open, found.anything) = (Vec::new(), None);
                }
            }
            Some(Language::Other) => {
                let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
                let tongue = Tongue::of(kind, text);
                let calls = tongue.map(|tongue| (tongue, Calls::of(tongue, text)));
                found.strings(text, calls.as_ref());
                if let Some((_, calls)) = calls {
                    found.calls(calls);
                }
            }
            None => {}
        }
        found
    }

    fn read(&mut self, commands: &[SimpleCommand]) {
        let open: Vec<Open> = commands.iter().filter_map(Open::of).collect();
        let is_open = !open.is_empty();
        let loads = is_open || commands.iter().any(is_loader);
        let has_pattern = |command: &SimpleCommand| {
            let program = command.program().unwrap_or_default();
            let lists = LISTERS.contains(&program) && !program.is_empty();
            lists
                || command
                    .args
                    .iter()
                    .any(|word| pattern(word.text()).is_some() && word.is_dynamic())
        };
        self.lists |= loads && commands.iter().any(has_pattern);
        self.open.extend(open);
        let used = variables_read(commands);
        self.keeps(commands);
        self.steered(commands);
        self.outside.extend(run_by_path(commands));
        self.repositories.extend(called_in(commands));
        for command in commands {
            let program = command.program().unwrap_or_default();
            self.python(command);
            if runs_the_project(command) {
                self.anything.get_or_insert_with(|| command.summary());
            }
            if !loads {
                continue;
            }
            self.variables(command, &used);
            let goes = matches!(program, "cd" | "pushd") || is_loader(command);
            let passes_on =
                is_wrapper(program) && !LISTERS.contains(&program) && !TALKERS.contains(&program);
            let may_tell = is_open && !WRITERS.contains(&program) && !TALKERS.contains(&program);
            if goes || passes_on || may_tell {
                let input = command.redirects.iter().filter(|it| !it.writes() && it.names_a_file());
                let words = command.args.iter().chain(input.map(|it| &it.target));
                self.places.extend(words.flat_map(|word| parts(word.text())));
            }
            if is_open && !command.name.is_dynamic() && LISTERS.contains(&program) {
                self.listed(command);
            }
        }
    }

    /// `LOG="$PINTLE_PROFILE_DIR/log/a.log"; date >> "$LOG"`: what it writes to, by way of its variables as well.
    fn keeps(&mut self, commands: &[SimpleCommand]) {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for word in commands.iter().flat_map(|it| it.assignments.iter().chain(&it.args)) {
            if let Some((name, value)) = word.text().split_once('=') {
                values.entry(name).or_default().push(value);
            }
        }
        let names = |word: &Word| -> BTreeSet<String> {
            let text = word.text();
            let held = variables_in(text).into_iter().filter_map(|name| values.get(name.as_str()));
            held.flatten().flat_map(|value| parts(value)).chain(parts(text)).collect()
        };
        for command in commands {
            let program = command.program().unwrap_or_default();
            let targets = command.redirects.iter().filter(|it| it.writes() && it.names_a_file());
            self.kept.extend(targets.flat_map(|it| names(&it.target)));
            if WRITERS.contains(&program) {
                self.kept.extend(command.args.iter().flat_map(names));
            }
            if use_of(command) == Use::Other && !WRITERS.contains(&program) {
                let words = command.args.iter().chain([&command.name]);
                self.passed.extend(words.flat_map(names));
            }
            if is_loader(command) || Open::of(command).is_some() {
                let words = command.args.iter().chain([&command.name]);
                self.loaded.extend(words.flat_map(names));
            }
            let run: BTreeSet<String> = given_to_run(command).into_iter().flat_map(names).collect();
            self.places.extend(run.iter().cloned());
            self.loaded.extend(run);
        }
        self.loaded.extend(read_and_run(commands).into_iter().flat_map(names));
        if let Some((sum, read)) = calculated(commands) {
            let files = read.into_iter().flat_map(names).filter(|it| self.kept.contains(it));
            let file = files.max_by_key(String::len);
            let shown = |file: &str| {
                let inner = file.strip_prefix("PINTLE_PROFILE_DIR").unwrap_or(file);
                inner.trim_start_matches('/').to_owned()
            };
            self.calculated = file.map(|file| (sum.to_owned(), shown(&file)));
        }
    }

    /// `for f in rules.d/*`, `find . -name x.sh`: what is listed may be what is loaded.
    fn listed(&mut self, command: &SimpleCommand) {
        let texts = || command.args.iter().map(Word::text);
        self.patterns.extend(texts().filter_map(pattern));
        let is_loop = command.program() == Some("");
        let lists_all = texts().any(|text| matches!(text, "." | "./"))
            || (!is_loop && texts().all(|text| text.starts_with('-')));
        if lists_all {
            self.anything.get_or_insert_with(|| command.summary());
        }
    }

    /// `LIB="$PINTLE_PROFILE_DIR/lib"`, `export PATH="$PWD/bin:$PATH"`
    fn variables(&mut self, command: &SimpleCommand, used: &BTreeSet<String>) {
        let declares = command.program().is_some_and(|program| DECLARERS.contains(&program));
        let args = command.args.iter().filter(|_| declares);
        for word in command.assignments.iter().chain(args).map(Word::text) {
            let Some((name, value)) = word.split_once('=').filter(|it| is_variable_name(it.0))
            else {
                continue;
            };
            if used.contains(name) || is_for_programs(name) {
                self.places.extend(parts(value));
            }
        }
    }

    fn python(&mut self, command: &SimpleCommand) {
        let program = command.program().unwrap_or_default();
        if !program.starts_with("python") && !program.starts_with("pypy") {
            return;
        }
        let mut args = command.args.iter().map(Word::text);
        let mut given = None;
        while let Some(arg) = args.next() {
            let Some(letters) = arg.strip_prefix('-').filter(|it| !it.is_empty()) else {
                given = Some(arg);
                break;
            };
            // It looks nowhere else then.
            if !arg.starts_with("--") && letters.starts_with(['I', 'P']) {
                return;
            }
            match letters.find(['c', 'm', 'W', 'X']).map(|at| letters.split_at(at)) {
                Some((_, rest)) if rest.starts_with('c') => break,
                Some((_, rest)) if rest.starts_with('m') => {
                    let module = rest.get(1..).filter(|it| !it.is_empty()).or_else(|| args.next());
                    self.module(module.unwrap_or_default(), command);
                    break;
                }
                Some(("", "W" | "X")) => drop(args.next()),
                _ => {}
            }
        }
        match given {
            Some(script) if script != "-" => self.given_to_python.extend(parts(script)),
            _ => self.python_here = true,
        }
    }

    fn module(&mut self, module: &str, command: &SimpleCommand) {
        let first = module.split('.').next().unwrap_or_default();
        if FINDERS.contains(&first) || module.contains('$') {
            self.anything.get_or_insert_with(|| command.summary());
        }
        self.places.extend([first.to_owned(), format!("{first}.py")]);
    }

    /// Of a script whose grammar nobody understands.
    fn only_words(&mut self, text: &str) {
        let words: BTreeSet<String> = parts(text).collect();
        self.python_here = words.iter().any(|word| word.starts_with("python"));
        if words.contains("git") {
            self.repositories.extend([String::new(), ANYWHERE.to_owned()]);
        }
        self.folders.extend(words);
    }

    /// Of a script in another language: its texts may be places, or lines that it gives to a shell.
    fn strings(&mut self, script: &str, calls: Option<&(Tongue, Calls)>) {
        let all = strings(script);
        // Of these it is known call by call what they run.
        let calls = calls.filter(|it| matches!(it.0, Tongue::Python | Tongue::Node));
        let is_read = calls.is_some();
        let loads_files = match calls {
            Some((_, calls)) => calls.unknown.is_some() || calls.loads_files,
            None => runs_files(script),
        };
        self.lists = loads_files && lists_folders(script);
        self.only_modules = is_read && !loads_files;
        let runs_lines = runs_lines(script);
        let loads = runs_what_it_finds(script, &all);
        let says_git = all.iter().any(|it| it.text == "git" || it.text.starts_with("git "));
        if says_git && goes_elsewhere(script) {
            self.repositories.insert(ANYWHERE.to_owned());
        }
        let reaches_out = goes_elsewhere(script) || (!is_read && loads);
        // To list what is in a folder is not to run it.
        let runs_listed = calls.is_none_or(|it| it.1.may_run_listed());
        self.data.extend(calls.map(|it| folders_not_loaded(script, &it.1)).unwrap_or_default());
        if (loads || is_read)
            && runs_listed
            && let Some(command) = lists_somewhere(script, &all)
        {
            self.open.push(Open { command, words: BTreeSet::new() });
        }
        if keeps_files(script) && !loads_files {
            let is_folder = |text: &str| KEPT.contains(&text.trim_matches(['.', '/']));
            let is_kept = |text: &str| is_kept_by_name(text) || is_folder(text);
            let kept = all.iter().filter(|it| !it.is_loaded && is_kept(&it.text));
            self.kept.extend(kept.flat_map(|it| parts(&it.text)));
        }
        let mut lines = 0;
        for found in all {
            if found.is_everything() && runs_listed {
                self.anything.get_or_insert_with(|| place(script, found.at));
            }
            if found.is_listed && runs_listed {
                self.patterns.extend(pattern(&found.text));
            }
            let is_line = found.text.contains(' ') && runs_lines;
            if found.is_compared || !(reaches_out || is_line || found.is_loaded) {
                if found.text == "git" && runs_lines {
                    self.repositories.insert(String::new());
                }
                continue;
            }
            if found.text.contains(' ') {
                self.folders.insert(found.text.clone());
                lines += usize::from(found.may_be_a_line());
                if lines > MOST_LINES {
                    self.folders.extend(parts(&found.text));
                } else if found.may_be_a_line()
                    && let Ok(commands) = simple_commands(&found.text)
                {
                    let mut line = Self::default();
                    line.read(&commands);
                    self.places.extend(line.places);
                    self.repositories.extend(line.repositories);
                    self.python_here |= line.python_here;
                    self.anything = self.anything.take().or(line.anything);
                }
                continue;
            }
            if found.text == "git" {
                self.repositories.insert(String::new());
            }
            if loads || !KEPT.contains(&found.text.trim_matches(['.', '/'])) {
                self.folders.extend(parts(&found.text));
            }
        }
    }
}

impl Reaches {
    /// What a script in another language runs, as far as it says so; where it does not, it could be any file.
    fn calls(&mut self, calls: Calls) {
        self.places.extend(calls.loaded.iter().flat_map(|text| parts(text)));
        for said in calls.lines {
            let mut line = Self::default();
            match simple_commands(&said.line) {
                Ok(commands) => line.read(&commands),
                Err(_) if said.is_open => line.anything = Some(String::new()),
                Err(_) => line.only_words(&said.line),
            }
            let told = |_: String| said.place.clone();
            if said.is_open && !line.open.is_empty() {
                line.anything.get_or_insert_default();
            }
            let open = line.open.into_iter().filter(|_| !said.is_open);
            self.open.extend(open.map(|open| Open { command: told(open.command.clone()), ..open }));
            self.anything = self.anything.take().or(line.anything.map(told));
            self.places.extend(line.places);
            self.lists |= line.lists;
            self.passed.extend(line.passed);
            self.folders.extend(line.folders);
            self.patterns.extend(line.patterns);
            self.repositories.extend(line.repositories);
            self.given_to_python.extend(line.given_to_python);
            self.python_here |= line.python_here;
        }
        self.anything = calls.unknown.or(self.anything.take());
    }
}

/// Whether a line for a shell may run what only running it tells.
pub(super) fn may_run_anything(line: &str) -> bool {
    let mut found = Reaches::default();
    let Ok(commands) = simple_commands(line) else { return true };
    found.read(&commands);
    !found.open.is_empty() || found.anything.is_some()
}

/// Variables that are used for more than to write there: a script that keeps a log in a folder loads nothing from it.
fn variables_read(commands: &[SimpleCommand]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in commands {
        let program = command.program().unwrap_or_default();
        let args = command.args.iter().filter(|_| !WRITERS.contains(&program));
        let input = command.redirects.iter().filter(|it| !it.writes()).map(|it| &it.target);
        let words = args.chain(input).chain(&command.assignments).chain([&command.name]);
        found.extend(words.filter(|word| word.is_dynamic()).flat_map(|it| variables_in(it.text())));
    }
    found
}

pub(super) fn variables_in(word: &str) -> Vec<String> {
    let names = word.split('$').skip(1).map(|rest| rest.trim_start_matches('{'));
    let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    names.map(|rest| rest.chars().take_while(is_part).collect()).collect()
}

/// Programs look there without being told.
fn is_for_programs(variable: &str) -> bool {
    variable.contains("PATH")
        || matches!(
            variable,
            "BASH_ENV" | "CDPATH" | "ENV" | "PERL5LIB" | "RUBYLIB" | "RUBYOPT" | "NODE_OPTIONS"
        )
        || variable.starts_with("LD_")
        || variable.starts_with("PYTHON")
}

fn language(file: &Path, text: &str) -> Option<Language> {
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    let shebang = text.strip_prefix("#!").and_then(|text| text.lines().next());
    let by_shebang = shebang.map(|line| {
        let mut words = line.split_whitespace();
        match words.any(|word| word.rsplit('/').next().is_some_and(|it| it.ends_with("sh"))) {
            true => Language::Shell,
            false => Language::Other,
        }
    });
    by_shebang.or(match kind {
        "bash" | "ksh" | "sh" | "zsh" => Some(Language::Shell),
        _ if super::mentions::is_named_like_a_program(file) => Some(Language::Other),
        _ if super::mentions::is_text(kind) => None,
        _ => Some(Language::Unknown),
    })
}

/// The paths that a word may hold: what stands before a slash may be known only when it runs, as in `$HERE/../lib`.
pub(super) fn parts(word: &str) -> impl Iterator<Item = String> {
    // A name may have blanks in it.
    let whole = word.split(|c| "$\"'`(){}:=,\n".contains(c)).filter(|it| it.contains(' '));
    let pieces = word.split(|c| !is_part_of_a_path(c)).filter(|piece| !piece.is_empty());
    // `$(dirname "$PWD/lib/x")`
    let goes_up = word.contains("dirname") || word.contains("%/*}");
    pieces.chain(whole).flat_map(move |piece| {
        let behind = piece.split_once('/').map(|(_, behind)| behind);
        let folder = |it: &'_ str| it.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let above = [folder(piece), behind.and_then(folder)].into_iter().flatten();
        let above: Vec<String> = above.filter(|_| goes_up).collect();
        // `-Ilib`
        let glued = piece.strip_prefix('-').and_then(|it| it.get(1..));
        [Some(piece), behind, glued]
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .chain(above)
    })
}
