//! Which texts of a line are more than spoken of: what a substitution prints, or a variable holds, may be a file where it is used.

use super::taken::takes_names;
use super::{held, is_held, reads_back};
use crate::folders::Place;
use crate::shell::{Scope, SimpleCommand, Step, Word, is_one_word, is_variable_name};
use crate::spoken::message;
use std::collections::HashSet;

/// Stands for `$1`, `$@` and their like.
const WORDS: &str = "@";

/// What is used in a line where it may name a file.
pub(super) struct Used {
    variables: HashSet<String>,
    /// For each command, whether what it prints becomes such a word.
    prints: Vec<bool>,
}

impl Used {
    pub(super) fn of(steps: &[Step], commands: &[&SimpleCommand], places: &[Place]) -> Self {
        let takers: Vec<&Place> = commands
            .iter()
            .zip(places)
            .filter(|(command, place)| takes_names(command) || reads_back(command, place))
            .map(|(_, place)| place)
            .collect();
        let variables = variables(commands, places, &takers);
        let is_taken = |taker: &usize| {
            let Some(command) = commands.get(*taker) else { return true };
            let is_kept = kept(command).iter().any(|name| match *name {
                Some(name) => variables.contains(name),
                None => !variables.is_empty(),
            });
            // What is written to a file may be read again.
            let writes = !takers.is_empty() && writes(command);
            uses(command, &["$(", "`"]) || is_kept || writes
        };
        let prints = taken_by(steps).iter().map(|by| by.iter().any(is_taken)).collect();
        Self { variables, prints }
    }

    /// Whether what this command prints becomes a word that may be a file.
    pub(super) fn prints_names(&self, at: usize) -> bool {
        self.prints.get(at).copied().unwrap_or(true)
    }

    /// Whether what the command reads comes to be used.
    pub(super) fn reads_names(&self, command: &SimpleCommand) -> bool {
        let names: Vec<&str> =
            command.args.iter().map(Word::text).filter(|text| is_variable_name(text)).collect();
        let is_used = |name: &&str| self.variables.contains(*name);
        names.iter().any(is_used)
            || ["REPLY", "MAPFILE"].iter().any(is_used)
            || command.args.iter().any(Word::is_dynamic)
    }
}

/// For each command, those that take what it prints as words of theirs.
fn taken_by(steps: &[Step]) -> Vec<Vec<usize>> {
    struct Frame {
        last: Option<usize>,
        takers: Vec<usize>,
    }
    let mut frames = vec![Frame { last: None, takers: Vec::new() }];
    let mut found: Vec<Vec<usize>> = Vec::new();
    for step in steps {
        match step {
            Step::Command(_) => {
                let at = found.len();
                found.push(frames.last().map(|frame| frame.takers.clone()).unwrap_or_default());
                if let Some(frame) = frames.last_mut() {
                    frame.last = Some(at);
                }
            }
            Step::Enter(scope) => {
                let mut takers =
                    frames.last().map(|frame| frame.takers.clone()).unwrap_or_default();
                if matches!(scope, Scope::Word | Scope::Words) {
                    // What runs another command hands its words on to that.
                    let last = frames.iter().rev().find_map(|frame| frame.last);
                    takers.extend(last.into_iter().flat_map(|last| last..found.len()));
                    takers.sort_unstable();
                    takers.dedup();
                }
                frames.push(Frame { last: None, takers });
            }
            Step::Leave => drop(frames.pop()),
            Step::Script(_) => {}
        }
    }
    found
}

/// The variables that are used where they may name a file, or from which such a one is set.
fn variables(commands: &[&SimpleCommand], places: &[Place], takers: &[&Place]) -> HashSet<String> {
    let mut used: HashSet<String> = HashSet::new();
    for (command, place) in commands.iter().zip(places) {
        let is_before = |taker: &&Place| {
            place.pipe.is_some() && taker.pipe == place.pipe && place.at < taker.at
        };
        let is_printed = place.makes_a_word
            || place.makes_words
            || place.is_later
            || takers.iter().any(is_before)
            || (!takers.is_empty() && writes(command));
        let said = command.args.iter().filter(|_| is_printed);
        let words = files(command).into_iter().chain(said);
        words.for_each(|word| used.extend(names_in(word)));
    }
    loop {
        let before = used.len();
        for command in commands {
            for word in held(command) {
                let name = word.text().split('=').next().unwrap_or_default();
                let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
                // The words of a loop have no name here.
                let is_used = match is_variable_name(name) && word.text().contains('=') {
                    true => used.contains(name),
                    false => !used.is_empty(),
                };
                if is_used {
                    used.extend(names_in(word));
                }
            }
        }
        if used.len() == before {
            return used;
        }
    }
}

