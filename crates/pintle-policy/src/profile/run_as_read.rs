//! Which programs run what they read: a file that is given to one, or comes to it by a pipe, is no data.

use super::data::{READERS, checks};
use super::loaders::{LISTERS, TALKERS, is_loader};
use super::looked_at::pattern;
use super::open::Open;
use super::reaches::{Reaches, parts, variables_in};
use crate::shell::{
    Loads, SimpleCommand, Word, is_shell, loads, pipelines, runs_by_a_script, runs_by_script,
    simple_commands,
};
use std::collections::BTreeSet;

/// They run commands that stand in what they read; the files they are given otherwise are their data.
const TAKE_COMMANDS: &[&str] = &[
    "at",
    "batch",
    "crontab",
    "dc",
    "duckdb",
    "ed",
    "expect",
    "gdb",
    "gnuplot",
    "lldb",
    "m4",
    "mariadb",
    "mysql",
    "octave",
    "osascript",
    "psql",
    "R",
    "sqlite",
    "sqlite3",
];
/// The same of every file they are given.
const EDITORS: &[&str] = &["emacs", "ex", "nvim", "vi", "view", "vim"];
/// Before a file with commands.
const BEFORE_COMMANDS: &[&str] = &["-f", "-init", "--file", "--init-file", "-x"];
/// Interpreters that take their program from a word of the line.
const TAKE_A_PROGRAM: &[&str] =
    &["bun", "deno", "lua", "node", "nodejs", "perl", "php", "python", "ruby"];
/// What a program says by which it runs what it reads.
const RUNS: &[&str] = &[
    "eval",
    "exec",
    "system",
    "popen",
    "subprocess",
    "spawn",
    "compile",
    "import(",
    "__import__",
    "importlib",
    "runpy",
    "require",
    "pickle",
    "marshal",
    "yaml",
    "Function",
    "vm.",
    "qx",
    "`",
    "getattr",
    "load(",
    "loadstring",
    "do $",
    "s///e",
    "open(",
];
/// Further programs that run nothing of what they read.
const PLAIN: &[&str] = &[
    "bat",
    "black",
    "bzip2",
    "codespell",
    "flake8",
    "gpg",
    "isort",
    "less",
    "more",
    "nc",
    "openssl",
    "pandoc",
    "ruff",
    "shfmt",
    "ssh",
    "tar",
    "xmllint",
    "yamllint",
    "yq",
    "zip",
    "zstd",
];

/// What a program does with what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Input {
    Read,
    Unknown,
    Run,
}

/// Whether the program in a word of the line may run what it reads: `perl -ne 'system($_)'`.
fn runs_by_its_program(command: &SimpleCommand) -> Option<bool> {
    let program = command.program().unwrap_or_default();
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_inline = |word: &&Word| {
        let letters = word.text().strip_prefix('-').filter(|it| !it.starts_with('-'));
        letters.is_some_and(|it| it.contains(['c', 'e', 'E', 'n', 'p', 'r']))
            || ["--eval", "--print", "eval"].contains(&word.text())
    };
    if !TAKE_A_PROGRAM.contains(&name) || !command.args.iter().any(|it| is_inline(&it)) {
        return None;
    }
    let says = |word: &Word| {
        let text = word.text().replace("json.load(", "").replace("tomllib.load(", "");
        // `s/.*/…/ee`
        let replaces = text.split('/').next_back().is_some_and(|it| it.contains("ee"));
        RUNS.iter().any(|it| text.contains(it)) || (name == "perl" && replaces)
    };
    Some(command.args.iter().any(says))
}

fn input_of(command: &SimpleCommand) -> Input {
    let Some(program) = command.program() else { return Input::Read };
    let runs_script = runs_by_script(program, &command.args);
    let takes_script = runs_by_a_script(program) && script_files(command).next().is_some();
    let is_plain = READERS.contains(&program)
        || PLAIN.contains(&program)
        || TALKERS.contains(&program)
        || (loads(command) == Loads::Nothing && !is_shell(program))
        || checks(command);
    match runs_by_its_program(command) {
        Some(true) => Input::Run,
        Some(false) => Input::Read,
        None if runs_script || takes_script => Input::Run,
        None if TAKE_COMMANDS.contains(&program) || EDITORS.contains(&program) => Input::Run,
        // What they take from a pipe is looked at where they are, as scripts of the profile or as a shell's.
        None if is_plain || is_loader(command) || is_shell(program) => Input::Read,
        None => Input::Unknown,
    }
}

