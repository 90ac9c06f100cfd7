//! The texts in a script, whatever its language: what stands between quotes.

use super::calls::{Calls, place};
use super::data::Use;
use super::loaders::{KEPT, runs_others};
use crate::contents::is_part_of_a_path;
use std::collections::{BTreeMap, BTreeSet};

const QUOTES: [char; 3] = ['"', '\'', '`'];
/// How far back what is done with a text is looked for.
const NEAR: usize = 24;
/// A text that others are held against names nothing that is loaded.
const COMPARES: [&str; 16] = [
    "==",
    "!=",
    "=~",
    "~",
    " in",
    " eq",
    "startswith(",
    "startsWith(",
    "endswith(",
    "endsWith(",
    "includes(",
    "indexOf(",
    "match(",
    "fnmatch(",
    "search(",
    "sub(",
];
/// Functions that list what is in a folder.
const LISTS: [&str; 12] = [
    "Path(",
    "glob(",
    "Glob(",
    "globSync(",
    "iglob(",
    "listdir(",
    "opendir(",
    "readdir(",
    "readdirSync(",
    "rglob(",
    "scandir(",
    "walk(",
];

/// What is named behind these is loaded.
const LOADS: [&str; 4] = ["from", "import", "import(", "require("];

/// By these a script goes to other folders, or looks for what it loads there.
const REACHES: [&str; 12] = [
    "@INC",
    "Dir.",
    "Dir[",
    "chdir",
    "createRequire",
    "cwd =",
    "cwd:",
    "cwd=",
    "require File",
    "require_relative",
    "sys.path",
    "use lib",
];
/// By these it runs a line, or a program.
const STARTS: [&str; 6] = ["child_process", "exec", "popen", "spawn", "subprocess", "system"];

/// Whether a script in whatever language may load from a folder that it speaks of: one that only looks at texts does not.
pub(super) fn goes_elsewhere(script: &str) -> bool {
    REACHES.iter().any(|way| script.contains(way))
}

/// Whether it gives lines to a shell.
pub(super) fn runs_lines(script: &str) -> bool {
    STARTS.iter().any(|way| script.contains(way))
}

/// What is given to these is run.
const RUNS: [&str; 12] = [
    "compile(",
    "do $",
    "eval(",
    "exec(",
    "execfile",
    "import_module",
    "load f",
    "loadfile",
    "runpy",
    "shell=True",
    "spec_from",
    "system(",
];
const INTERPRETERS: [&str; 7] = ["bash", "node", "perl", "python", "python3", "ruby", "sh"];

/// Whether a script may run files by names that it works out.
pub(super) fn runs_what_it_finds(script: &str, texts: &[Found]) -> bool {
    let computed = |call: &str| !call.trim_start().starts_with(QUOTES);
    let is_given = |found: &Found| {
        let program = found.text.split(' ').next().unwrap_or_default();
        INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program))
    };
    RUNS.iter().any(|way| script.contains(way))
        || ["require(", "import("].iter().any(|way| script.split(way).skip(1).any(computed))
        || texts.iter().any(is_given)
}

/// What a script lists, when it does not say which folder: `os.listdir(ROOT)`, `["find", "."]`.
pub(super) fn lists_somewhere(script: &str, texts: &[Found]) -> Option<String> {
    let computed = |way: &&&str| {
        let mut calls = script.split(**way).skip(1);
        **way != "Path(" && calls.any(|call| !call.trim_start().starts_with(QUOTES))
    };
    let by_itself = LISTS.iter().find(computed).copied();
    let by_program = texts.iter().map(|found| found.text.as_str());
    let by_program =
        by_program.clone().find(|text| ["find", "fd", "ls", "ls-files"].contains(text));
    let itself = if script.contains("iterdir(") { Some("iterdir(") } else { by_itself };
    let way = itself.or(by_program)?;
    let line = script.lines().position(|line| line.contains(way)).unwrap_or_default();
    Some(place(script, line.saturating_add(1)))
}

/// Words of a script of which it is known call by call what it loads, and that none of its calls is given: what it has in folders
/// of that name is not loaded. What it has in files that are called so may be read.
pub(super) fn folders_not_loaded(script: &str, calls: &Calls) -> BTreeMap<String, Use> {
    if calls.may_run_listed() || goes_elsewhere(script) {
        return BTreeMap::new();
    }
    const BRINGS: [&str; 4] = ["from", "import", "require", "export"];
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c| !is_part_of_a_path(c)).filter(|it| !it.is_empty())
    }
    let brings = |line: &&str| BRINGS.iter().any(|way| line.contains(way));
    // What a single program of the system is given, it only looks at, unless it is there to run it.
    let may_load = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']);
        line.contains([';', '|', '&', '$', '(', '`', '\n'])
            || first.contains('/')
            || runs_others(first)
    };
    let said = calls.lines.iter().map(|it| it.line.as_str()).filter(may_load);
    let used = script.lines().filter(brings).chain(said);
    let used = used.chain(calls.loaded.iter().map(String::as_str));
    let used: BTreeSet<&str> = used.flat_map(words).collect();
    let is_folder = |word: &&str| {
        let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        !name.is_empty() && !name.contains('.') && !used.contains(*word)
    };
    words(script).filter(is_folder).map(|word| (word.to_owned(), Use::Read)).collect()
}

