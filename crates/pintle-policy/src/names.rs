//! Texts in a line that become the names of files later: what a variable is set to, what `xargs` is given to read.

mod code;
mod printers;
mod sed;
mod taken;
mod used;
mod worked;

use crate::cuts::left_of;
use crate::folders::Place;
use crate::shell::{Cut, Script, SimpleCommand, Word, is_variable_name, unescaped};
use crate::spoken::message;
use std::collections::HashSet;
use taken::{marks, separators, takes_names};
use used::Used;
use worked::{Cutting, Work, work};

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
    /// What a program prints becomes words, and it may be what was written to a file, or handed to it.
    are_read_back: bool,
    /// What `xargs` puts a name in place of.
    pub(crate) marks: Vec<String>,
    /// The words of one command are those of the next: `$_`.
    pub(crate) are_repeated: bool,
    /// Something prints the whole name of a folder.
    pub(crate) name_this_folder: bool,
    /// The places of the commands that take names from their input.
    takers: Vec<Place>,
    /// The pipes that begin with a text of the line.
    said_pipes: HashSet<Option<usize>>,
    /// The pipes that begin with the whole name of a folder.
    folder_pipes: HashSet<usize>,
    used: Used,
    /// The functions that the line has and calls.
    functions: HashSet<String>,
    /// The folder of the repository lies in the workspace.
    knows_the_top: bool,
    /// What is said about a change stays in the repository.
    keeps_messages: bool,
    /// How many commands print texts of the line.
    speakers: usize,
    /// Something runs beside the line and prints for it.
    runs_beside: bool,
}