/// `awk -f FILE`
fn script_files(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let behind = command.args.windows(2).filter_map(|pair| match pair {
        [option, file] if BEFORE_COMMANDS.contains(&option.text()) => Some(file),
        _ => None,
    });
    let glued = |word: &&Word| {
        let text = word.text();
        text.starts_with("--file=") || (text.starts_with("-f") && text.len() > 2)
    };
    behind.chain(command.args.iter().filter(glued))
}

/// Whether it is a script that may run what is in the files it is given.
pub(super) fn runs_what_it_is_given(command: &SimpleCommand) -> bool {
    command.program().is_some_and(|program| runs_by_script(program, &command.args))
}

/// The words that name what a command may run, beside those of loaders.
pub(super) fn given_to_run(command: &SimpleCommand) -> Vec<&Word> {
    let program = command.program().unwrap_or_default();
    let inputs = || {
        let inputs = command.redirects.iter().filter(|it| !it.writes() && it.names_a_file());
        inputs.map(|it| &it.target)
    };
    let is_operand = |word: &&Word| !word.text().starts_with('-');
    let has_operand = command.args.iter().any(|it| is_operand(&it));
    if runs_what_it_is_given(command)
        || EDITORS.contains(&program)
        || runs_by_its_program(command) == Some(true)
    {
        return command.args.iter().chain(inputs()).collect();
    }
    if TAKE_COMMANDS.contains(&program) {
        let told = command.args.iter().filter(|word| word.text().contains(".read"));
        return script_files(command).chain(told).chain(inputs()).collect();
    }
    if runs_by_a_script(program) {
        return script_files(command).collect();
    }
    let is_bare = is_loader(command) && !has_operand;
    inputs().filter(|_| is_bare).collect()
}

/// Where a script runs words that it has read (`while read -r c; do $c; done < f`): all that it reads.
pub(super) fn read_and_run(commands: &[SimpleCommand]) -> Vec<&Word> {
    let mut read: BTreeSet<&str> = BTreeSet::new();
    for command in commands {
        if matches!(command.program(), Some("read" | "mapfile" | "readarray")) {
            read.extend(command.args.iter().map(Word::text).filter(|it| !it.starts_with('-')));
        }
        let set = command.assignments.iter().chain(&command.args).map(Word::text);
        let set = set.filter_map(|it| it.split_once('='));
        read.extend(set.filter(|it| it.1.contains("$(") || it.1.contains('`')).map(|it| it.0));
    }
    let holds = |word: &Word| variables_in(word.text()).iter().any(|it| read.contains(it.as_str()));
    let runs = |command: &SimpleCommand| {
        let is_one = command.program() == Some("eval") || Open::of(command).is_some();
        is_one && (holds(&command.name) || command.args.iter().any(holds))
    };
    if !commands.iter().any(runs) && !commands.iter().any(sets_what_it_reads) {
        return Vec::new();
    }
    read_by(commands)
}

/// The words that may name what is read.
fn read_by(commands: &[SimpleCommand]) -> Vec<&Word> {
    let mut found = Vec::new();
    for command in commands {
        let program = command.program().unwrap_or_default();
        let inputs = command.redirects.iter().filter(|it| !it.writes() && it.names_a_file());
        found.extend(inputs.map(|it| &it.target));
        if READERS.contains(&program) && !["", "[", "[[", "test"].contains(&program) {
            found.extend(&command.args);
        }
    }
    found
}

