//! The texts that a line holds, and which of them a word may become: variables set in it, what it prints, the words of `set --` and
//! of its functions. What comes from outside the line stays open.

use super::numbers::{Values, WORDS};
use super::pieces::OPEN;
use super::values::{Inside, closed, parts, unquoted, with_each};
use super::{SimpleCommand, Word, listed};
use std::cell::{Cell, RefCell};

/// More choices than anybody writes by hand.
pub(super) const MOST: usize = 64;
pub(super) const DEEPEST: usize = 8;
/// Values in values in values: judging stays cheap.
const MOST_STEPS: usize = 1_000_000;

/// A line, as far as what it holds is concerned.
pub(crate) struct Line<'v> {
    pub(super) values: &'v Values,
    /// What it prints somewhere, or writes into a here-document: whole, and line by line.
    said: Vec<String>,
    /// Some of what it prints may be anything.
    pub(super) says_anything: bool,
    /// Files that it names and that look like options.
    files: Vec<String>,
    left: Cell<usize>,
    /// Variables whose value is being looked up.
    pending: RefCell<Vec<String>>,
}

impl<'v> Line<'v> {
    pub(super) fn new<'c>(
        values: &'v Values,
        commands: impl Iterator<Item = &'c SimpleCommand>,
    ) -> Self {
        let mut line = Self {
            values,
            said: Vec::new(),
            says_anything: false,
            files: Vec::new(),
            left: Cell::new(MOST_STEPS),
            pending: RefCell::default(),
        };
        let (mut said, mut files) = (Vec::new(), Vec::new());
        for command in commands {
            let texts = line.said_by(command);
            line.says_anything |= texts.is_none();
            for text in texts.unwrap_or_default() {
                said.extend(text.lines().map(|it| it.trim().to_owned()));
                said.push(text);
            }
            files.extend(files_named(command));
        }
        for texts in [&mut said, &mut files] {
            texts.retain(|text| !text.is_empty());
            texts.sort_unstable();
            texts.dedup();
        }
        (line.said, line.files) = (said, files);
        line
    }

    /// `None` when this is more than anybody writes.
    pub(super) fn takes(&self, steps: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(steps)?);
        Some(())
    }

    /// Where a text without quotes is cut into words.
    pub(crate) fn cuts(&self, c: char) -> bool {
        let (separators, _) = self.values.known("IFS");
        c.is_whitespace() || separators.iter().any(|word| word.text().contains(c))
    }

    /// What it prints somewhere.
    pub(crate) fn said(&self) -> impl Iterator<Item = &String> {
        self.said.iter()
    }

    /// What it prints, and the names of files in it that look like options.
    pub(super) fn held(&self) -> impl Iterator<Item = &String> {
        self.said.iter().chain(&self.files)
    }

    /// The texts that the word may become, [`OPEN`] in them for what the line does not hold; `None` when the line may make anything
    /// of what it holds.
    pub(crate) fn texts(&self, word: &Word) -> Option<Vec<String>> {
        match word {
            Word::Literal(text) => Some(vec![text.clone()]),
            Word::Dynamic(raw) => self.read(raw, false, 0),
        }
    }

    fn read(&self, raw: &str, in_quotes: bool, depth: usize) -> Option<Vec<String>> {
        self.takes(raw.len().saturating_add(1))?;
        if depth > DEEPEST {
            return None;
        }
        let mut found = vec![String::new()];
        let mut rest = raw;
        let mut quoted = in_quotes;
        while let Some(first) = rest.chars().next() {
            let after = rest.get(first.len_utf8()..)?;
            let next = after.chars().next();
            let (choices, tail) = match (first, next) {
                ('"', _) if !in_quotes => {
                    quoted = !quoted;
                    (vec![String::new()], after)
                }
                _ if let Some((text, tail)) = unquoted(rest, quoted)? => (vec![text], tail),
                ('$' | '`', _) => self.expansion(rest, quoted, depth)?,
                ('<' | '>', Some('(')) if !quoted => {
                    let end = closed(after.get(1..)?, Inside::Parentheses)?;
                    (vec!["/dev/fd/63".to_owned()], after.get(1..)?.get(end..)?)
                }
                // `find` and `xargs` put a name in its place.
                ('{', Some('}')) => (open(), after.get(1..)?),
                ('{', _) if !quoted => self.braces(after, depth)?,
                ('*' | '?' | '[', _) if !quoted => (open(), after),
                ('~', _) if !quoted && found == [""] => (vec!["/".to_owned()], after),
                (c, _) => (vec![c.to_string()], after),
            };
            rest = tail;
            found = with_each(found, &choices, MOST, |steps| self.takes(steps))?;
        }
        Some(found)
    }

    /// `{a,b}`, whose brace is open already.
    fn braces<'s>(&self, after: &'s str, depth: usize) -> Option<(Vec<String>, &'s str)> {
        let as_written = (vec!["{".to_owned()], after);
        let Some(end) = closed(after, Inside::Braces) else { return Some(as_written) };
        let inside = after.get(..end.saturating_sub(1))?;
        match parts(inside).as_slice() {
            [_] if inside.contains("..") => Some((open(), after.get(end..)?)),
            [_] => Some(as_written),
            parts => {
                let mut choices = Vec::new();
                for part in parts {
                    choices.extend(self.read(part, false, depth.saturating_add(1))?);
                }
                Some((choices, after.get(end..)?))
            }
        }
    }

    /// What `rest`, which starts with `$` or a backquote, may become, and what follows it.
    fn expansion<'s>(
        &self,
        rest: &'s str,
        quoted: bool,
        depth: usize,
    ) -> Option<(Vec<String>, &'s str)> {
        let after = rest.get(1..)?;
        if rest.starts_with('`') {
            let end = closed(after, Inside::Backquotes)?;
            let script = after.get(..end.checked_sub(1)?)?.replace("\\`", "`").replace("\\$", "$");
            return Some((self.printed(&script, depth)?, after.get(end..)?));
        }
        let inside = after.get(1..).unwrap_or_default();
        let number = || vec!["1".to_owned()];
        match after.chars().next() {
            Some('(') => {
                let end = closed(inside, Inside::Parentheses)?;
                let tail = inside.get(end..)?;
                match inside.starts_with('(') {
                    true => Some((open(), tail)),
                    false => Some((self.printed(inside.get(..end.checked_sub(1)?)?, depth)?, tail)),
                }
            }
            Some('{') => {
                let end = closed(inside, Inside::Expansion)?;
                let text = inside.get(..end.checked_sub(1)?)?;
                Some((self.braced(text, quoted, depth)?, inside.get(end..)?))
            }
            Some('@' | '*') => Some((self.variable(WORDS, depth)?, inside)),
            Some('#' | '?' | '$' | '!') => Some((number(), inside)),
            Some(c) if c.is_ascii_digit() => Some((self.variable(WORDS, depth)?, inside)),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
                Some((self.variable(after.get(..end)?, depth)?, after.get(end..)?))
            }
            _ => Some((vec!["$".to_owned()], after)),
        }
    }

    /// What stands in `${…}`.
    fn braced(&self, inside: &str, quoted: bool, depth: usize) -> Option<Vec<String>> {
        if inside.starts_with('#') {
            return Some(vec!["1".to_owned()]);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = inside.find(|c| !is_part(c)).unwrap_or(inside.len());
        let (name, operator) = match inside.chars().next()? {
            '@' | '*' => (WORDS, inside.get(1..)?),
            c if c.is_ascii_digit() => (WORDS, inside.get(end..)?),
            _ => (inside.get(..end).filter(|name| !name.is_empty())?, inside.get(end..)?),
        };
        let operator = match operator.strip_prefix('[').and_then(|index| index.split_once(']')) {
            Some((_, rest)) => rest,
            None => operator,
        };
        let mut found = self.variable(name, depth)?;
        let default =
            [":-", ":=", ":+", "-", "=", "+"].iter().find_map(|op| operator.strip_prefix(op));
        if let Some(text) = default {
            found.extend(self.read(text, quoted, depth.saturating_add(1))?);
            return Some(found);
        }
        match operator.chars().next() {
            None | Some('%' | '?' | '^' | ',' | '@') => Some(found),
            Some(':') if operator.starts_with(":?") => Some(found),
            // What is left may start in the middle.
            Some('#' | ':') => Some(found.iter().flat_map(|text| endings(text)).collect()),
            _ => {
                let brings = operator.contains(['-', '$', '`', '\\']);
                let is_plain = |text: &String| !text.contains('-');
                (!brings && found.iter().all(is_plain)).then_some(found)
            }
        }
    }

    /// All that a variable may be, nothing at all included.
    pub(super) fn variable(&self, name: &str, depth: usize) -> Option<Vec<String>> {
        // The last word of whatever ran before.
        if name == "_" {
            return None;
        }
        let (set, is_read) = self.values.known(name);
        self.takes(set.len().saturating_mul(4))?;
        let mut found = vec![String::new()];
        if is_read || (set.is_empty() && name != WORDS) {
            found.push(OPEN.to_string());
        }
        if self.pending.borrow().iter().any(|it| it == name) {
            // `x="$x $y"`
            found.extend(set.into_iter().filter_map(Word::literal).map(str::to_owned));
            return Some(found);
        }
        self.pending.borrow_mut().push(name.to_owned());
        for value in set {
            let texts = match value {
                Word::Literal(text) => Some(vec![text.clone()]),
                Word::Dynamic(raw) => {
                    match raw.strip_prefix('(').and_then(|raw| raw.strip_suffix(')')) {
                        Some(items) => self.items(items, depth),
                        None => self.read(raw, false, depth.saturating_add(1)).map(|texts| {
                            if raw.contains('"') { texts } else { self.with_parts(texts) }
                        }),
                    }
                }
            };
            let Some(texts) = texts else {
                self.pending.borrow_mut().pop();
                return None;
            };
            found.extend(texts);
        }
        self.pending.borrow_mut().pop();
        found.sort_unstable();
        found.dedup();
        (found.len() <= MOST).then_some(found)
    }

    /// The texts, and the words that they become without quotes: `for v in $list`.
    fn with_parts(&self, mut texts: Vec<String>) -> Vec<String> {
        let parts = texts.iter().flat_map(|text| text.split(|c| self.cuts(c)));
        let parts: Vec<String> = parts.filter(|it| !it.is_empty()).map(str::to_owned).collect();
        texts.extend(parts);
        texts
    }

    /// What stands in `a=(…)`.
    fn items(&self, items: &str, depth: usize) -> Option<Vec<String>> {
        self.takes(items.len().saturating_add(200))?;
        let commands = listed(&format!(": {items}")).ok()?;
        let mut found = Vec::new();
        for word in &commands.first()?.args {
            found.extend(match word {
                Word::Literal(text) => vec![of_item(text).to_owned()],
                Word::Dynamic(raw) => self.read(of_item(raw), false, depth.saturating_add(1))?,
            });
        }
        Some(found)
    }
}

