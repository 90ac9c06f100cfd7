//! Variables by which a script tells programs where to look for what they run: `PATH=$PWD/bin:$PATH`, `HOME=etc/home`.

use super::loaders::{DECLARERS, interpreted};
use super::reaches::{Reaches, parts};
use crate::shell::{SimpleCommand, Word, is_shell, is_steering_variable, steers_programs};
use std::collections::{BTreeMap, BTreeSet};

/// Beside those that steer any program: where single programs have their settings, modules and libraries.
const MORE: [&str; 14] = [
    "CARGO_HOME",
    "CURL_HOME",
    "NODE_PATH",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_USERCONFIG",
    "PERL5LIB",
    "PERLLIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "RUBYLIB",
    "SQLITE_HISTORY",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
];
/// Where the shell is, or which repository git takes: looked at elsewhere.
const NO_FOLDERS: [&str; 6] =
    ["CDPATH", "GIT_DIR", "GIT_TEMPLATE_DIR", "OLDPWD", "PWD", "SHELLOPTS"];
/// Programs that say a folder which nobody can write into a file of the profile.
const TELLERS: [&str; 15] = [
    "brew", "cd", "dirname", "gem", "git", "go", "mktemp", "nvm", "pwd", "pyenv", "python3",
    "rbenv", "readlink", "realpath", "ruby",
];
/// Of so many variables in one another the folder is looked for.
const MOST_STEPS: usize = 8;

type Values<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// What is set by a command: `NAME=value` before it, or given to `export` and the like.
fn set_by(command: &SimpleCommand) -> impl Iterator<Item = (&str, &str)> {
    let declares = command.program().is_some_and(|program| DECLARERS.contains(&program));
    let args = command.args.iter().filter(move |_| declares);
    let words = command.assignments.iter().chain(args).map(Word::text);
    let bare = words.map(|word| word.trim_start_matches(['"', '\'']));
    bare.filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.trim_end_matches('+'), value.trim_matches(['"', '\''])))
}

impl Reaches {
    /// The folders that programs are told of. One that nobody can tell may be the profile's own.
    pub(super) fn steered(&mut self, commands: &[SimpleCommand]) {
        let mut values = Values::new();
        for (name, value) in commands.iter().flat_map(set_by) {
            values.entry(name).or_default().push(value);
        }
        let mut goes = false;
        for command in commands {
            for (name, value) in set_by(command) {
                let steers = match name {
                    _ if NO_FOLDERS.contains(&name) => false,
                    _ if is_steering_variable(name) => steers_programs(&format!("{name}={value}")),
                    _ => MORE.contains(&name),
                };
                if !steers {
                    continue;
                }
                let mut told = Told { name, ..Told::default_of(&values) };
                told.value(value, 0);
                goes |= told.from_here;
                self.places.extend(told.places);
                if name == "PYTHONPATH" {
                    self.python_here |= told.is_open;
                } else if told.is_open {
                    self.anything.get_or_insert_with(|| command.summary());
                }
            }
        }
        // `cd src; PATH=bin:$PATH`
        let gone = commands.iter().filter(|it| matches!(it.program(), Some("cd" | "pushd")));
        let words = gone.filter(|_| goes).flat_map(|it| &it.args);
        self.places.extend(words.flat_map(|word| parts(word.text())));
    }
}

struct Told<'a> {
    /// The variable that is set.
    name: &'a str,
    values: &'a Values<'a>,
    places: BTreeSet<String>,
    /// Whether it hangs on the folder the shell is in.
    from_here: bool,
    /// Whether it may be the profile's own folder, or any.
    is_open: bool,
}

impl<'a> Told<'a> {
    fn default_of(values: &'a Values<'a>) -> Self {
        let places = BTreeSet::new();
        Self { name: "", values, places, from_here: false, is_open: false }
    }

    fn value(&mut self, value: &str, steps: usize) {
        for element in elements(value) {
            let plain = element.replace(['"', '\''], "");
            self.element(plain.trim(), steps);
        }
    }

