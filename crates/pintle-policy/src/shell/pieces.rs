//! What a script that is put together by the shell may become: each value that the line itself sets is put in its place, and what
//! comes from outside it stays open.
//!
//! Open is what the environment, a file or a program says: whoever writes a file could as well have written a script into it
//! (`sed -f`). What the line itself makes of texts (`$(printf 'x/e')`) is nobody's guess, so such a word has no reading.

use super::numbers::{Values, WORDS};
use super::values::{Inside, closed, unquoted, with_each};
use super::{SimpleCommand, Word, simple_commands};
use std::cell::Cell;

/// Stands for what is open; no word holds such a character.
pub(crate) const OPEN: char = '\u{1}';
/// Stands for one or several numbers.
pub(super) const NUMBERS: char = '\u{2}';

const MOST: usize = 64;
const DEEPEST: usize = 6;
const LONGEST: usize = 8192;
/// Values in values in values: judging stays cheap.
const MOST_STEPS: usize = 100_000;

/// What a word is read with.
struct Line<'v> {
    values: &'v Values,
    left: Cell<usize>,
}

impl Line<'_> {
    /// `None` when this is more than anybody writes.
    fn takes(&self, steps: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(steps)?);
        Some(())
    }
}

/// The texts that a word may become; `None` when that is anything.
pub(super) fn pieces(word: &Word, values: &Values) -> Option<Vec<String>> {
    let line = &Line { values, left: Cell::new(MOST_STEPS) };
    match word {
        Word::Literal(text) => Some(vec![text.clone()]),
        Word::Dynamic(raw) => read(raw, line, false, 0),
    }
}

/// Whether the character ends nothing in a script: no part of a pattern, no line, no command.
pub(super) fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " ._-%+:".contains(c)
}

fn is_plain_text(text: &str) -> bool {
    text.chars().all(|c| is_plain(c) || matches!(c, '"' | '\''))
}

fn open() -> Vec<String> {
    vec![OPEN.to_string()]
}

fn read(raw: &str, line: &Line<'_>, in_quotes: bool, depth: usize) -> Option<Vec<String>> {
    // `{}` is what `find` and `xargs` put a name in place of.
    if depth > DEEPEST || raw.len() > LONGEST || raw.contains("{}") {
        return None;
    }
    let mut found = vec![String::new()];
    let mut rest = raw;
    let mut quoted = in_quotes;
    let mut is_dynamic = in_quotes || depth > 0;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..)?;
        let next = after.chars().next();
        let (choices, tail) = match (first, next) {
            ('"', _) if !in_quotes => {
                quoted = !quoted;
                (vec![String::new()], after)
            }
            _ if let Some((text, tail)) = unquoted(rest, quoted)? => (vec![text], tail),
            ('$', Some('"')) if !quoted => (vec![String::new()], after),
            ('$' | '`', _) => match expansion(rest, line, quoted, depth)? {
                (choices, tail) if tail.len() < rest.len() => {
                    is_dynamic = true;
                    // Without quotes it may become several words, of which one may be an option.
                    let splits = |text: &String| text.contains([' ', '\t', '\n']);
                    if !quoted && choices.iter().any(splits) {
                        return None;
                    }
                    (choices, tail)
                }
                _ => (vec!["$".to_owned()], after),
            },
            ('<' | '>', Some('(')) if !quoted => return None,
            ('{', _) if !quoted => {
                let end = closed(after, Inside::Braces);
                let inside = end.and_then(|end| after.get(..end)).unwrap_or_default();
                if inside.contains(',') || inside.contains("..") {
                    return None;
                }
                (vec!["{".to_owned()], after)
            }
            (c, _) => {
                is_dynamic |= !quoted && "*?[".contains(c);
                (vec![c.to_string()], after)
            }
        };
        rest = tail;
        found = with_each(found, &choices, MOST, |steps| line.takes(steps))?;
    }
    // Something else than the shell makes it dynamic: `xargs -I p`.
    is_dynamic.then_some(found)
}

