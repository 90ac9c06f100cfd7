//! Where a script calls git, as far as it says so.

use super::ANYWHERE;
use crate::profile::loaders::is_loader;
use crate::profile::reaches::parts;
use crate::shell::{SimpleCommand, Word, is_shell};
use std::collections::{BTreeMap, BTreeSet};

/// Programs that are git, or call it.
const CALLERS: [&str; 5] = ["gh", "git", "glab", "hub", "tig"];
/// Programs of `$(…)` that say a folder by their words alone.
const TELLERS: [&str; 6] = ["cd", "dirname", "git", "pwd", "readlink", "realpath"];
/// Folders that everybody knows.
const KNOWN: [&str; 7] =
    ["0", "BASH_SOURCE", "HOME", "OLDPWD", "PINTLE_PROFILE_DIR", "PWD", "TMPDIR"];
/// Variables by which git is told of a repository.
const TOLD_BY: [&str; 5] =
    ["GIT_COMMON_DIR", "GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR", "GIT_WORK_TREE"];
const MOST_STEPS: usize = 8;

/// The folders in which git may run, the empty one among them; none where it is not called.
pub(in crate::profile) fn called_in(commands: &[SimpleCommand]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let by_code = commands.iter().any(is_code_with_git);
    if !by_code && !commands.iter().any(is_git) {
        return found;
    }
    found.insert(String::new());
    let mut known = Folders { values: BTreeMap::new(), found };
    if by_code {
        known.found.insert(ANYWHERE.to_owned());
    }
    let set = |command: &SimpleCommand| {
        let words = command.assignments.iter().chain(&command.args);
        let pairs = words.filter_map(|word| word.text().split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    for (name, value) in commands.iter().flat_map(set) {
        known.values.entry(name).or_default().push(value);
    }
    for command in commands {
        for (_, value) in set(command).iter().filter(|it| TOLD_BY.contains(&it.0.as_str())) {
            known.add(value);
        }
        let texts: Vec<&str> = command.args.iter().map(Word::text).collect();
        match command.program().unwrap_or_default() {
            "cd" | "pushd" => command.args.iter().for_each(|word| known.word(word)),
            "find" if texts.iter().any(|it| it.ends_with("dir") && it.starts_with('-')) => {
                known.found.insert(ANYWHERE.to_owned());
            }
            _ if is_git(command) => {
                let options = texts.windows(2).filter(|pair| {
                    matches!(pair, ["-C" | "--git-dir" | "--work-tree" | "--super-prefix", _])
                });
                options.filter_map(|pair| pair.last()).for_each(|value| known.add(value));
                let glued = texts.iter().filter_map(|text| {
                    text.strip_prefix("--git-dir=").or_else(|| text.strip_prefix("--work-tree="))
                });
                glued.for_each(|value| known.add(value));
                let plain = texts.iter().filter(|text| !text.contains(['$', '`']));
                known.found.extend(plain.flat_map(|text| parts(text)));
            }
            // `env -C lib git status`
            "env" | "make" | "tar" => {
                let given = texts.windows(2).filter(|pair| matches!(pair, ["-C" | "--chdir", _]));
                given.filter_map(|pair| pair.last()).for_each(|value| known.add(value));
            }
            _ => {}
        }
    }
    known.found
}

fn is_git(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    CALLERS.contains(&program) || program.starts_with("git-")
}

/// `python3 -c 'run(["git", …])'`: code in another language.
fn is_code_with_git(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    let may_be = (is_loader(command) && !is_shell(program)) || program.ends_with("awk");
    let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let says_git = |word: &Word| {
        word.text().split(|c| !is_part(c)).any(|it| it.rsplit('/').next() == Some("git"))
    };
    may_be && command.args.iter().chain(&command.documents).any(says_git)
}

struct Folders {
    values: BTreeMap<String, Vec<String>>,
    found: BTreeSet<String>,
}

impl Folders {
    fn word(&mut self, word: &Word) {
        match word.is_dynamic() {
            true => self.add(word.text()),
            false => self.found.extend(parts(word.text())),
        }
    }

    /// The folders that a text means; any, if nobody can tell.
    fn add(&mut self, text: &str) {
        if !self.means(text, 0) {
            self.found.insert(ANYWHERE.to_owned());
        }
        self.found.extend(parts(text));
    }

    fn means(&mut self, text: &str, steps: usize) -> bool {
        let plain = text.replace(['"', '\''], "");
        if plain.contains(['*', '?', '`', '~']) || plain.contains("{}") || steps > MOST_STEPS {
            return false;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut pieces = plain.split('$');
        let before = pieces.next().unwrap_or_default();
        let is_first = before.is_empty() || before.ends_with('=');
        let mut is_known = is_first || !plain.contains('$');
        for piece in pieces {
            if let Some(command) = piece.strip_prefix('(') {
                let program = command.trim_start().split([' ', ')']).next().unwrap_or_default();
                is_known &= TELLERS.contains(&program);
                continue;
            }
            let name = piece.trim_start_matches('{');
            let end = name.find(|c| !is_name(c)).unwrap_or(name.len());
            let (name, tail) = name.split_at_checked(end).unwrap_or((name, ""));
            // `${x:-y}`
            is_known &=
                !tail.starts_with([':', '-', '+', '=', '#', '/']) || !piece.starts_with('{');
            let values = self.values.get(name).cloned().unwrap_or_default();
            let is_set = !values.is_empty();
            for value in values {
                is_known &= self.means(&value, steps.saturating_add(1));
                self.joined(&value, tail);
            }
            is_known &= is_set || KNOWN.contains(&name);
        }
        is_known
    }

    /// `D=lib; cd "$D/sub"`
    fn joined(&mut self, value: &str, tail: &str) {
        let tail = tail.trim_start_matches('}');
        let whole = format!("{value}{}", tail.split(['$', ' ', ')']).next().unwrap_or_default());
        self.found.extend(parts(value).chain(parts(&whole)));
    }
}