impl Texts {
    pub(crate) fn of(
        script: &Script,
        commands: &[&SimpleCommand],
        places: &[Place],
        knows_the_top: bool,
    ) -> Self {
        let mut pairs = commands.iter().zip(places);
        // The words of a function are its `$1`, `$2`…
        let in_function = places.iter().any(|place| place.is_later);
        let mut texts = Self {
            are_read_back: pairs.any(|(command, place)| reads_back(command, place)),
            are_repeated: commands.iter().any(|command| repeats(command)),
            name_this_folder: commands
                .iter()
                .any(|command| names_this_folder(command) || command.program() == Some("dirs")),
            marks: commands.iter().flat_map(|command| marks(command)).collect(),
            are_names: commands.iter().any(|command| takes_names(command))
                || runs_written(commands),
            separators: vec![' ', '\t', '\n'],
            cuts: commands.iter().flat_map(|command| cuts(command)).collect(),
            values: Vec::new(),
            takers: Vec::new(),
            said_pipes: HashSet::new(),
            folder_pipes: HashSet::new(),
            used: Used::of(&script.steps, commands, places),
            functions: commands
                .iter()
                .filter_map(|command| command.program())
                .filter(|program| script.values.is_function(program))
                .map(str::to_owned)
                .collect(),
            knows_the_top,
            keeps_messages: commands.iter().any(|command| message(command).is_some()),
            speakers: commands.iter().filter(|command| !said(command).is_empty()).count(),
            runs_beside: commands.iter().any(|command| command.program() == Some("coproc")),
        };
        for (command, place) in commands.iter().zip(places) {
            let reads = matches!(command.program(), Some("read" | "mapfile" | "readarray"));
            let reads_words = reads_back(command, place)
                && place.pipe.is_some()
                && command.args.iter().all(|arg| arg.text().starts_with('-'))
                && texts.used.prints_names(place.at);
            let takes = takes_names(command) && (!reads || texts.used.reads_names(command));
            if takes || reads_words {
                texts.takers.push(Place { folders: Vec::new(), ..place.clone() });
            }
            if names_this_folder(command) || command.program() == Some("dirs") {
                texts.folder_pipes.extend(place.pipe);
            }
            if !said(command).is_empty() || !command.documents.is_empty() {
                texts.said_pipes.insert(place.pipe);
            }
        }
        for command in commands {
            texts.separators.extend(separators(command));
        }
        for command in commands {
            let mut values = texts.cut_words(&said(command));
            values.extend(texts.cut_words(&held(command)));
            if in_function {
                values.extend(texts.cut_words(&command.args.iter().collect::<Vec<_>>()));
            }
            values.extend(printed(command).map(|text| (text, false)));
            if texts.are_names || texts.are_read_back {
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
        let is_read = self.are_names || self.are_read_back && !place.makes_a_word;
        if is_read || place.makes_words {
            names.extend(self.cut_words(&said(command)));
            names.extend(self.cut_documents(command));
        }
        if is_read || place.makes_words || place.makes_a_word || is_held(command) {
            let texts = printed(command);
            names.extend(texts.flat_map(|text| match place.makes_a_word {
                true => vec![(text, false)],
                false => self.cut(&text).into_iter().map(|name| (name, false)).collect(),
            }));
        }
        names.extend(self.worked_out(command, place));
        if joins(command, &self.values) {
            names.push((Word::ANYWHERE.to_owned(), true));
        }
        let documents = command.documents.iter().filter(|_| place.makes_a_word);
        let whole = documents.filter(|word| !word.text().trim().contains('\n'));
        names.extend(whole.map(|word| (word.text().trim().to_owned(), word.is_dynamic())));
        names
    }

    /// Whether what the command prints comes to be the name of a file.
    pub(crate) fn become_names(&self, command: &SimpleCommand, place: &Place) -> bool {
        let in_words = place.makes_words || place.makes_a_word || place.is_later;
        // What stands behind a command does not print for it, unless it is in `<(…)`.
        let prints_for = |taker: &Place| {
            let is_apart = place.apart.is_some() && place.apart != taker.apart;
            let is_before = place.pipe.is_some() && place.at < taker.at;
            place.pipe == taker.pipe && (is_apart || is_before)
        };
        // Where a here-document is, the rest of its line is no part of the pipe to the grammar.
        let in_pipe = self.takers.iter().any(prints_for)
            || ((!command.documents.is_empty() || self.runs_beside) && !self.takers.is_empty());
        let is_kept = command.redirects.iter().any(|redirect| redirect.writes());
        in_pipe
            || (in_words && (place.is_later || self.used.prints_names(place.at)))
            || (is_kept && (self.are_names || self.are_read_back))
    }

    /// What the command makes of what it reads, if that comes to be the name of a file.
    fn worked_out(&self, command: &SimpleCommand, place: &Place) -> Vec<(String, bool)> {
        if !self.become_names(command, place) {
            return Vec::new();
        }
        let in_words = place.makes_words || place.makes_a_word || place.is_later;
        let anywhere = || vec![(Word::ANYWHERE.to_owned(), true)];
        let is_function = command.program().is_some_and(|it| self.functions.contains(it));
        match work(command) {
            // What is in a function is looked at by itself.
            _ if is_function || (self.knows_the_top && prints_the_top(command)) => Vec::new(),
            // What follows is printed behind it.
            _ if self.speakers > 1
                && ends_open(command)
                && self.values.iter().any(|it| is_joint(it)) =>
            {
                anywhere()
            }
            _ if self.keeps_messages && shows_messages(command) => anywhere(),
            Work::Keeps => Vec::new(),
            Work::Makes => anywhere(),
            Work::Cuts(_) if place.pipe.is_some_and(|it| self.folder_pipes.contains(&it)) => {
                anywhere()
            }
            Work::Cuts(_) if !in_words && !self.said_pipes.contains(&place.pipe) => Vec::new(),
            Work::Cuts(_) if in_words && self.said_pipes.is_empty() => Vec::new(),
            Work::Cuts(cuts) => {
                let left = self.left_of_all(&cuts);
                left.map_or_else(anywhere, |left| left.into_iter().map(|it| (it, false)).collect())
            }
        }
    }

    /// What these cuts leave of the texts that have a way in them; `None` when nobody can tell.
    fn left_of_all(&self, cuts: &[Cutting]) -> Option<Vec<String>> {
        let is_open = cuts.contains(&Cutting::Unknown);
        let is_way = |text: &&String| {
            let is_pattern =
                text.contains(['$', '*', '?']) || text.contains('[') && !text.contains('"');
            let has_dots = text.contains("..") || !is_open && text.matches('.').count() > 1;
            (text.contains(['/', '"', '\\']) || has_dots) && !is_pattern
        };
        let ways: Vec<&String> = self.values()?.iter().filter(is_way).collect();
        let mut found = Vec::new();
        for way in ways {
            let mut text = way.clone();
            for cut in cuts {
                text = cut.left_of(&text)?;
                found.push(text.clone());
            }
        }
        Some(found)
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

/// Whether the command prints, or has in its words, the whole name of a folder.
fn names_this_folder(command: &SimpleCommand) -> bool {
    let words = command.args.iter().chain(&command.assignments).chain([&command.name]);
    let names = |word: &Word| PRINTERS.iter().any(|printer| word.text().contains(printer));
    words.into_iter().any(names)
}

/// Whether it takes words of the command before it.
fn repeats(command: &SimpleCommand) -> bool {
    let words = command.args.iter().chain(&command.assignments).chain([&command.name]);
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    words.chain(targets).chain(&command.documents).any(|word| {
        let text = word.text();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let ends = |(at, _): (usize, &str)| {
            let after = text.get(at.saturating_add(2)..).unwrap_or_default();
            !after.starts_with(is_name)
        };
        text.match_indices("$_").any(ends)
            || ["${_", "BASH_COMMAND", "BASH_ARGV"].iter().any(|name| text.contains(name))
    })
}

/// `echo -n .`, `printf .`: no end of a line.
fn ends_open(command: &SimpleCommand) -> bool {
    let first = command.args.first().map_or("", Word::text);
    match command.program() {
        Some("echo") => {
            first.starts_with('-') || command.args.iter().any(|it| it.text().contains("\\c"))
        }
        Some("printf") => !first.trim_matches('"').ends_with("\\n"),
        _ => false,
    }
}

/// Whether the line runs a file that it writes: what is said in it is said to a shell.
fn runs_written(commands: &[&SimpleCommand]) -> bool {
    let bare = |text: &str| text.trim_matches('"').trim_start_matches("./").to_owned();
    let targets = commands.iter().flat_map(|command| {
        let redirects = command.redirects.iter().filter(|redirect| redirect.writes());
        let tee = command.args.iter().filter(|_| command.program() == Some("tee"));
        redirects.map(|redirect| &redirect.target).chain(tee).map(|word| bare(word.text()))
    });
    let targets: HashSet<String> = targets.collect();
    commands.iter().any(|command| {
        let is_shell = matches!(
            command.program(),
            Some("." | "ash" | "bash" | "dash" | "sh" | "source" | "zsh")
        );
        let files = command.args.iter().filter(|_| is_shell).chain([&command.name]);
        files.into_iter().any(|word| targets.contains(&bare(word.text())))
    })
}

/// `git rev-parse --show-toplevel`
fn prints_the_top(command: &SimpleCommand) -> bool {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let is_plain = command.program() == Some("git") && command.assignments.is_empty();
    is_plain && args == ["rev-parse", "--show-toplevel"]
}

/// Whether it prints what was said about changes.
fn shows_messages(command: &SimpleCommand) -> bool {
    const VERBS: &[&str] =
        &["cat-file", "for-each-ref", "log", "notes", "shortlog", "show", "stash", "tag"];
    let is_verb = |arg: &Word| VERBS.contains(&arg.text());
    command.program() == Some("git") && command.args.iter().any(is_verb)
}

/// Whether a variable will hold what the command prints.
fn is_held(command: &SimpleCommand) -> bool {
    let is_option = |arg: &Word| arg.text().starts_with("-v");
    command.program() == Some("printf") && command.args.iter().any(is_option)
}

/// What `printf` and `echo -e` make of their words, as far as these are known: each `%s` filled in, each escape resolved.
fn printed(command: &SimpleCommand) -> impl Iterator<Item = String> {
    let words: Vec<&str> = command.args.iter().map(Word::text).collect();
    let words = match words.as_slice() {
        ["-v", _, rest @ ..] | ["--", rest @ ..] => rest,
        [option, rest @ ..] if option.starts_with('-') => rest,
        all => all,
    };
    let text = match (command.program(), words) {
        (Some("printf"), [format, values @ ..]) => Some(filled(format, values)),
        (Some("echo"), words) => Some(words.join(" ")),
        _ => None,
    };
    let text = text.map(|text| unescaped(&text).unwrap_or(text));
    text.map(|text| text.trim().to_owned()).into_iter()
}

/// The format with its directives replaced by the values, again and again as long as there are any.
fn filled(format: &str, values: &[&str]) -> String {
    let mut values = values.iter();
    let mut text = String::new();
    loop {
        let left = values.len();
        let mut parts = format.split('%');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let rest = part.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
            text.push_str(values.next().copied().unwrap_or_default());
            text.push_str(rest.get(1..).unwrap_or_default());
        }
        if values.len() == 0 || values.len() == left {
            return text;
        }
    }
}

/// Whether this text may be an end of `..`, or the start of a path, when another one is put beside it.
pub(crate) fn is_joint(text: &str) -> bool {
    let text = text.trim_matches(['(', ')', '"', '\'']);
    let is_dots = |part: &str| matches!(part, "." | "..");
    text.starts_with('/') || text.split('/').any(is_dots)
}

/// Whether the command makes one text of several: `x+=…`, or `"$*"` with nothing or a slash between.
fn joins(command: &SimpleCommand, values: &[String]) -> bool {
    let sets = || command.assignments.iter().chain(&command.args).map(Word::text);
    let adds = |text: &str| {
        let added = text.split_once("+=").filter(|(name, _)| is_variable_name(name));
        added.is_some_and(|(_, value)| is_joint(value.trim_matches(['"', '\''])))
    };
    let separates = |text: &str| {
        text.strip_prefix("IFS=").is_some_and(|between| {
            let between = between.trim_matches(['"', '\'', '$']);
            between.is_empty() && values.iter().any(|value| is_joint(value))
                || between.contains(['/', '.'])
        })
    };
    // `IFS= read` joins nothing.
    let reads = matches!(command.program(), Some("read" | "mapfile" | "readarray"));
    sets().any(adds) || (!reads && sets().any(separates))
}

/// Whether the command, of which the output becomes words, may print what stands in a file or comes in from outside it.
fn reads_back(command: &SimpleCommand, place: &Place) -> bool {
    const OTHERS: &[&str] = &[
        "basename", "cd", "date", "dirname", "echo", "expr", "find", "git", "hostname", "id", "ls",
        "mktemp", "nproc", "printf", "pwd", "seq", "uname", "which", "whoami",
    ];
    let is_given = !command.documents.is_empty();
    let is_other = command.program().is_some_and(|program| OTHERS.contains(&program));
    (place.makes_words || place.makes_a_word) && !is_given && !is_other
}

/// Texts that the command prints, or reads.
fn said(command: &SimpleCommand) -> Vec<&Word> {
    let prints = matches!(command.program(), Some("echo" | "printf" | "print"));
    let strings = command.redirects.iter().filter(|r| r.operator == "<<<").map(|r| &r.target);
    command.args.iter().filter(|_| prints).chain(strings).collect()
}