/// What `rest`, which starts with `$` or a backquote, may become, and what follows it.
fn expansion<'s>(
    rest: &'s str,
    line: &Line<'_>,
    quoted: bool,
    depth: usize,
) -> Option<(Vec<String>, &'s str)> {
    let after = rest.get(1..)?;
    if rest.starts_with('`') {
        let end = closed(after, Inside::Backquotes)?;
        return Some((printed(after.get(..end.checked_sub(1)?)?, line, depth)?, after.get(end..)?));
    }
    let one = |text: &str| vec![text.to_owned()];
    let inside = after.get(1..).unwrap_or_default();
    match after.chars().next() {
        Some('(') => {
            let end = closed(inside, Inside::Parentheses)?;
            let tail = inside.get(end..)?;
            match inside.starts_with('(') {
                true => Some((one("1"), tail)),
                false => Some((printed(inside.get(..end.checked_sub(1)?)?, line, depth)?, tail)),
            }
        }
        Some('{') => {
            let end = closed(inside, Inside::Expansion)?;
            let text = inside.get(..end.checked_sub(1)?)?;
            Some((braced(text, line, quoted, depth)?, inside.get(end..)?))
        }
        Some('@' | '*') => Some((variable(WORDS, line, depth)?, inside)),
        Some('#' | '?' | '$' | '!') => Some((one("1"), inside)),
        Some('-') => Some((one("h"), inside)),
        Some(c) if c.is_ascii_digit() => Some((variable(WORDS, line, depth)?, inside)),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
            Some((variable(after.get(..end)?, line, depth)?, after.get(end..)?))
        }
        _ => Some((Vec::new(), rest)),
    }
}

/// What stands in `${…}`.
fn braced(inside: &str, line: &Line<'_>, quoted: bool, depth: usize) -> Option<Vec<String>> {
    if inside.starts_with('#') {
        return Some(vec!["1".to_owned()]);
    }
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, operator) = match inside.chars().next()? {
        '@' | '*' => (WORDS, inside.get(1..)?),
        c if c.is_ascii_digit() => (WORDS, inside.get(end..)?),
        _ => (inside.get(..end)?, inside.get(end..)?),
    };
    let mut found = variable(name, line, depth.saturating_add(1))?;
    if operator.is_empty() {
        return (!name.is_empty()).then_some(found);
    }
    let default = [":-", ":=", ":+", "-", "=", "+"].iter().find_map(|op| operator.strip_prefix(op));
    if let Some(text) = default {
        found.extend(read(text, line, quoted, depth.saturating_add(1))?);
        return Some(found);
    }
    // A piece of it, or another text with some letters in it: nothing in either ends anything.
    let is_harmless = |text: &String| text.chars().all(|c| c == OPEN || is_plain(c));
    let puts_in =
        operator.strip_prefix('/').and_then(|it| it.trim_start_matches('/').split_once('/'));
    let put_in = puts_in.map(|(_, text)| text).unwrap_or_default();
    (!name.is_empty() && found.iter().all(is_harmless) && is_plain_text(put_in)).then(open)
}

