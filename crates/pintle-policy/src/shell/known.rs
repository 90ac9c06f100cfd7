//! Variables that are known wherever they stand: set to a text, once, by a statement of the line that surely runs, and by nothing else.
//! `out=build/a.txt; cat x > "$out"` is `cat x > build/a.txt`.

use super::later::is_steering_variable;
use super::options::has_option;
use super::steps::{Scope, Step};
use super::unwrap::is_name;
use super::values::{Inside, closed};
use super::word::decode;
use super::{Redirect, Script, SimpleCommand, Word};
use std::collections::{HashMap, HashSet};

/// Variables that the shell itself sets, or that change how it reads a line.
const OF_THE_SHELL: &[&str] = &[
    "COLUMNS",
    "COPROC",
    "DIRSTACK",
    "EUID",
    "FUNCNAME",
    "GLOBIGNORE",
    "GROUPS",
    "HISTCMD",
    "IFS",
    "LINENO",
    "LINES",
    "MAPFILE",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "PPID",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "TIMEFORMAT",
    "UID",
    "_",
];
const OF_THE_SHELL_BY_PREFIX: &[&str] =
    &["BASH", "COMP", "EPOCH", "FUNC", "HIST", "LANG", "LC_", "READLINE", "SHELL"];

/// The variables that may be known, by what is in the line: nothing but one assignment sets them.
pub(super) fn candidates(source: &str, script: &Script) -> Vec<String> {
    if script.commands().any(may_set_anything) {
        return Vec::new();
    }
    let mut names: Vec<&str> = script.values.names().collect();
    names.sort_unstable();
    names.dedup();
    let declared = script.commands().filter(|it| declares(it)).flat_map(words);
    let calculated = script.values.calculations().map(String::as_str);
    let mut others: HashSet<&str> = declared.chain(calculated).flat_map(names_in).collect();
    // `{name}>file` keeps a descriptor in it.
    let braced = source.match_indices('{').filter(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| source.as_bytes().get(at));
        before != Some(&b'$')
    });
    others.extend(braced.filter_map(|(at, _)| {
        let inside = source.get(at..)?.get(1..)?;
        names_in(inside)
            .next()
            .filter(|name| inside.strip_prefix(*name).is_some_and(|it| it.starts_with('}')))
    }));
    let is_known = |name: &&str| {
        let is_once = script.values.of(name).is_some_and(|set| set.len() == 1);
        is_name(name)
            && is_once
            && !others.contains(name)
            && !is_steering_variable(name)
            && !OF_THE_SHELL.contains(name)
            && !OF_THE_SHELL_BY_PREFIX.iter().any(|start| name.starts_with(start))
    };
    names.into_iter().filter(is_known).map(str::to_owned).collect()
}

