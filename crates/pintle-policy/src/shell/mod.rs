//! What a shell command would run, found by parsing it rather than by looking for words in it.
//!
//! Three grammars were compared on the evasion table (R11.1); `docs/shell-grammar.md` has the outcome, `bench/parsers`
//! repeats it. `tree-sitter-bash` was taken: it is small, keeps its state on the heap (ten thousand levels are fine), and
//! never panics, where `brush-parser` and `yash-syntax` overflow the stack. It is lenient, though: here and there it reads
//! a substitution as plain text. So nothing it says is taken on faith: every byte must be accounted for, every word is
//! decoded a second time by our own reader, every `$(` and backquote must be a substitution in the tree, and a
//! here-document must end where a shell would end it. Where the two disagree, the command counts as one that cannot be
//! parsed. Its C scanner never sees a character outside ASCII (see `tree.rs`).

mod alone;
mod awk;
mod brackets;
mod check;
mod destructive;
mod escapes;
mod git;
mod given;
mod held;
mod heredoc;
mod known;
mod later;
mod loads;
mod loops;
mod numbers;
mod options;
mod pieces;
mod redirects;
mod reserved;
mod runners;
mod said;
mod scripts;
mod stand_in;
mod steps;
mod subcommands;
mod told;
mod tree;
mod unwrap;
mod values;
mod verbs;
mod word;
mod wrappers;

pub(crate) use destructive::destroys;
pub use destructive::destructive;

pub(crate) use alone::{
    Use, gives_to_a_shell, may_be_told, runs_only_its_words, speaks_of_running, use_of_words,
};
pub(crate) use destructive::hopeless;
pub(crate) use held::Line;
pub(crate) use loads::is_wrapper;
pub(crate) use numbers::Values;
pub(crate) use options::{is_one_word, may_be_long};
pub(crate) use pieces::OPEN;

pub(crate) use scripts::{does, is_read as runs_by_a_script, runs_by_script};
pub(crate) use steps::{Scope, Step};
pub(crate) use subcommands::has_subcommands;
pub(crate) use told::{Telling, told};
pub(crate) use values::Cut;
pub(crate) use wrappers::is_shell;

use thiserror::Error;

/// The longest command that is read; longer ones are refused, so that judging stays cheap.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// The most commands and groups of commands that are read in one, for the same reason.
pub const MAX_STEPS: u32 = 2_000;
/// How often what is known of variables may turn out to be too much before none is.
const MAX_ROUNDS: usize = 4;
/// How often a command may hide inside another (`sh -c "sh -c …"`) before it is refused.
pub const MAX_LEVELS: usize = 8;

/// One word of a command as the program would receive it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Known before it runs: quotes and escapes are resolved.
    Literal(String),
    /// Decided at run time (a variable, a substitution, a file pattern): the text as it was written.
    Dynamic(String),
}

impl Word {
    /// The text, if it is known before the command runs.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }

    /// The text to show to a person: what is known, or what was written.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Dynamic(text) => text,
        }
    }

    /// Whether the text is decided at run time.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Self::Dynamic(_))
    }
}

/// Where a command's input or output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The operator as written, without a leading file descriptor: `>`, `>>`, `<`, `&>`, `<<<`…
    pub operator: String,
    /// The file, or the text of a here-string.
    pub target: Word,
}

impl Redirect {
    /// Whether the target is a file that would be written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.operator.contains('>') && !self.is_duplicate()
    }

    /// Whether the target names a file at all (not `2>&1`, not a here-string).
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        self.operator != "<<<" && !self.is_duplicate()
    }

    fn is_duplicate(&self) -> bool {
        let digits =
            |t: &str| t == "-" || t.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
        (self.operator == ">&" || self.operator == "<&")
            && self.target.literal().is_some_and(digits)
    }
}

/// One program with its arguments, wherever in the command it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The variables set in front of it, as `NAME=value`.
    pub assignments: Vec<Word>,
    /// The program. An empty literal when there is none (a bare assignment or redirection). A dynamic name means
    /// that what would run cannot be known beforehand.
    pub name: Word,
    /// Its arguments.
    pub args: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The texts of its here-documents, as written; dynamic when something in them may be decided at run time.
    pub documents: Vec<Word>,
}