pub(super) fn open() -> Vec<String> {
    vec![OPEN.to_string()]
}

/// `[key]=value`
fn of_item(item: &str) -> &str {
    let value = item.strip_prefix('[').and_then(|keyed| keyed.split_once("]="));
    value.map_or(item, |(_, value)| value)
}

/// The text, and each end of it that looks like an option.
pub(super) fn endings(text: &str) -> Vec<String> {
    let starts = text.match_indices('-').filter_map(|(at, _)| text.get(at..));
    [text].into_iter().chain(starts).map(str::to_owned).collect()
}

/// Names of files in the command's words that look like options where they are found by a pattern.
fn files_named(command: &SimpleCommand) -> Vec<String> {
    let operands = command.args.iter().skip_while(|arg| arg.text() != "--").skip(1);
    let placed = command.args.iter().filter(|arg| arg.text().contains('/'));
    let written = command.redirects.iter().filter(|it| it.writes()).map(|it| &it.target);
    let words = operands.chain(placed).chain(written).filter_map(Word::literal);
    // A name may have slashes behind its first sign of an option: `--to-command=/bin/rm`.
    let name = |text: &str| {
        let starts = text.match_indices("/-").filter_map(|(at, _)| text.get(at.checked_add(1)?..));
        let starts = starts.map(str::to_owned).collect::<Vec<_>>();
        text.starts_with('-').then(|| text.to_owned()).into_iter().chain(starts).collect::<Vec<_>>()
    };
    words.flat_map(name).collect()
}
