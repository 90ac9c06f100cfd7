//! Whether a line does what must never be done once its variables hold what it sets them to, in the folder it has gone to:
//! `x=/; rm -rf "$x"`, `cd / && rm -rf *`, `echo / | xargs rm -rf`.

use crate::Reach;
use crate::cuts::left_of;
use crate::folders::{HOME, Place};
use crate::movers::is_mover;
use crate::names::Texts;
use crate::paths::normal;
use crate::shell::{Redirect, Script, SimpleCommand, Word, hopeless};
use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// More texts than anybody means by one word.
const MOST: usize = 64;
/// So that judging stays cheap.
const MOST_LOOKUPS: usize = 2000;
/// A variable in a variable in a variable…
const DEEPEST: usize = 4;

/// What the commands of a line are looked at with.
pub(super) struct Never<'a> {
    pub(super) script: &'a Script,
    pub(super) commands: &'a [&'a SimpleCommand],
    /// Where each runs; nothing when only running the line would tell.
    pub(super) places: Option<(&'a [Place], &'a Texts)>,
    pub(super) reach: &'a Reach,
}

impl Never<'_> {
    /// Why it must never run.
    pub(super) fn reason(&self) -> Option<String> {
        let printed = self.printed();
        let left = Cell::new(MOST_LOOKUPS);
        let elsewhere = match self.places {
            Some(_) => Vec::new(),
            None => self.named_by_movers(&left),
        };
        self.commands.iter().enumerate().find_map(|(at, command)| {
            let place = self.places.and_then(|(places, _)| places.get(at));
            let folders = place.map_or(elsewhere.as_slice(), |place| place.folders.as_slice());
            let pipe = place.and_then(|place| place.pipe);
            let put = Put { never: self, printed: printed.before(pipe), folders, left: &left };
            put.commands(command).iter().find_map(hopeless)
        })
    }

    fn printed(&self) -> Printed {
        let mut found = Printed::default();
        let Some((places, texts)) = self.places else { return found };
        for (command, place) in self.commands.iter().zip(places) {
            let becomes_words = place.makes_a_word || place.makes_words || place.is_later;
            let list = match place.pipe {
                _ if becomes_words || takes_a_text(command) => &mut found.by_all,
                Some(pipe) => found.by_pipe.entry(pipe).or_default(),
                None => continue,
            };
            let names = texts.names(command, place).into_iter().map(|(name, _)| name);
            let more: Vec<String> = names.chain(starts(command)).collect();
            list.extend(more.into_iter().take(MOST));
        }
        let lists = found.by_pipe.values_mut().chain([&mut found.by_all]);
        for list in lists {
            list.sort();
            list.dedup();
            list.truncate(MOST);
        }
        found
    }

    /// The folders that the line names to go to, in whatever order.
    fn named_by_movers(&self, left: &Cell<usize>) -> Vec<PathBuf> {
        let put = Put { never: self, printed: Vec::new(), folders: &[], left };
        let movers = self.commands.iter().filter(|command| is_mover(command));
        let texts = movers.flat_map(|mover| &mover.args).flat_map(|word| put.texts(word, 0));
        texts.filter_map(|text| from_root(&text)).map(PathBuf::from).collect()
    }
}

/// What the commands of a line print for others to read.
#[derive(Default)]
struct Printed {
    /// What becomes words, or a variable.
    by_all: Vec<String>,
    /// What is printed in a pipe.
    by_pipe: HashMap<usize, Vec<String>>,
}

impl Printed {
    /// What this command may read.
    fn before(&self, pipe: Option<usize>) -> Vec<&str> {
        let in_pipe = pipe.and_then(|pipe| self.by_pipe.get(&pipe)).into_iter().flatten();
        self.by_all.iter().chain(in_pipe).map(String::as_str).collect()
    }
}

/// Where `find` starts: what it prints begins with that.
fn starts(command: &SimpleCommand) -> Vec<String> {
    let words = command.args.iter().map(Word::text);
    let starts = words.take_while(|text| !text.starts_with('-')).map(str::to_owned);
    starts.filter(|_| command.program() == Some("find")).collect()
}

/// `read x <<< text`, `xargs rm <<< text`
fn takes_a_text(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("read" | "mapfile" | "readarray" | "xargs"))
}

/// The path, if the text is one from the root or from the home folder on.
fn from_root(text: &str) -> Option<String> {
    let of_home = |home: &&str| {
        let rest = text.strip_prefix(*home)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{HOME}{rest}"))
    };
    let home = ["~", "$HOME"].iter().find_map(of_home);
    home.or_else(|| text.starts_with('/').then(|| text.to_owned()))
}

/// Puts into a command what the line says about it.
struct Put<'a> {
    never: &'a Never<'a>,
    printed: Vec<&'a str>,
    folders: &'a [PathBuf],
    /// How many variables may still be looked up.
    left: &'a Cell<usize>,
}