impl SimpleCommand {
    pub(crate) fn new(name: Word, args: Vec<Word>) -> Self {
        Self { assignments: Vec::new(), name, args, redirects: Vec::new(), documents: Vec::new() }
    }

    /// A stand-in for something that will run but cannot be known beforehand.
    pub(crate) fn undecidable(written: impl Into<String>) -> Self {
        Self::new(Word::Dynamic(written.into()), Vec::new())
    }

    /// The program's name without its folder, when it is known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.name.literal().map(|name| name.rsplit('/').next().unwrap_or(name))
    }

    /// Whether it does no more than keep what substitutions print (`n=$(git log | wc -l)`): those are listed by themselves, and
    /// say all that is to be said about it.
    ///
    /// ```
    /// # use pintle_policy::shell::simple_commands;
    /// let keeps = |line| simple_commands(line).unwrap()[0].only_keeps_what_is_printed();
    /// assert!(keeps("n=$(git log | wc -l)") && keeps("n=\"$(date)\""));
    /// assert!(!keeps("n=1") && !keeps("n=$x") && !keeps("n=a$(date)") && !keeps("n=$(date) ls"));
    /// ```
    #[must_use]
    pub fn only_keeps_what_is_printed(&self) -> bool {
        let keeps = |word: &Word| {
            let value = word.text().split_once('=').map(|(_, value)| value).unwrap_or_default();
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            word.is_dynamic() && values::is_one_substitution(quoted.unwrap_or(value))
        };
        let is_bare = self.name.text().is_empty() && self.args.is_empty();
        is_bare && !self.assignments.is_empty() && self.assignments.iter().all(keeps)
    }

    /// The command in one line, for messages.
    #[must_use]
    pub fn summary(&self) -> String {
        let words = self.assignments.iter().chain([&self.name]).chain(&self.args);
        let line: Vec<&str> = words.map(Word::text).filter(|t| !t.is_empty()).collect();
        let mut line = line.join(" ");
        // `{ …; } > file` has nothing else to be called by.
        if line.is_empty() {
            let redirects = self.redirects.iter();
            let written: Vec<_> =
                redirects.map(|it| format!("{} {}", it.operator, it.target.text())).collect();
            line = written.join(" ");
        }
        if line.chars().count() > 80 {
            line = line.chars().take(79).chain(['…']).collect();
        }
        line
    }
}

/// Why a command could not be read. Whoever judges must treat each of them as a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ShellError {
    /// Longer than [`MAX_COMMAND_BYTES`].
    #[error(
        "the command is {0} bytes long; at most {MAX_COMMAND_BYTES} are read: put it in a script file"
    )]
    TooLong(usize),
    /// More than [`MAX_LEVELS`] scripts inside scripts, or a syntax tree of absurd depth.
    #[error("the command is nested too deeply: write it flatter, or put it in a script file")]
    TooDeep,
    /// More of something than anybody writes: so many of what.
    #[error("the command has more than {0} {1}, too long to judge: put it in a script file")]
    TooMany(u32, &'static str),
    /// Not a shell command we can read with certainty.
    #[error(
        "the command cannot be parsed with certainty near `{near}` ({why}): write it more plainly"
    )]
    Unparsable {
        /// The text around the trouble.
        near: String,
        /// What did not fit.
        why: &'static str,
    },
}

/// Everything found in one command.
pub(crate) struct Script {
    /// In the order written, scripts inside it in their places: no step is a [`Step::Script`].
    pub(crate) steps: Vec<Step>,
    /// A function that starts itself in a pipe or in the background.
    pub(crate) multiplies: bool,
    pub(crate) values: Values,
    /// Some command gets what another prints.
    pub(crate) pipes: bool,
}