/// Signs that a script writes files.
const WRITES: [&str; 13] = [
    "\"a\"",
    "\"w\"",
    "'a'",
    "'w'",
    "FileHandler",
    "appendFile",
    "basicConfig",
    "connect(",
    "createWriteStream",
    "dump(",
    "flags:",
    "writeFile",
    "write_text",
];

/// Whether a script writes files.
pub(super) fn keeps_files(script: &str) -> bool {
    WRITES.iter().any(|way| script.contains(way))
}

/// Whether it may run files by a text of its own.
pub(super) fn runs_files(script: &str) -> bool {
    RUNS.iter().any(|way| script.contains(way))
}

/// Whether it lists what is in some folder.
pub(super) fn lists_folders(script: &str) -> bool {
    script.contains("iterdir(") || LISTS.iter().any(|way| *way != "Path(" && script.contains(way))
}

/// Whether a file is called like one that somebody keeps: a list, a state, a database.
pub(super) fn is_kept_by_name(file: &str) -> bool {
    const ENDINGS: [&str; 10] =
        ["csv", "db", "jsonl", "lock", "log", "ndjson", "pid", "sqlite", "sqlite3", "tmp"];
    const WORDS: [&str; 6] = ["audit", "cache", "count", "history", "last", "state"];
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let in_folder = folder.split('/').any(|part| KEPT.contains(&part));
    let is_data = !["py", "js", "cjs", "mjs", "ts", "sh", "rb", "pl"].contains(&ending);
    !file.contains(' ')
        && is_data
        && (ENDINGS.contains(&ending) || in_folder || WORDS.iter().any(|word| name.contains(word)))
}

pub(super) struct Found {
    pub(super) text: String,
    pub(super) is_compared: bool,
    pub(super) is_listed: bool,
    pub(super) is_loaded: bool,
    /// The line it stands in.
    pub(super) at: usize,
    before: String,
}

impl Found {
    /// Whether it could be a line for a shell that loads something: to read each text as one would take long.
    pub(super) fn may_be_a_line(&self) -> bool {
        const SIGNS: [&str; 8] =
            ["cd ", "pushd ", "git ", "make ", "sh ", "python", "source ", "/"];
        self.text.starts_with(". ") || SIGNS.iter().any(|sign| self.text.contains(sign))
    }

    /// Whether it stands for all that is there: `walk(".")`, `rglob("x")`.
    pub(super) fn is_everything(&self) -> bool {
        let is_here = matches!(self.text.as_str(), "." | "./" | "") || self.text.starts_with("**");
        self.is_listed && (is_here || self.before.ends_with("rglob("))
    }
}

/// All of them, as far as a text ends in the line in which it begins.
pub(super) fn strings(script: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (number, line) in script.lines().enumerate() {
        let mut rest = line;
        while let Some(start) = rest.find(QUOTES) {
            let (before, from) = rest.split_at(start);
            let mut chars = from.char_indices();
            let Some((_, quote)) = chars.next() else { break };
            let mut escaped = false;
            let end = chars.find(|(_, c)| {
                let ends = *c == quote && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            // A quote alone: an apostrophe, or a text of several lines.
            let Some((end, _)) = end else {
                rest = from.get(1..).unwrap_or_default();
                continue;
            };
            let text = from.get(1..end).unwrap_or_default().to_owned();
            let near = before.floor_char_boundary(before.len().saturating_sub(NEAR));
            let before = before.get(near..).unwrap_or_default();
            let before = before.trim_end_matches(['r', 'f', 'b', 'u']).trim_end();
            let ends_in = |ends: &[&str]| ends.iter().any(|end| before.ends_with(end));
            let (is_compared, is_listed) = (ends_in(&COMPARES), ends_in(&LISTS));
            let is_loaded = ends_in(&LOADS);
            found.push(Found {
                text,
                is_compared,
                is_listed,
                is_loaded,
                at: number.saturating_add(1),
                before: before.to_owned(),
            });
            rest = from.get(end.saturating_add(1)..).unwrap_or_default();
        }
    }
    found
}
