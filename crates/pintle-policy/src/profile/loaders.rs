//! Which programs load files that nobody gives them, and which surely do not.

use crate::contents::is_of_the_system;
use crate::shell::{Loads, SimpleCommand, Word, is_wrapper, loads};
use std::path::Path;

/// Programs that load files of the folder they run in, or those they are given.
pub(super) const LOADERS: &[&str] = &[
    ".",
    "ash",
    "bash",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "csh",
    "dash",
    "deno",
    "fish",
    "go",
    "gradle",
    "gulp",
    "invoke",
    "jest",
    "julia",
    "just",
    "ksh",
    "lua",
    "make",
    "gmake",
    "mocha",
    "mvn",
    "node",
    "nodejs",
    "nox",
    "npm",
    "npx",
    "perl",
    "php",
    "pipenv",
    "pnpm",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "Rscript",
    "ruby",
    "run-parts",
    "sh",
    "source",
    "task",
    "tclsh",
    "tox",
    "tsx",
    "ts-node",
    "uv",
    "yarn",
    "zsh",
];
/// They set variables; what they set is looked at.
pub(super) const DECLARERS: &[&str] = &["declare", "env", "export", "local", "readonly", "typeset"];
/// What they are given at run time is no file that they run.
pub(super) const TALKERS: &[&str] = &[
    "[",
    "[[",
    "awk",
    "echo",
    "eval",
    "exit",
    "gawk",
    "getopts",
    "kill",
    "let",
    "mapfile",
    "mawk",
    "printf",
    "read",
    "readarray",
    "return",
    "sed",
    "set",
    "shift",
    "test",
    "trap",
    "ulimit",
    "unset",
];
/// Modules of Python that run any file they find.
pub(super) const FINDERS: &[&str] =
    &["coverage", "doctest", "invoke", "nose2", "nox", "pre_commit", "pytest", "tox", "unittest"];
/// Modules of Python that only look at the files they are given.
pub(super) const CHECKERS: &[&str] = &[
    "ast",
    "autopep8",
    "black",
    "compileall",
    "flake8",
    "isort",
    "json.tool",
    "py_compile",
    "pycodestyle",
    "pyflakes",
    "ruff",
    "tabnanny",
    "tokenize",
];
/// Programs that build or test a whole project, and so run any file of it: always, or by one of these words.
pub(super) const PROJECT_RUNNERS: &[(&str, &[&str])] = &[
    ("cargo", &["b", "bench", "build", "c", "check", "clippy", "doc", "r", "run", "t", "test"]),
    ("go", &["generate", "run", "test"]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("jest", &[]),
    ("mocha", &[]),
    ("mvn", &[]),
    ("nox", &[]),
    ("pre-commit", &[]),
    ("pytest", &[]),
    ("tox", &[]),
    ("vitest", &[]),
];
/// What folders are called in which scripts keep what they write. Only of a shell script it is known what it does with one.
pub(super) const KEPT: &[&str] =
    &["cache", "log", "logs", "out", "output", "state", "temp", "tmp", "var"];
/// They list what is in a folder.
pub(super) const LISTERS: &[&str] = &["", "fd", "fdfind", "find", "ls"];

/// Whether it loads files: one that it is given, or those that lie there.
pub(super) fn is_loader(command: &SimpleCommand) -> bool {
    let Some(name) = command.name.literal() else { return false };
    let program = command.program().unwrap_or_default();
    let is_own = name.contains('/') && !is_of_the_system(Path::new(name));
    let is_python = program.starts_with("python") || program.starts_with("pypy");
    let has_modules = program == "jq" && loads(command) == Loads::Anything;
    is_own || is_python || has_modules || LOADERS.contains(&program)
}

/// Whether a program runs what it is given: an interpreter, or one that starts another.
pub(super) fn runs_others(program: &str) -> bool {
    let is_python = program.starts_with("python") || program.starts_with("pypy");
    is_python || is_wrapper(program) || LOADERS.contains(&program)
}

pub(super) fn runs_the_project(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    let known = PROJECT_RUNNERS.iter().find(|(name, _)| *name == program);
    known.is_some_and(|(_, words)| {
        words.is_empty() || command.args.iter().any(|arg| words.contains(&arg.text()))
    })
}

/// Beside shells and Python.
const INTERPRETERS: &[&str] =
    &["bun", "deno", "lua", "node", "nodejs", "perl", "php", "Rscript", "ruby", "ts-node", "tsx"];

/// The script that an interpreter other than a shell is given: `node "$f"`. What a shell is given is a command of its own.
pub(super) fn interpreted(command: &SimpleCommand) -> Option<&Word> {
    let program = command.program().unwrap_or_default();
    let is_python = program.starts_with("python") || program.starts_with("pypy");
    if !is_python && !INTERPRETERS.contains(&program) {
        return None;
    }
    let mut args = command.args.iter();
    let mut first = args.next()?;
    while first.text().starts_with('-') || ["run", "tool"].contains(&first.text()) {
        let is_long = first.text().starts_with("--");
        if !is_long
            && first.text().ends_with(['c', 'e', 'E', 'm', 'n', 'p', 'r'])
            && first.text() != "run"
        {
            return None;
        }
        first = args.next()?;
    }
    Some(first)
}
