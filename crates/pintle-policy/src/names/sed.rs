//! What `sed` makes of the names that it reads: its script is read as far as it prints, deletes and substitutes.

use super::worked::{Cutting, Work, leads_away};
use crate::shell::{SimpleCommand, Telling, Word, told};

pub(super) fn work(command: &SimpleCommand) -> Work {
    let Telling::Known(told) = told(command) else { return Work::Makes };
    let is_file = |arg: &Word| {
        let text = arg.text();
        text.starts_with("--f")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('f'))
    };
    if told.words.is_empty() || command.args.iter().any(is_file) {
        return Work::Makes;
    }
    let (mut cuts, mut works) = (Vec::new(), false);
    for word in &told.words {
        let text = word.text();
        let script = ["--expression=", "-e"].iter().find_map(|it| text.strip_prefix(it));
        let script = script.unwrap_or(text).trim_matches('"');
        let Some(commands) = commands(script) else { return Work::Makes };
        for command in commands {
            match command {
                Command::Joins => cuts.push(Cutting::Joins),
                Command::Letters(to) if to.contains(['/', '.', '\\', '$']) => return Work::Makes,
                Command::Letters(_) => {}
                Command::Puts(from, to) if makes(&from, &to) => return Work::Makes,
                Command::Puts(from, to) => cuts.extend(cutting(&from, &to.replace('\\', ""))),
            }
            works = true;
        }
    }
    if works { Work::Cuts(cuts) } else { Work::Keeps }
}

enum Command {
    /// `s`: what it looks for, and what it puts there.
    Puts(String, String),
    /// `y`: the letters that it puts in the place of others.
    Letters(String),
    /// Lines become one, or are kept for later.
    Joins,
}

/// The commands of a script that do more than choose lines; `None` when it has one that is not known here.
fn commands(script: &str) -> Option<Vec<Command>> {
    let mut found = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        rest = after_address(rest)?.trim_start_matches([' ', '!', '{', ';']);
        rest = after_address(rest)?.trim_start_matches([' ', '!', '{', ';']);
        let Some(letter) = rest.chars().next() else { return Some(found) };
        rest = rest.get(letter.len_utf8()..)?;
        match letter {
            'p' | 'd' | 'P' | 'D' | 'n' | 'q' | 'Q' | '=' | '}' => {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            }
            'N' | 'g' | 'G' | 'h' | 'H' | 'x' => found.push(Command::Joins),
            's' | 'y' => {
                let mark = rest.chars().next().filter(|c| *c != '\\' && *c != '\n')?;
                let (from, after) = until(rest.get(mark.len_utf8()..)?, mark)?;
                let (to, after) = until(after, mark)?;
                rest =
                    after.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiIM".contains(c));
                found.push(match letter {
                    's' => Command::Puts(from, to),
                    _ => Command::Letters(to),
                });
            }
            _ => return None,
        }
        if !rest.is_empty() && !rest.starts_with([' ', ';', '\n', '}', '{']) {
            return None;
        }
    }
}

/// What follows the lines that a command is for: `1,5`, `$`, `/a/,/b/`, `\,a,`.
fn after_address(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let start = rest;
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,~+".contains(c));
        let mark = match rest.strip_prefix('\\') {
            Some(after) => after.chars().next(),
            None => rest.chars().next().filter(|c| *c == '/'),
        };
        if let Some(mark) = mark {
            let after = rest.strip_prefix('\\').unwrap_or(rest).get(mark.len_utf8()..)?;
            rest = until(after, mark)?.1.trim_start_matches('I');
        }
        if rest.len() == start.len() {
            return Some(rest);
        }
    }
}

/// Whether what is put in a name's place may lead away: each part of it that may come to stand first does, or is open.
fn makes(from: &str, to: &str) -> bool {
    let is_number = |pair: &[u8]| matches!(pair, [b'\\', b'd' | b'o' | b'x' | b'c', _]);
    if to.contains(['$', '`']) || to.as_bytes().windows(3).any(is_number) {
        return true;
    }
    let mut put = to.replace("\\n", " ").replace("\\t", " ").replace('&', " ");
    for sign in ["L", "U", "l", "u", "E", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0"] {
        put = put.replace(&format!("\\{sign}"), " ");
    }
    let put = put.replace('\\', "");
    let leads = |part: &str| leads_away(part, from.starts_with('^'));
    leads(&put) || put.split_whitespace().any(leads)
}

/// What stands before the next mark that is not escaped, and what follows it. An escaped mark is the mark.
fn until(text: &str, mark: char) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let (_, next) = chars.next()?;
                if next != mark {
                    found.push('\\');
                }
                found.push(next);
            }
            c if c == mark => return Some((found, text.get(at.saturating_add(c.len_utf8())..)?)),
            c => found.push(c),
        }
    }
    None
}

/// How `s` cuts a text; `None` when it takes away its end, or all folders before a name.
fn cutting(from: &str, put: &str) -> Option<Cutting> {
    let starts = from.strip_prefix('^');
    let inner = starts.unwrap_or(from);
    let is_wide = |text: &str| text.contains(['*', '+', '{', '?', '|', '[', '(']);
    let at_end = inner.strip_suffix('$').filter(|it| !it.ends_with('\\'));
    let to_the_end = inner.strip_suffix(".*$").or_else(|| inner.strip_suffix(".*"));
    let takes_the_end = at_end.is_some_and(|it| !is_wide(it))
        || (put.is_empty()
            && starts.is_none()
            && to_the_end.is_some_and(|it| !it.is_empty() && !is_wide(it)));
    let takes_the_folders = inner.strip_prefix(".*").is_some_and(|it| it == "/");
    if takes_the_end || takes_the_folders {
        return None;
    }
    let plain = inner.replace("\\.", "\u{0}");
    if plain.contains(['.', '\\', '$']) || is_wide(&plain) || put.contains(['&', '\\']) {
        return Some(Cutting::Unknown);
    }
    let taken = plain.replace('\u{0}', ".");
    Some(Cutting::Text { taken, at_start: starts.is_some(), put: put.to_owned() })
}
