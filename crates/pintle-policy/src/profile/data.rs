//! Which words of a shell script name files that it only looks at: what is in them is data, and no program of it.

use super::loaders::{CHECKERS, is_loader};
use super::open::Open;
use super::run_as_read::{runs_what_it_is_given, sets_what_it_reads};
use crate::contents::is_part_of_a_path;
use crate::shell::{SimpleCommand, Word};
use std::collections::BTreeMap;

/// Programs that read the files they are given and run nothing, whatever is in them.
pub(super) const READERS: &[&str] = &[
    "",
    "[",
    "[[",
    "awk",
    "basename",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "diff",
    "dirname",
    "du",
    "egrep",
    "fgrep",
    "file",
    "find",
    "gawk",
    "git",
    "grep",
    "head",
    "hexdump",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shellcheck",
    "sort",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "uniq",
    "wc",
];
/// The same of programs that look at a folder, whatever is in it.
const LINTERS: &[&str] = &[
    "black",
    "cloc",
    "codespell",
    "cp",
    "flake8",
    "gofmt",
    "isort",
    "pycodestyle",
    "pydocstyle",
    "pyflakes",
    "ruff",
    "rustfmt",
    "shfmt",
    "tar",
    "tokei",
    "tree",
    "yamllint",
    "zip",
];
/// Programs to which words are only words.
const TALKERS: &[&str] = &["echo", "logger", "printf"];
/// Options by which a reader takes a program from a file, or changes what it is given.
const NOT_ONLY_READ: &[&str] =
    &["-exec", "-execdir", "-f", "-i", "-L", "-ok", "--file", "--in-place"];

const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// What a script does with a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// It only says it.
    Said,
    /// It only writes to the file.
    Written,
    /// It only looks into the file.
    Read,
    /// Anything else.
    Other,
}

/// The words that a script only says or reads; none where it may run what it reads.
pub(super) fn only_data(commands: &[SimpleCommand]) -> BTreeMap<String, Use> {
    let mut found: BTreeMap<String, Use> = BTreeMap::new();
    if commands.iter().any(may_run_what_it_reads) {
        return found;
    }
    let mut note = |word: &Word, used: Use| {
        for word in words(&without_inner(word.text())) {
            let known = found.entry(word.to_owned()).or_insert(used);
            *known = (*known).max(used);
        }
    };
    for command in commands {
        let used = use_of(command);
        command.args.iter().for_each(|word| note(word, used));
        for redirect in command.redirects.iter().filter(|it| it.names_a_file()) {
            note(
                &redirect.target,
                match redirect.writes() {
                    true => Use::Written,
                    false if used == Use::Other => Use::Other,
                    false => Use::Read,
                },
            );
        }
        let others = command.assignments.iter().chain([&command.name]).chain(&command.documents);
        others.for_each(|word| note(word, Use::Other));
    }
    found.retain(|_, used| *used != Use::Other);
    found
}

/// What a command does with the words it is given.
pub(super) fn use_of(command: &SimpleCommand) -> Use {
    let Some(program) = command.program() else { return Use::Other };
    let takes = |word: &Word| NOT_ONLY_READ.contains(&word.text());
    // Patterns in a file are data to `grep`.
    let is_grep = program.ends_with("grep");
    match program {
        _ if TALKERS.contains(&program) => Use::Said,
        "mkdir" | "rm" | "tee" | "touch" | "truncate" => Use::Written,
        _ if checks(command) => Use::Read,
        _ if runs_what_it_is_given(command) => Use::Other,
        _ if READERS.contains(&program) && (is_grep || !command.args.iter().any(takes)) => {
            Use::Read
        }
        _ if LINTERS.contains(&program) => Use::Read,
        _ => Use::Other,
    }
}

/// The commands without those by which scripts are only looked at: `bash -n "$f"` does not run `$f`.
pub(super) fn without_checks(commands: Vec<SimpleCommand>) -> Vec<SimpleCommand> {
    let checks = |command: &SimpleCommand| {
        let mut words = command.name.text().split_whitespace();
        let shell = words.next().is_some_and(|it| SHELLS.contains(&it));
        command.name.is_dynamic() && shell && words.next() == Some("-n")
    };
    commands.into_iter().filter(|command| !checks(command)).collect()
}

/// `bash -n`, `python3 -m py_compile`: whether a script is well formed.
pub(super) fn checks(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    let texts: Vec<&str> = command.args.iter().map(Word::text).collect();
    match texts.as_slice() {
        ["-m", module, ..] if program.starts_with("python") => CHECKERS.contains(module),
        ["-n", ..] => SHELLS.contains(&program),
        ["--check" | "-c", ..] => program == "node",
        ["-l", ..] => program == "php",
        _ => false,
    }
}

/// `python3 -m py_compile src/a.py`: it loads nothing of what it is given.
pub(super) fn checks_with_python(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    program.starts_with("python") && !command.name.text().contains('/') && checks(command)
}

/// `eval "$x"`, `cat x | sh`, `. "$x"`: what was read may be run.
fn may_run_what_it_reads(command: &SimpleCommand) -> bool {
    if checks(command) {
        return false;
    }
    let is_operand = |word: &&Word| !word.text().starts_with('-') && !word.text().is_empty();
    let dynamic = command.args.iter().any(Word::is_dynamic);
    let takes_any =
        is_loader(command) && (dynamic || !command.args.iter().any(|it| is_operand(&it)));
    takes_any
        || command.program() == Some("eval")
        || Open::of(command).is_some()
        || sets_what_it_reads(command)
}

/// Without the commands in it: they are looked at by themselves.
fn without_inner(text: &str) -> String {
    let mut left = String::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '`' => quoted = !quoted,
            '(' if depth > 0 || matches!(before, '$' | '<' | '>') => {
                depth = depth.saturating_add(1)
            }
            ')' if depth > 0 => depth = depth.saturating_sub(1),
            _ if depth == 0 && !quoted => left.push(c),
            _ => {}
        }
        before = c;
    }
    left
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_part_of_a_path(c)).filter(|word| !word.is_empty())
}
