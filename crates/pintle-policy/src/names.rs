//! Texts in a line that become the names of files later: what a variable is set to, what `xargs` is given to read.

use crate::cuts::left_of;
use crate::folders::Place;
use crate::shell::{Cut, SimpleCommand, Word, is_variable_name, unescaped};

/// Programs, variables and options that say where something is from the root on.
const PRINTERS: &[&str] =
    &["PWD", "pwd", "readlink", "realpath", "rev-parse", "which", "command -v", "mktemp", "locate"];

/// Each is tried in the place of each variable.
const MOST_VALUES: usize = 64;

/// What a line does with the texts in it.
pub(crate) struct Texts {
    /// Some command takes names from its input.
    are_names: bool,
    /// What the texts are cut at.
    separators: Vec<char>,
    /// What is cut off variables.
    cuts: Vec<Cut>,
    /// What a variable may hold.
    values: Vec<String>,
}

impl Texts {
    pub(crate) fn of(commands: &[&SimpleCommand]) -> Self {
        let mut texts = Self {
            are_names: commands.iter().any(|command| takes_names(command)),
            separators: vec![' ', '\t', '\n'],
            cuts: commands.iter().flat_map(|command| cuts(command)).collect(),
            values: Vec::new(),
        };
        for command in commands {
            texts.separators.extend(separators(command));
        }
        for command in commands {
            let mut values = texts.cut_words(&said(command));
            values.extend(texts.cut_words(&held(command)));
            if texts.are_names {
                values.extend(texts.cut_documents(command));
            }
            texts.values.extend(values.into_iter().map(|(value, _)| value));
        }
        texts.values.sort();
        texts.values.dedup();
        texts
    }

    /// The names in a command's texts that another one may use.
    pub(crate) fn names(&self, command: &SimpleCommand, place: &Place) -> Vec<(String, bool)> {
        let mut names = self.cut_words(&held(command));
        if self.are_names || place.makes_words {
            names.extend(self.cut_words(&said(command)));
            names.extend(self.cut_documents(command));
        }
        let documents = command.documents.iter().filter(|_| place.makes_a_word);
        let whole = documents.filter(|word| !word.text().trim().contains('\n'));
        names.extend(whole.map(|word| (word.text().trim().to_owned(), word.is_dynamic())));
        names
    }

    fn cut_words(&self, words: &[&Word]) -> Vec<(String, bool)> {
        let readings = words
            .iter()
            .flat_map(|word| word.readings().into_iter().map(|text| (text, word.is_dynamic())));
        let mut names: Vec<(String, bool)> = readings
            .flat_map(|(text, dynamic)| {
                self.cut(&text).into_iter().map(move |name| (name, dynamic))
            })
            .collect();
        let left: Vec<String> =
            names.iter().flat_map(|(name, _)| left_of(name, &self.cuts)).collect();
        names.extend(left.into_iter().map(|name| (name, true)));
        // A program may print the whole name of a folder.
        let prints = |word: &&Word| {
            word.is_dynamic() && PRINTERS.iter().any(|printer| word.text().contains(printer))
        };
        if !self.cuts.is_empty() && words.iter().any(prints) {
            names.push((Word::ANYWHERE.to_owned(), true));
        }
        names
    }

    fn cut_documents(&self, command: &SimpleCommand) -> Vec<(String, bool)> {
        let documents = command.documents.iter();
        documents
            .flat_map(|word| {
                self.cut(word.text()).into_iter().map(|name| (name, word.is_dynamic()))
            })
            .collect()
    }

    /// What a variable in this line may hold, if it is a text of the line; `None` when that is too much to look through.
    pub(crate) fn values(&self) -> Option<&[String]> {
        (self.values.len() <= MOST_VALUES).then_some(&self.values)
    }