/// All that a variable may be, nothing at all included.
fn variable(name: &str, line: &Line<'_>, depth: usize) -> Option<Vec<String>> {
    line.takes(line.values.names().count())?;
    let Some(set) = line.values.of(name) else { return line.values.says_only_plain().then(open) };
    if set.is_empty() {
        return Some(match name {
            WORDS => vec![String::new()],
            // A folder's name is full of slashes.
            "PWD" | "HOME" | "OLDPWD" | "TMPDIR" => vec![format!("/{OPEN}")],
            _ => open(),
        });
    }
    let mut found = vec![String::new()];
    for value in set {
        match value {
            Word::Literal(text) => found.push(text.clone()),
            Word::Dynamic(raw) => {
                let list = raw.strip_prefix('(').and_then(|raw| raw.strip_suffix(')'));
                let texts = match list {
                    Some(items) => is_plain_text(items).then(open)?,
                    None => read(raw, line, false, depth.saturating_add(1))?,
                };
                found.extend(texts);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    (found.len() <= MOST).then_some(found)
}

/// What a substitution prints, if that is none of the line's own texts.
fn printed(script: &str, line: &Line<'_>, depth: usize) -> Option<Vec<String>> {
    line.takes(script.len().saturating_add(1000))?;
    let commands = simple_commands(script).ok()?;
    // These print whatever they are given.
    let repeats = |command: &SimpleCommand| matches!(command.program(), Some("echo" | "expr"));
    let numbers = || line.values.printed(script).is_some_and(|needs| needs.is_empty());
    if !commands.iter().any(repeats) && numbers() {
        return Some(vec![NUMBERS.to_string()]);
    }
    let speakers: Vec<_> = commands.iter().filter(|command| !reads(command, line)).collect();
    let is_plain = speakers.iter().all(|command| says_plain(command, line, depth));
    // Two of them print two lines.
    let prints = |command: &&&SimpleCommand| !matches!(command.program(), Some("tr" | "sed"));
    (is_plain && speakers.iter().filter(prints).count() <= 1).then(open)
}

/// Programs that print what is in files, in a repository, or the outcome of a program in a language that is not read here.
fn reads(command: &SimpleCommand, line: &Line<'_>) -> bool {
    const READERS: &[&str] = &[
        "cargo", "cat", "cut", "git", "go", "grep", "head", "hostname", "jq", "node", "npm",
        "nproc", "perl", "pwd", "python", "python3", "realpath", "ruby", "rustc", "sort", "tail",
        "uname", "uniq", "wc", "whoami", "yq",
    ];
    let program = command.program().unwrap_or_default();
    let is_formatted = || command.args.iter().any(|arg| arg.text().contains("format"));
    READERS.contains(&program)
        && !line.values.is_function(program)
        && command.documents.is_empty()
        && !command.redirects.iter().any(|redirect| redirect.operator == "<<<")
        && !(matches!(program, "git" | "jq") && is_formatted())
}

fn says_plain(command: &SimpleCommand, line: &Line<'_>, depth: usize) -> bool {
    let texts = command.redirects.iter().filter(|redirect| redirect.operator == "<<<");
    let args = match (command.program(), command.args.as_slice()) {
        // What it puts in the place of something else.
        (Some("tr"), [first, last]) if first.text() != "-d" => std::slice::from_ref(last),
        (Some("tr"), _) => &[],
        (Some("basename" | "dirname"), [only]) if only.is_dynamic() => &[],
        (_, args) => args,
    };
    let mut words = texts.map(|redirect| &redirect.target).chain(args);
    let is_known = |word: &Word| match word {
        Word::Literal(text) => is_plain_text(text),
        Word::Dynamic(raw) => read(raw, line, false, depth.saturating_add(1))
            .is_some_and(|texts| texts.iter().all(|text| is_plain_text(&text.replace(OPEN, "")))),
    };
    let is_plain = |word: &Word| match command.program() {
        Some("sed") => !word.is_dynamic() && replaces_plainly(word.text()),
        Some("awk") => !word.is_dynamic() && !word.text().contains('"'),
        _ => is_known(word) || matches!(word.text(), "[:lower:]" | "[:upper:]"),
    };
    !command.name.is_dynamic() && command.documents.is_empty() && words.all(is_plain)
}

/// `s/^v//`: what is put in ends nothing.
fn replaces_plainly(text: &str) -> bool {
    let parts = || {
        let sign = text.strip_prefix('s')?.chars().next()?;
        let parts: Vec<&str> =
            text.get(1usize.saturating_add(sign.len_utf8())..)?.split(sign).collect();
        match parts.as_slice() {
            [_, put_in, "" | "g"] => Some(is_plain_text(&put_in.replace("\\1", ""))),
            _ => None,
        }
    };
    text.starts_with('-') && is_plain_text(text) || parts().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_values_take_no_time() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let sets = names.windows(2).map(|pair| match pair {
            [name, next] => format!("{name}={};", format!("${next}").repeat(400)),
            _ => String::new(),
        });
        let line = format!("{} g=x;", sets.collect::<String>());
        let line = format!("{line} {}", "sed \"s/a/$a$a$a/\" f;".repeat(200));
        assert!(simple_commands(&line).is_ok_and(|all| all.iter().any(|it| it.name.is_dynamic())));
        // Itself in itself.
        let line = "x=$(echo $x$y); y=`echo $x$y`; sed \"s/a/$x/\" f";
        assert!(simple_commands(line).is_ok_and(|all| all.iter().any(|it| it.name.is_dynamic())));
    }
}
