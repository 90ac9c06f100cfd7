//! Texts, numbers and other words, and what is wrong with the writing of each. A word is taken as it was meant where that is plain.

use super::{Reader, not_json};
use crate::report::Problem;
use serde::de::IgnoredAny;
use std::ops::Range;

const DOUBLE: [char; 6] = ['"', '“', '”', '„', '«', '»'];
const SINGLE: [char; 4] = ['\'', '‘', '’', '‚'];

pub(super) fn is_quote(c: char) -> bool {
    DOUBLE.contains(&c) || SINGLE.contains(&c)
}

impl Reader<'_> {
    /// The text that begins here.
    pub(super) fn text(&mut self, open: char) -> String {
        let begin = self.take(open.len_utf8());
        let inside = self.rest();
        let (length, end) = end_of(inside, open);
        let mut text = inside.get(..length).unwrap_or_default();
        if let End::Missing = end {
            // What closes the line was hardly meant to be in the text.
            text = text.trim_end_matches([',', '}', ']', ' ', '\t', '\n', '\r']);
            let help = "a `\"` is missing: a string ends with one, in the same line";
            self.say(begin.clone(), "unterminated string", "this one is not closed", help);
        }
        self.take(text.len());
        let quote = self.rest().chars().next().filter(|_| !matches!(end, End::Missing));
        self.take(quote.map_or(0, char::len_utf8));
        let what = match (end, open) {
            (End::Curly, _) => "this string ends in a curly quote",
            (End::Missing, _) | (_, '"') => "",
            (_, '\'') => "this string is in single quotes",
            _ => "this string is in curly quotes",
        };
        if !what.is_empty() {
            self.slip(in_quotes(begin.start..self.at, what, text));
        }
        match serde_json::from_str(&format!("\"{text}\"")) {
            Ok(decoded) => decoded,
            Err(_) => {
                self.bad_parts(text, begin.end, open);
                text.to_owned()
            }
        }
    }

    /// Characters and escapes that no text may have.
    fn bad_parts(&mut self, text: &str, start: usize, open: char) {
        let is_fine = |part: &&str| serde_json::from_str::<String>(&format!("\"{part}\"")).is_ok();
        let (mut rest, mut has_raw) = (text, false);
        while let Some(c) = rest.chars().next() {
            let here = start.saturating_add(text.len().saturating_sub(rest.len()));
            let mut length = c.len_utf8();
            let (what, help) = match c {
                '\\' if open == '\'' && rest.starts_with("\\'") => ("", ""),
                '\\' => {
                    let is_hex = |it: &str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
                    let is_half = rest.starts_with("\\u") && rest.get(2..6).is_some_and(is_hex);
                    let escape = [2, 6, 12].iter().filter_map(|n| rest.get(..*n)).find(is_fine);
                    length = escape.map_or(if is_half { 6 } else { 1 }, str::len);
                    match () {
                        () if escape.is_some() => ("", ""),
                        () if is_half => (
                            "half a character",
                            "write the character itself: `\\ud800` to `\\udfff` are halves, and each needs its other half",
                        ),
                        () if rest.starts_with("\\u") => (
                            "`\\u` without its four digits",
                            "`\\u` is followed by four digits, as in `\\u00e9`; a backslash itself is written `\\\\`",
                        ),
                        () => ("unknown escape", "a backslash in a string is written `\\\\`"),
                    }
                }
                c if c >= ' ' || std::mem::replace(&mut has_raw, true) => ("", ""),
                '\n' | '\r' => ("a line break inside a string", "write `\\n` for a line break"),
                '\t' => ("a tab inside a string", "write `\\t` for a tab"),
                _ => ("a control character inside a string", "remove it, or write it as `\\u00…`"),
            };
            if !what.is_empty() {
                let shown = rest.chars().take(2).map(char::len_utf8).sum();
                let shown = if c == '\\' && length == 1 { shown } else { length };
                let label = if c == '\\' { "" } else { "JSON allows none here" };
                self.say(here..here.saturating_add(shown), what, label, help);
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Everything up to the next sign, blank, quote or comment.
    pub(super) fn word(&mut self) -> Range<usize> {
        let rest = self.rest();
        let ends = |(at, c): &(usize, char)| {
            let behind = rest.get(*at..).unwrap_or_default();
            let is_comment = behind.starts_with("//") || behind.starts_with("/*");
            c.is_whitespace() || ",:;={}[]#".contains(*c) || is_quote(*c) || is_comment
        };
        let length = rest.char_indices().skip(1).find(ends).map_or(rest.len(), |(at, _)| at);
        self.take(length)
    }

    /// The number that a word is, with a slip if JSON writes it otherwise.
    pub(super) fn number(&mut self, span: Range<usize>) -> Option<String> {
        let word = self.source.get(span.clone())?;
        let meant = number_meant(word)?;
        if meant != word {
            let digits = word.trim_start_matches('-').as_bytes();
            let (what, label) = match digits {
                [b'0', b'0'..=b'9', ..] => ("begins with a zero", "expected a number without"),
                _ => ("is not how JSON writes a number", "expected digits"),
            };
            self.say(span, &format!("`{word}` {what}"), label, &format!("write {meant}"));
        }
        Some(meant)
    }
}

/// How a string ends.
enum End {
    Closed,
    /// `"name”`: the other quote is of another kind.
    Curly,
    Missing,
}

/// How long the text is that begins here, and how it ends. It goes over several lines only if it then ends where a string can.
fn end_of(inside: &str, open: char) -> (usize, End) {
    let closes = |c: char| match open {
        '"' | '\'' => c == open,
        _ if DOUBLE.contains(&open) => DOUBLE.contains(&c),
        _ => SINGLE.contains(&c),
    };
    // The next quote is the same for all of the text, so it is looked for once.
    let mut seen = None;
    let mut over_lines = |rest: &str| {
        let ends_well = |(at, c): (usize, char)| {
            let behind = rest.get(at.saturating_add(c.len_utf8())..).unwrap_or_default();
            behind.trim_start().chars().next().is_none_or(|c| ",:}]".contains(c))
        };
        *seen
            .get_or_insert_with(|| unescaped(rest).find(|(_, c)| closes(*c)).is_some_and(ends_well))
    };
    let mut has_opened = false;
    for (at, c) in unescaped(inside) {
        let behind = inside.get(at.saturating_add(c.len_utf8())..).unwrap_or_default();
        let ends_a_value = || {
            let next = behind.trim_start_matches([' ', '\t']).chars().next();
            next.is_none_or(|c| ",:}]\r\n".contains(c))
        };
        match c {
            c if closes(c) => return (at, End::Closed),
            '\n' | '\r' if !over_lines(behind) => return (at, End::Missing),
            '”' | '»' if open == '"' && !has_opened && ends_a_value() && !over_lines(behind) => {
                return (at, End::Curly);
            }
            c => has_opened |= matches!(c, '“' | '«'),
        }
    }
    (inside.len(), End::Missing)
}

/// The characters that no backslash stands before; the end of a line ends an escape.
fn unescaped(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut escaped = false;
    text.char_indices().filter(move |(_, c)| {
        let was = escaped;
        escaped = *c == '\\' && !was;
        !was || matches!(c, '\n' | '\r')
    })
}

/// A text that does not stand in double quotes.
pub(super) fn in_quotes(span: Range<usize>, what: &str, text: &str) -> Problem {
    const SHORT: usize = 60;
    let help = match serde_json::to_string(text) {
        Ok(quoted) if quoted.len() <= SHORT => format!("write {quoted}"),
        _ => "write it in straight quotes: \"like this\"".to_owned(),
    };
    not_json(span, what).label("expected double quotes").help(help)
}

/// The number that a word is, as JSON writes it.
fn number_meant(word: &str) -> Option<String> {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_number = |text: &str| {
        text.starts_with(|c| is_digit(c) || c == '-')
            && serde_json::from_str::<IgnoredAny>(text).is_ok()
    };
    if is_number(word) {
        return Some(word.to_owned());
    }
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|number| format!("{sign}{number}"));
    }
    let plain = digits.replace('_', "");
    let plain = plain.trim_start_matches('0');
    let zero = if plain.starts_with(is_digit) { "" } else { "0" };
    let meant = format!("{sign}{zero}{}", plain.strip_suffix('.').unwrap_or(plain));
    (digits.starts_with(|c| is_digit(c) || c == '.') && is_number(&meant)).then_some(meant)
}