impl Script {
    /// The texts that the line holds.
    pub(crate) fn held(&self) -> Line<'_> {
        Line::new(&self.values, self.commands())
    }

    /// Why nobody knows what such a command of it runs.
    pub(crate) fn undecided(&self, command: &SimpleCommand) -> String {
        let shown = command.summary();
        match self.values.no_number() {
            Some((_, name)) if shown.starts_with("$((") => {
                let value = name.map_or("a value".into(), |name| format!("the value of `{name}`"));
                format!(
                    "in `{shown}` {value} may be no number, and a shell runs what stands in an index of it: \
                     calculate with `expr`, or take the value from `wc -l < file` or `seq`"
                )
            }
            _ if shown.split(' ').next().is_some_and(scripts::is_read) => format!(
                "a script can run programs, and only running it tells the one in `{shown}`: \
                 set its variables to plain texts in the same line, or write them out"
            ),
            _ => format!("what `{shown}` runs is decided at run time"),
        }
    }

    /// Whether one of these words may become something that the line does not hold: a file pattern finds what is there by then.
    pub(crate) fn any_is_open<'c>(&self, words: impl Iterator<Item = &'c Word>) -> bool {
        let line = held::Line::new(&self.values, std::iter::empty());
        let is_open = |text: &String| text.contains(pieces::OPEN);
        let mut words = words.filter(|word| word.is_dynamic());
        words.any(|word| line.texts(word).is_none_or(|texts| texts.iter().any(is_open)))
    }

    /// For each command, the word of it that may turn out to be an option by which its program runs another.
    pub(crate) fn open_to_options(&self) -> Vec<Option<&Word>> {
        let line = held::Line::new(&self.values, self.commands());
        self.commands().map(|command| given::open_to_options(command, &line)).collect()
    }

    pub(crate) fn commands(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.steps.iter().filter_map(Step::command)
    }
}

/// Every simple command that `command` would run, in the order written.
///
/// Looks inside pipelines, lists, groups, functions, substitutions of every kind, here-documents, `sh -c` strings,
/// `eval`, `trap`, and programs that run other programs (`env`, `xargs`, `find -exec`, `sudo`, `timeout`…); the
/// program in front is listed too. Anything that will run but cannot be known is a command with a
/// [dynamic](Word::Dynamic) name.
///
/// What a program runs in its own language is not seen: `python -c`, `perl -e` and `node -e`, a Makefile, a file that `sed -f`,
/// `awk -f`, an editor or a database reads. Whoever allows such a program allows whatever it can do. Listed as what cannot be known are
/// only: a script of `sed` or `awk` in the line that runs something, or may with what the line puts into it; a text in the line with
/// which `ed`, `vi`, `sqlite3` or `make` leaves for a shell (`vi -c '!ls'`, `.shell`, `make -f -`, `--eval`); and a variable's value
/// that is taken for a number.
///
/// # Errors
/// When the command is too long, too deep, or cannot be parsed: treat it as forbidden.
pub fn simple_commands(command: &str) -> Result<Vec<SimpleCommand>, ShellError> {
    read(command).map(|script| script.commands().cloned().collect())
}

/// The same for a program that is started without a shell.
pub(crate) fn commands_of_words(words: &[String]) -> Result<Vec<SimpleCommand>, ShellError> {
    let mut words = words.iter().cloned().map(Word::Literal);
    let Some(name) = words.next() else { return Ok(Vec::new()) };
    let command = SimpleCommand::new(name, words.collect());
    read_all(Step::Command(command), &[]).map(|script| script.commands().cloned().collect())
}

pub(crate) fn read(command: &str) -> Result<Script, ShellError> {
    let whole = || Step::Script(command.to_owned());
    let script = read_all(whole(), &[])?;
    let mut known = known::candidates(command, &script);
    for _ in 0..MAX_ROUNDS {
        if known.is_empty() {
            break;
        }
        let filled = read_all(whole(), &known)?;
        // `x=read; v=a; $x v`: what is known may show that something else is not.
        let still = known::candidates(command, &filled);
        let before = known.len();
        known.retain(|name| still.binary_search(name).is_ok());
        if known.len() == before {
            return Ok(filled);
        }
    }
    Ok(script)
}