    fn element(&mut self, element: &str, steps: usize) {
        let names_a_folder =
            |path: &str| path.split('/').any(|part| !matches!(part, "" | "." | ".."));
        if element.starts_with(['/', '~']) {
            self.places.extend(parts(element));
        } else if element.starts_with("$(") || element.starts_with('`') {
            let inner = element.trim_start_matches(['$', '(', '`']);
            let (inside, tail) = inner.rsplit_once([')', '`']).unwrap_or((inner, ""));
            let program = inner.split_whitespace().next().unwrap_or_default();
            self.is_open |= !TELLERS.contains(&program.trim_end_matches(')'));
            self.is_open |= !names_a_folder(tail) && (tail.contains("..") || !is_told(inside));
            self.places.extend(parts(element));
        } else if let Some(behind) = element.strip_prefix('$') {
            let behind = behind.trim_start_matches('{');
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_@*".contains(c);
            let end = behind.find(|c| !is_part(c)).unwrap_or(behind.len());
            let (name, tail) = behind.split_at_checked(end).unwrap_or((behind, ""));
            if name != self.name {
                self.variable(name, names_a_folder(tail.trim_start_matches('}')), steps);
                self.from_here |= matches!(name, "PWD" | "OLDPWD");
                self.places.extend(parts(tail));
            }
        } else if names_a_folder(element) {
            self.from_here = true;
            self.places.extend(parts(element));
        } else {
            self.is_open = true;
        }
    }

    fn variable(&mut self, name: &str, has_tail: bool, steps: usize) {
        let values = self.values.get(name).into_iter().flatten();
        match values.clone().next() {
            Some(_) if steps >= MOST_STEPS => self.is_open = true,
            Some(_) => {
                let mut inner = Told { name, ..Self::default_of(self.values) };
                values.for_each(|value| inner.value(value, steps.saturating_add(1)));
                self.places.extend(inner.places);
                self.from_here |= inner.from_here;
                self.is_open |= inner.is_open && !has_tail;
            }
            // What comes from the environment is the operator's.
            None => {
                let is_given = name.starts_with(|c: char| c.is_ascii_uppercase())
                    && !matches!(name, "PWD" | "OLDPWD" | "PINTLE_PROFILE_DIR");
                self.is_open |= !is_given && !has_tail;
            }
        }
    }
}

/// Whether a command says one folder that its words name, or the one of the script: `cd "$(dirname "$0")/../lib" && pwd`.
fn is_told(command: &str) -> bool {
    let words: Vec<&str> = command.split([' ', ')', '(', '$', '&', ';']).collect();
    let count = |name: &str| words.iter().filter(|word| **word == name).count();
    let goes_up = words.iter().any(|word| word.ends_with("..") || matches!(*word, "." | "./"));
    let names = ["cd", "readlink", "realpath"].iter().any(|name| count(name) > 0);
    let given = matches!(words.first(), Some(first) if TELLERS.contains(first))
        && !matches!(
            words.first(),
            Some(&("cd" | "dirname" | "pwd" | "git" | "readlink" | "realpath"))
        );
    given || (!goes_up && count("dirname") <= 1 && (names || count("dirname") == 1))
}

/// What stands between colons, but for those within braces or brackets: `${PATH:+:$PATH}` is one.
fn elements(value: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let split = |c: char| {
        match c {
            '{' | '(' => depth = depth.saturating_add(1),
            '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    };
    value.split(split).collect()
}

/// What a script is run by: `#!/srv/profile/.venv/bin/python3`, `#!/usr/bin/perl -Ilib`.
pub(super) fn shebang(text: &str) -> BTreeSet<String> {
    let line = text.strip_prefix("#!").and_then(|text| text.lines().next()).unwrap_or_default();
    line.split_whitespace().flat_map(parts).collect()
}

/// Scripts that are run or loaded by a path: `. ../out/rules`, `sh /srv/check.sh`.
pub(super) fn run_by_path(commands: &[SimpleCommand]) -> BTreeSet<String> {
    let loaded = |command: &SimpleCommand| match command.program() {
        Some("." | "source") => command.args.first().cloned(),
        Some(program) if is_shell(program) => {
            command.args.iter().find(|word| !word.text().starts_with(['-', '+'])).cloned()
        }
        _ => interpreted(command).cloned(),
    };
    let words = commands.iter().flat_map(|it| [Some(it.name.clone()), loaded(it)]).flatten();
    let paths = words.filter(|word| word.text().contains('/'));
    paths.flat_map(|word| parts(word.text()).collect::<Vec<_>>()).collect()
}