fn writes(command: &SimpleCommand) -> bool {
    command.redirects.iter().any(|redirect| redirect.writes())
}

/// The variables in a word.
fn names_in(word: &Word) -> Vec<String> {
    if !word.is_dynamic() {
        return Vec::new();
    }
    let after = word.text().split('$').skip(1);
    let name = |text: &str| {
        let text = text.trim_start_matches(['{', '!', '#']);
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        if is_variable_name(name) { name.to_owned() } else { WORDS.to_owned() }
    };
    after.filter(|text| !text.starts_with('(')).map(name).collect()
}

/// The variables that hold what substitutions in a command's words print; `None` for one that is not named there.
fn kept(command: &SimpleCommand) -> Vec<Option<&str>> {
    let is_printed = |word: &&Word| word.is_dynamic() && word.text().contains(['(', '`']);
    let mut found: Vec<Option<&str>> = Vec::new();
    for word in held(command).into_iter().filter(is_printed) {
        let end = word.text().find(['=', '+', '[']).unwrap_or_default();
        found.push(word.text().get(..end).filter(|name| is_variable_name(name)));
    }
    if is_held(command) {
        found.push(None);
    }
    found
}

/// Whether the command has such a text in a word that is more than spoken of: it may be a file there.
pub(super) fn uses(command: &SimpleCommand, texts: &[&str]) -> bool {
    let mut words = files(command).into_iter().filter(|word| word.is_dynamic());
    words.any(|word| texts.iter().any(|text| word.text().contains(text)))
}

/// The words of a command that may name files.
fn files(command: &SimpleCommand) -> Vec<&Word> {
    const SPEAKERS: &[&str] = &[
        "", ":", "[", "[[", "break", "continue", "declare", "docker", "echo", "exit", "export",
        "expr", "false", "gh", "glab", "kill", "kubectl", "let", "local", "podman", "printf",
        "readonly", "return", "seq", "shift", "sleep", "test", "true", "typeset", "ulimit", "wait",
    ];
    let name = command.name.literal().unwrap_or("?");
    let said = message(command);
    let is_said = |arg: &Word| {
        said.is_some_and(|said| std::ptr::eq(said, arg)) || is_address(arg) || is_sent(command, arg)
    };
    let args = command.args.iter().filter(|arg| !SPEAKERS.contains(&name) && !is_said(arg));
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    args.chain(targets).chain([&command.name]).collect()
}

/// `"https://example.com/$(…)"`
fn is_address(word: &Word) -> bool {
    let text = word.text().trim_start_matches('"');
    is_one_word(word) && (text.starts_with("https://") || text.starts_with("http://"))
}

/// `curl -H "X: $(…)"`, `jq --arg x "$(…)"`: a text that is handed on as it is.
fn is_sent(command: &SimpleCommand, word: &Word) -> bool {
    let before = |count: usize| {
        let at = command.args.iter().position(|arg| std::ptr::eq(arg, word));
        let at = at.and_then(|at| at.checked_sub(count));
        at.and_then(|at| command.args.get(at)).map_or("", Word::text)
    };
    let starts = |c: char| c.is_ascii_alphanumeric() || c == '{';
    let is_plain = word.text().trim_start_matches('"').starts_with(starts);
    match command.program().filter(|_| is_one_word(word)) {
        Some("curl") => {
            is_plain && matches!(before(1), "-H" | "--header" | "-d" | "--data" | "--json")
        }
        Some("jq") => matches!(before(2), "--arg" | "--argjson"),
        _ => false,
    }
}