/// `n=$(cat state/n); echo $((n + 1)) > state/n`: a sum with what may be no number, and the words that name what is read.
pub(super) fn calculated(commands: &[SimpleCommand]) -> Option<(&str, Vec<&Word>)> {
    let is_sum = |text: &&str| text.starts_with("$((");
    let sum = commands.iter().filter(|it| it.name.is_dynamic()).map(|it| it.name.text());
    let takes_digits = |command: &SimpleCommand| {
        let is_it = |word: &Word| matches!(word.text(), "-dc" | "-cd");
        command.program() == Some("tr") && command.args.iter().any(is_it)
    };
    let sum = sum.filter(|_| !commands.iter().any(takes_digits)).find(is_sum)?;
    Some((sum, read_by(commands)))
}

/// What a script calculates with, if that is a file's text and may be no number: a shell runs what stands in an index there.
pub(super) fn calculated_with(commands: &[SimpleCommand]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if calculated(commands).is_none() {
        return found;
    }
    for command in commands {
        let inputs = command.redirects.iter().filter(|it| !it.writes() && it.names_a_file());
        found.extend(inputs.flat_map(|it| parts(it.target.text())));
        if matches!(command.program(), Some("cat" | "head" | "tail")) {
            found.extend(command.args.iter().flat_map(|it| parts(it.text())));
        }
    }
    found
}

/// `export $(cat .env)`, `export "$k=$v"`: what was read names variables, and some of these say what programs run.
pub(super) fn sets_what_it_reads(command: &SimpleCommand) -> bool {
    let is_open = |word: &Word| {
        let text = word.text().trim_start_matches('"');
        let name = text.split(['=', '+']).next().unwrap_or_default();
        word.is_dynamic() && name.contains(['$', '`'])
    };
    match command.program() {
        Some("declare" | "export" | "local" | "readonly" | "typeset") => {
            command.args.iter().any(is_open)
        }
        Some("printf") => {
            let named = command.args.windows(2);
            named.into_iter().any(|it| matches!(it, [o, name] if o.text() == "-v" && is_open(name)))
        }
        _ => false,
    }
}

impl Reaches {
    /// `cat src/*.sql | sqlite3 x.db`: what is found by a pattern and given to one who may run it.
    pub(super) fn piped(&mut self, text: &str) {
        for pipeline in pipelines(text) {
            let read = |text: &str| simple_commands(text).unwrap_or_default();
            for (at, part) in pipeline.iter().enumerate().skip(1).filter(|it| it.1.is_command) {
                let sinks = read(&part.text);
                let Some(sink) = sinks.iter().max_by_key(|it| input_of(it)) else { continue };
                let before = pipeline.iter().take(at).flat_map(|part| read(&part.text));
                let sources: Vec<SimpleCommand> = before.collect();
                match input_of(sink) {
                    Input::Read => {}
                    Input::Unknown => drop(self.gives(&sources, false)),
                    Input::Run => {
                        if self.gives(&sources, true) {
                            let words = sources.iter().flat_map(|it| &it.args);
                            let words = words.flat_map(|it| parts(it.text())).collect();
                            self.open.push(Open { command: sink.summary(), words });
                        }
                    }
                }
            }
        }
    }

    /// What these read is run, or may be. Whether some of it is not known.
    fn gives(&mut self, sources: &[SimpleCommand], surely: bool) -> bool {
        let mut is_open = false;
        for command in sources {
            let program = command.program().unwrap_or_default();
            let lists = ["fd", "fdfind", "find"].contains(&program);
            if TALKERS.contains(&program) && !runs_by_a_script(program) {
                continue;
            }
            for word in &command.args {
                let text = word.text();
                let is_pattern = word.is_dynamic() && text.contains(['*', '?', '[']);
                let found = pattern(text).filter(|_| is_pattern && !text.contains('$'));
                match found {
                    Some(found) => drop(self.patterns.insert(found)),
                    None if is_pattern || lists => self.places.extend(parts(text)),
                    None if surely => {
                        is_open |= word.is_dynamic() && !LISTERS.contains(&program);
                        self.run.extend(parts(text));
                        self.loaded.extend(parts(text));
                    }
                    None => {}
                }
            }
        }
        is_open
    }
}
