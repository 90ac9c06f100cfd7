//! What a shell command would run, found by parsing it rather than by looking for words in it.
//!
//! `tree-sitter-bash` is small, keeps its state on the heap (ten thousand levels are fine) and never panics, where
//! `brush-parser` and `yash-syntax` overflow the stack. It is lenient, though: here and there it reads
//! a substitution as plain text. So nothing it says is taken on faith: every byte must be accounted for, every word is
//! decoded a second time by our own reader, every `$(` and backquote must be a substitution in the tree, and a
//! here-document must end where a shell would end it. Where the two disagree, the command is one that cannot be
//! parsed. Its C scanner never sees a character outside ASCII (see `tree.rs`).

mod ascii_source;
mod brackets;
mod check;
mod heredoc;
mod options;
mod redirects;
mod reserved;
mod terminal_guard;
mod tokens;
mod tree;
mod unwrap;
mod word;
mod wrappers;

pub(crate) use options::{is_one_word, may_be_long};
pub use terminal_guard::{Objection, objection};
pub use tokens::{Token, tokens};

use thiserror::Error;

/// The longest command that is read; longer ones are refused, so that judging stays cheap.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// The most commands that are read in one, for the same reason.
pub const MAX_STEPS: u32 = 2_000;
/// How often a command may hide inside another (`sh -c "sh -c …"`, `env nice …`) before it is refused.
pub const MAX_LEVELS: usize = 16;

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

/// Why a command could not be read. A guard treats each of them as a refusal.
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

/// One thing after the other, as written.
pub(crate) enum Step {
    Command(SimpleCommand),
    /// A text that is a script of its own.
    Script(String),
}

/// Everything found in one command.
#[derive(Default)]
pub(crate) struct Script {
    /// In the order written, each followed by what its arguments make it run.
    pub(crate) commands: Vec<SimpleCommand>,
    /// A function starts itself in a pipe or in the background.
    pub(crate) multiplies: bool,
}

/// Every simple command that `command` would run, in the order written.
///
/// Looks inside pipelines, lists, groups, functions, substitutions of every kind, here-documents, `sh -c` strings, `eval` and `trap`,
/// and behind the usual wrappers (`env`, `sudo`, `nohup`, `nice`, `time`, `timeout`, `xargs`, `find -exec`, `command`, `exec`); the
/// program in front is listed too. What a shell will run but cannot be known beforehand is a command with a [dynamic](Word::Dynamic)
/// name. Variables are not followed, and what other programs do with their arguments is not known here.
///
/// # Errors
/// When the command is too long, too deep, or cannot be parsed: treat it as forbidden.
pub fn simple_commands(command: &str) -> Result<Vec<SimpleCommand>, ShellError> {
    read(command).map(|script| script.commands)
}

/// The same for a program that is started without a shell.
///
/// # Errors
/// As before.
pub fn commands_of_words(words: &[String]) -> Result<Vec<SimpleCommand>, ShellError> {
    let mut words = words.iter().cloned().map(Word::Literal);
    let Some(name) = words.next() else { return Ok(Vec::new()) };
    let command = SimpleCommand::new(name, words.collect());
    list(Step::Command(command)).map(|script| script.commands)
}

pub(crate) fn read(command: &str) -> Result<Script, ShellError> {
    list(Step::Script(command.to_owned()))
}

/// Depth first by an explicit stack, so that the input's nesting never becomes ours.
fn list(first: Step) -> Result<Script, ShellError> {
    let mut script = Script::default();
    let mut pending = vec![(first, 0_usize)];
    let mut total = 0_usize;
    while let Some((step, level)) = pending.pop() {
        if script.commands.len().saturating_add(pending.len()) > MAX_STEPS as usize {
            return Err(ShellError::TooMany(MAX_STEPS, "commands"));
        }
        if level > MAX_LEVELS {
            return Err(ShellError::TooDeep);
        }
        let found = match step {
            Step::Command(command) => {
                let found = unwrap::inside(&command);
                script.commands.push(command);
                found
            }
            Step::Script(text) => {
                total = total.saturating_add(text.len());
                if total > MAX_COMMAND_BYTES.saturating_mul(2) || text.len() > MAX_COMMAND_BYTES {
                    return Err(ShellError::TooLong(total));
                }
                let found = tree::walk(&text)?;
                script.multiplies |= found.multiplies;
                found.steps
            }
        };
        let level = level.saturating_add(1);
        pending.extend(found.into_iter().rev().map(|step| (step, level)));
    }
    Ok(script)
}

/// Whether the text can be a variable's name.
#[must_use]
pub fn is_variable_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