fn words(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    command.args.iter().map(Word::text)
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

fn declares(command: &SimpleCommand) -> bool {
    matches!(
        command.program(),
        Some("declare" | "export" | "local" | "readonly" | "typeset" | "wait" | "coproc")
    )
}

/// Whether nobody knows which variables the command sets, or how words are read after it.
fn may_set_anything(command: &SimpleCommand) -> bool {
    let has_dynamic = || command.args.iter().any(Word::is_dynamic);
    match command.program() {
        Some("eval" | "." | "source" | "unset" | "alias" | "enable" | "let" | "shopt") => true,
        Some("printf") => {
            let first = command.args.first();
            first.is_some_and(|arg| arg.is_dynamic() || arg.text().starts_with("-v"))
        }
        Some("declare" | "export" | "local" | "readonly" | "typeset" | "getopts" | "read")
        | Some("mapfile" | "readarray" | "wait" | "coproc") => {
            has_dynamic() || has_option(&command.args, "n")
        }
        Some("set") => has_option(&command.args, "kf") || has_dynamic(),
        _ => false,
    }
}

/// Puts the values of such variables in the place of their names, from where they are set on.
pub(super) fn fill(steps: &mut [Step], candidates: &[String], cuts_at_blanks: bool) {
    let candidates: HashSet<&str> = candidates.iter().map(String::as_str).collect();
    let mut known = Known { values: HashMap::new(), cuts_at_blanks };
    let mut depth = 0_usize;
    // Inside a chain only what stands at its start surely runs.
    let mut leads = true;
    for step in steps {
        match step {
            Step::Enter(scope) => {
                leads = depth == 0 && matches!(scope, Scope::Chain { .. });
                depth = depth.saturating_add(1);
            }
            Step::Leave => {
                depth = depth.saturating_sub(1);
                leads = false;
            }
            Step::Script(_) => {}
            Step::Command(command) => {
                known.fill(command);
                let set = assignment(command).filter(|_| depth == 0 || (depth == 1 && leads));
                match set {
                    Some((name, value)) if candidates.contains(name) => {
                        known.values.entry(name.to_owned()).or_insert(value.to_owned());
                    }
                    _ => leads = false,
                }
            }
        }
    }
}

/// `NAME=text` and nothing else.
fn assignment(command: &SimpleCommand) -> Option<(&str, &str)> {
    let is_bare = command.name.text().is_empty()
        && command.args.is_empty()
        && command.redirects.is_empty()
        && command.documents.is_empty();
    match command.assignments.as_slice() {
        [Word::Literal(text)] if is_bare => text.split_once('=').filter(|(name, _)| is_name(name)),
        _ => None,
    }
}

struct Known {
    values: HashMap<String, String>,
    /// No `IFS` is set in the line.
    cuts_at_blanks: bool,
}

impl Known {
    fn fill(&self, command: &mut SimpleCommand) {
        if self.values.is_empty() {
            return;
        }
        for word in &mut command.assignments {
            self.replace(word);
        }
        for Redirect { target, .. } in &mut command.redirects {
            self.replace(target);
        }
        let args = std::mem::take(&mut command.args);
        let mut words = self.words(command.name.clone());
        if !words.is_empty() {
            command.name = words.remove(0);
        }
        command.args = words;
        command.args.extend(args.into_iter().flat_map(|word| self.words(word)));
    }

    fn replace(&self, word: &mut Word) {
        if let Word::Dynamic(raw) = word
            && let Some(filled) = self.filled(raw)
        {
            *word = filled;
        }
    }

    /// The words that one becomes: `$x` without quotes is as many as its value has.
    fn words(&self, mut word: Word) -> Vec<Word> {
        if let Word::Dynamic(raw) = &word {
            let name = raw.strip_prefix('$').unwrap_or_default();
            let name = name.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(name);
            let value = self.value(name).filter(|value| self.cuts_at_blanks && value.contains(' '));
            let is_plain = |value: &&str| value.chars().all(|c| c == ' ' || is_plain(c));
            if let Some(value) = value.filter(is_plain).filter(|value| !value.trim().is_empty()) {
                let words = value.split(' ').filter(|part| !part.is_empty());
                return words.map(|part| Word::Literal(part.to_owned())).collect();
            }
        }
        self.replace(&mut word);
        vec![word]
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The word with the values in it, if it has any.
    fn filled(&self, raw: &str) -> Option<Word> {
        let mut text = String::new();
        let mut rest = raw;
        let mut quoted = false;
        let mut is_changed = false;
        while let Some(first) = rest.chars().next() {
            let after = rest.get(first.len_utf8()..)?;
            let taken = match (first, after.chars().next()) {
                ('\\', Some(c)) => 1_usize.saturating_add(c.len_utf8()),
                ('"', _) => {
                    quoted = !quoted;
                    1
                }
                ('\'', _) if !quoted => after.find('\'')?.saturating_add(2),
                ('$', Some('\'')) if !quoted => return None,
                ('`', _) => closed(after, Inside::Backquotes)?.saturating_add(1),
                ('$' | '<' | '>', Some('(')) => {
                    closed(after.get(1..)?, Inside::Parentheses)?.saturating_add(2)
                }
                // What is chosen between is chosen before variables are looked up.
                ('{', _) if !quoted => return None,
                ('$', Some(_)) => match self.named(after, quoted) {
                    Some((value, length)) => {
                        is_changed = true;
                        text.push_str(&value);
                        rest = after.get(length..)?;
                        continue;
                    }
                    None if after.starts_with('{') => {
                        closed(after.get(1..)?, Inside::Expansion)?.saturating_add(2)
                    }
                    None => 1,
                },
                _ => first.len_utf8(),
            };
            text.push_str(rest.get(..taken)?);
            rest = rest.get(taken..)?;
        }
        is_changed.then(|| decode(&text).ok())?
    }

    /// The value of the variable that the text, which follows a `$`, starts with, as it is written there; and how long its name is.
    fn named(&self, after: &str, quoted: bool) -> Option<(String, usize)> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = after.strip_prefix('{');
        let inside = braced.unwrap_or(after);
        let end = inside.find(|c| !is_part(c)).unwrap_or(inside.len());
        let (name, tail) = inside.split_at_checked(end)?;
        if braced.is_some() && !tail.starts_with('}') {
            return None;
        }
        let value = self.value(name)?;
        let length = if braced.is_some() { end.saturating_add(2) } else { end };
        let is_plain = !value.is_empty() && value.chars().all(is_plain) && self.cuts_at_blanks;
        match quoted {
            true => Some((escaped(value), length)),
            false => is_plain.then(|| (value.to_owned(), length)),
        }
    }
}

/// Whether the character is one like any other wherever it stands in a word.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./-:@%+,=".contains(c)
}

/// The text as it is written between double quotes.
fn escaped(text: &str) -> String {
    let mut found = String::new();
    for c in text.chars() {
        if "\\\"$`".contains(c) {
            found.push('\\');
        }
        found.push(c);
    }
    found
}