impl Put<'_> {
    /// The command with each text that its words may be.
    fn commands(&self, command: &SimpleCommand) -> Vec<SimpleCommand> {
        let mut args: Vec<String> = Vec::new();
        for word in &command.args {
            let mut texts = self.places(self.texts(word, 0));
            // A list of signals is no list of processes.
            if command.program() == Some("kill") {
                texts.truncate(1);
            }
            args.extend(texts);
        }
        if command.program() == Some("find") && starts(command).is_empty() {
            args.splice(..0, self.places(vec![".".to_owned()]));
        }
        let redirect = |redirect: &Redirect| {
            let texts = self.places(self.texts(&redirect.target, 0)).into_iter();
            let operator = redirect.operator.clone();
            let with =
                move |text| Redirect { operator: operator.clone(), target: Word::Literal(text) };
            texts.map(with).collect::<Vec<_>>()
        };
        let redirects: Vec<Redirect> = command.redirects.iter().flat_map(redirect).collect();
        let names = match &command.name {
            Word::Literal(name) => vec![name.clone()],
            Word::Dynamic(_) => self.whole(&command.name, 0),
        };
        let with = |name: String| {
            let mut words = name.split_whitespace().map(str::to_owned).chain(args.iter().cloned());
            let name = Word::Literal(words.next().unwrap_or_default());
            let args = words.map(Word::Literal).collect();
            SimpleCommand { redirects: redirects.clone(), ..SimpleCommand::new(name, args) }
        };
        names.into_iter().map(with).collect()
    }

    /// The texts as they are, and those that name something from where the command runs also as they are from the root on.
    /// What is in the workspace is left as it is.
    fn places(&self, texts: Vec<String>) -> Vec<String> {
        let mut found = Vec::new();
        for text in texts {
            let known = found.len();
            for folder in self.folders {
                let joined = folder.join(&text);
                let whole = normal(&joined.to_string_lossy());
                let is_plain = !text.starts_with(['/', '-', '~']) && !text.contains('$');
                let is_root = self.never.reach.workspace().is_ok_and(|it| it == Path::new("/"));
                if is_plain && (is_root || !self.never.reach.is_inside(Path::new(&whole))) {
                    found.push(match whole.strip_prefix(HOME) {
                        Some(rest) => format!("~{rest}"),
                        None => whole,
                    });
                }
            }
            if found.len() == known {
                found.push(text);
            }
        }
        found
    }

    /// What a word may be, cut at blanks as a shell does with a variable.
    fn texts(&self, word: &Word, depth: usize) -> Vec<String> {
        let Word::Dynamic(_) = word else { return word.readings() };
        let whole = self.whole(word, depth);
        let pieces = whole.iter().flat_map(|text| text.split_whitespace());
        pieces.map(str::to_owned).take(MOST).collect()
    }

    fn whole(&self, word: &Word, depth: usize) -> Vec<String> {
        let marks = self.never.places.map(|(_, texts)| texts.marks.as_slice()).unwrap_or_default();
        let marks: Vec<&str> = marks.iter().map(String::as_str).chain(["{}"]).collect();
        let cuts = word.cuts();
        let mut found = Vec::new();
        for mut text in word.readings() {
            // A mark in a word that has a variable may be a letter of its name.
            let is_open = text.contains('$');
            for mark in marks.iter().filter(|mark| **mark == "{}" || !is_open) {
                text = text.replace(mark, "$()");
            }
            for text in self.filled(&text, depth) {
                let left = left_of(&text, &cuts);
                found.extend(std::iter::once(text).chain(left));
            }
        }
        found.truncate(MOST);
        found
    }

    /// The text with each variable in it replaced by each of the texts that the line sets it to.
    fn filled(&self, text: &str, depth: usize) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            let (name, behind) = variable(after);
            let values = self.values(name, depth);
            let as_written = [format!("${name}")];
            let values = if values.is_empty() { as_written.as_slice() } else { &values };
            found = found
                .iter()
                .flat_map(|start| values.iter().map(move |value| format!("{start}{before}{value}")))
                .take(MOST)
                .collect();
            rest = behind;
        }
        found.iter_mut().for_each(|start| start.push_str(rest));
        found
    }

    fn values(&self, name: &str, depth: usize) -> Vec<String> {
        let Some(left) = self.left.get().checked_sub(1) else { return Vec::new() };
        self.left.set(left);
        let of_words = name.starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*');
        let set = self.never.script.values.of(if of_words { "@" } else { name });
        match set.filter(|_| name != "()" && depth < DEEPEST) {
            Some(set) => {
                let texts = |word: &Word| self.texts(word, depth.saturating_add(1));
                set.into_iter().flat_map(texts).take(MOST).collect()
            }
            None => self.printed.iter().map(|text| (*text).to_owned()).collect(),
        }
    }
}

/// The name that stands behind a `$`, `()` for a substitution, and what follows it.
fn variable(after: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = match after.chars().next() {
        Some('(') => 2,
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            after.find(|c| !is_name(c)).unwrap_or(after.len())
        }
        Some(c) => c.len_utf8(),
        None => 0,
    };
    after.split_at_checked(end).unwrap_or((after, ""))
}