    /// The text in pieces: at blanks and whatever else separates here, with and without its quotes and escapes.
    fn cut(&self, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for text in [Some(text.to_owned()), unescaped(text)].into_iter().flatten() {
            let pieces =
                text.split(|c| self.separators.contains(&c)).filter(|piece| !piece.is_empty());
            for piece in pieces {
                let bare = piece.replace(['"', '\'', '\\'], "");
                let value = piece.split_once('=').map(|(_, value)| value.to_owned());
                found.extend([piece.to_owned(), bare].into_iter().chain(value));
            }
        }
        found.dedup();
        found
    }
}

/// Texts that a variable, or the shell's own list of words, will hold.
fn held(command: &SimpleCommand) -> Vec<&Word> {
    let sets = match command.program() {
        Some("" | "declare" | "export" | "local" | "readonly" | "set" | "typeset") => {
            command.args.as_slice()
        }
        Some("env") => {
            let is_set = |arg: &&Word| {
                arg.text().split_once('=').is_some_and(|(name, _)| is_variable_name(name))
            };
            return command.assignments.iter().chain(command.args.iter().filter(is_set)).collect();
        }
        // What follows the script is `$0`, `$1`…
        Some("ash" | "bash" | "dash" | "rbash" | "sh") => {
            let is_string = |arg: &Word| arg.text().starts_with('-') && arg.text().contains('c');
            let at = command.args.iter().position(is_string).map(|at| at.saturating_add(2));
            at.and_then(|at| command.args.get(at..)).unwrap_or_default()
        }
        _ => &[],
    };
    command.assignments.iter().chain(sets).collect()
}

/// What is cut off variables in the command's words.
fn cuts(command: &SimpleCommand) -> Vec<Cut> {
    let targets = command.redirects.iter().map(|r| &r.target);
    let words = command.args.iter().chain(&command.assignments).chain(targets);
    let words = words.chain([&command.name]).chain(&command.documents);
    words.flat_map(Word::cuts).collect()
}

/// Texts that the command prints, or reads.
fn said(command: &SimpleCommand) -> Vec<&Word> {
    let prints = matches!(command.program(), Some("echo" | "printf" | "print"));
    let strings = command.redirects.iter().filter(|r| r.operator == "<<<").map(|r| &r.target);
    command.args.iter().filter(|_| prints).chain(strings).collect()
}

/// Whether the command takes names of files from its input.
fn takes_names(command: &SimpleCommand) -> bool {
    let is = |arg: &Word| {
        let text = arg.text();
        let long = ["--files-from", "--files0-from", "--pathspec-from-file", "--from-file"];
        long.iter().any(|option| text.starts_with(option)) || matches!(text, "-@" | "-T-" | "-i-")
    };
    let lists = |pair: &[Word]| {
        matches!(pair, [option, from]
            if option.text().starts_with('-') && option.text().ends_with(['T', 'i', 'K', 'L'])
                && matches!(from.text(), "-" | "/dev/stdin"))
    };
    match command.program() {
        Some("xargs" | "read" | "mapfile" | "readarray" | "cpio" | "pax" | "select") => true,
        _ => command.args.iter().any(is) || command.args.windows(2).any(lists),
    }
}

/// What the command cuts texts at: `IFS=:`, `xargs -d,`.
fn separators(command: &SimpleCommand) -> Vec<char> {
    let values = command.assignments.iter().map(Word::text);
    let fields = values.filter_map(|text| text.strip_prefix("IFS=")).flat_map(str::chars);
    let cuts = matches!(command.program(), Some("xargs" | "read" | "mapfile" | "readarray"));
    let given = command.args.windows(2).filter(|_| cuts).filter_map(|pair| match pair {
        [option, value] if matches!(option.text(), "-d" | "--delimiter") => Some(value.text()),
        _ => None,
    });
    let glued = command.args.iter().filter(|_| cuts).filter_map(|arg| {
        let text = arg.text();
        text.strip_prefix("-d").or_else(|| text.strip_prefix("--delimiter="))
    });
    let is_plain = |c: &char| !matches!(c, '/' | '.' | '\'' | '"' | '\\' | '$');
    fields.chain(given.chain(glued).flat_map(str::chars)).filter(is_plain).collect()
}