/// Depth first by an explicit stack, so that the input's nesting never becomes ours.
fn list_all(first: Step, known: &[String]) -> Result<Script, ShellError> {
    let mut script =
        Script { steps: Vec::new(), multiplies: false, values: Values::default(), pipes: false };
    let mut pending = vec![(first, 0_usize)];
    let mut total = 0_usize;
    while let Some((step, level)) = pending.pop() {
        if script.steps.len().saturating_add(pending.len()) > MAX_STEPS as usize {
            return Err(ShellError::TooMany(MAX_STEPS, "commands and groups"));
        }
        let (found, level) = match step {
            Step::Command(command) => (unwrap::expand(command, &mut script.steps)?, level),
            Step::Script(text) => {
                total = total.saturating_add(text.len());
                if total > MAX_COMMAND_BYTES.saturating_mul(2) || text.len() > MAX_COMMAND_BYTES {
                    return Err(ShellError::TooLong(total));
                }
                if level > MAX_LEVELS {
                    return Err(ShellError::TooDeep);
                }
                let mut found = tree::walk(&text)?;
                if level == 0 && !known.is_empty() {
                    known::fill(&mut found.steps, known, !text.contains("IFS"));
                }
                script.values.append(found.values);
                script.multiplies |= found.multiplies;
                script.pipes |= found.pipes;
                (found.steps, level.saturating_add(1))
            }
            other => {
                script.steps.push(other);
                continue;
            }
        };
        pending.extend(found.into_iter().rev().map(|step| (step, level)));
    }
    Ok(script)
}

/// The commands of a text, without those that only the values in it tell of.
fn listed(text: &str) -> Result<Vec<SimpleCommand>, ShellError> {
    list_all(Step::Script(text.to_owned()), &[]).map(|script| script.commands().cloned().collect())
}

fn read_all(first: Step, known: &[String]) -> Result<Script, ShellError> {
    let mut script = list_all(first, known)?;
    let Script { steps, values, .. } = &mut script;
    let commands = || steps.iter().filter_map(Step::command);
    commands().for_each(|command| values.of_command(command));
    let scripts = commands().filter(|command| scripts::runs_by_values(command, values));
    let mut scripts: Vec<String> = scripts.map(SimpleCommand::summary).collect();
    let line = held::Line::new(values, commands());
    let told = commands().filter(|command| given::runs_by_options(command, &line));
    scripts.extend(told.map(SimpleCommand::summary));
    let is_open = commands().any(|command| command.name.is_dynamic());
    let number = values.no_number().map(|(text, _)| format!("$(({text}))"));
    let program = || values.names().find(|name| later::holds_a_program(name)).map(str::to_owned);
    let exported = || commands().any(unwrap::exports_all).then(program).flatten();
    if let Some(text) = number.or_else(exported).filter(|_| !is_open) {
        steps.push(Step::Command(SimpleCommand::undecidable(text)));
    }
    let unknown = scripts.into_iter().map(SimpleCommand::undecidable);
    steps.extend(unknown.map(Step::Command));
    Ok(script)
}

/// The text with its escapes (`\\n`, `\\x2f`, `\\057`, `\\0057`) made into what `printf` and `echo` print; `None` without any.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    text.contains('\\').then(|| ansi_c(&of_echo(text)))?
}

/// What `$'…'` with this text in it is.
fn ansi_c(text: &str) -> Option<String> {
    let quoted = || format!("$'{}'", text.replace('\'', "\\'"));
    let word = text.contains('\\').then(|| word::decode(&quoted()).ok())??;
    word.literal().map(str::to_owned)
}

/// To `echo` and `printf %b` there may be three digits behind a zero. A zero alone ends a word, as the end of a line does.
fn of_echo(text: &str) -> String {
    let is_octal = |c: &char| ('0'..='7').contains(c);
    let mut found = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        found.push(c);
        if c != '\\' {
            continue;
        }
        let rest = chars.as_str();
        let digits = rest.chars().skip(1).take(3).take_while(is_octal).count();
        match (rest.starts_with('0'), digits) {
            (true, 3) => drop(chars.next()),
            (true, 0) => {
                chars.next();
                found.push('n');
            }
            _ => found.extend(chars.next()),
        }
    }
    found
}

/// Whether the text can be a variable's name.
pub(crate) fn is_variable_name(text: &str) -> bool {
    unwrap::is_name(text)
}
