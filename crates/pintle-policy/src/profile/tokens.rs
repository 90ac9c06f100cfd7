//! The words of a JSON file, and what is wrong with the writing of each. Where a slip leaves no doubt what was meant, the
//! word is taken as it was meant.

use super::report::Problem;
use super::syntax::{not_checked, not_json};
use std::ops::Range;

/// What brackets hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    List,
}

impl Shape {
    pub(super) fn close(self) -> char {
        match self {
            Self::Object => '}',
            Self::List => ']',
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Open(Shape),
    Close(Shape),
    Comma,
    Colon,
    Text(String),
    /// As JSON writes it.
    Number(String),
    /// Anything else: `true`, and what stands without quotes.
    Word(String),
}

#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

/// All words, in order, and every slip. `Err` has what makes the rest of the file unreadable.
pub(super) struct Lexed {
    pub(super) tokens: Vec<Lexeme>,
    pub(super) slips: Vec<Problem>,
    pub(super) unreadable: Option<Problem>,
    /// Where comments stand that may.
    pub(super) comments: Vec<Range<usize>>,
}

const DOUBLE: [char; 5] = ['“', '”', '„', '«', '»'];
const SINGLE: [char; 3] = ['‘', '’', '‚'];

pub(super) fn read(source: &str) -> Lexed {
    let lexed =
        Lexed { tokens: Vec::new(), slips: Vec::new(), unreadable: None, comments: Vec::new() };
    let mut reader = Reader { source, at: 0, lexed };
    if source.starts_with('\u{feff}') {
        let mark = Problem::new(0..3, "the file begins with a byte order mark");
        reader.lexed.slips.push(
            mark.label("JSON has none")
                .help("save it as UTF-8 without one (in editors: `UTF-8`, not `UTF-8 with BOM`)"),
        );
        reader.at = 3;
    }
    while let Some(first) = reader.rest().chars().next() {
        if !reader.next(first) {
            break;
        }
    }
    reader.lexed
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    lexed: Lexed,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    /// Whether there is more to read.
    fn next(&mut self, first: char) -> bool {
        let one = first.len_utf8();
        match first {
            ' ' | '\t' | '\n' | '\r' => self.skip(one),
            '{' => self.sign(Token::Open(Shape::Object)),
            '}' => self.sign(Token::Close(Shape::Object)),
            '[' => self.sign(Token::Open(Shape::List)),
            ']' => self.sign(Token::Close(Shape::List)),
            ',' => self.sign(Token::Comma),
            ':' => self.sign(Token::Colon),
            ';' | '=' => self.other_sign(first),
            '"' | '\'' => self.text(first, &[first]),
            _ if DOUBLE.contains(&first) => self.text(first, &[DOUBLE.as_slice(), &['"']].concat()),
            _ if SINGLE.contains(&first) => {
                self.text(first, &[SINGLE.as_slice(), &['\'']].concat())
            }
            '#' => {
                let span = self.take(self.line().len());
                let what = "a comment that begins with `#`";
                self.slip(not_json(span, what).help("comments are written `// …` or `/* … */`"));
            }
            '/' if self.rest().starts_with("//") => self.comment(self.line().len()),
            '/' if self.rest().starts_with("/*") => match self.rest().find("*/") {
                Some(end) => self.comment(end.saturating_add(2)),
                None => {
                    let begin = self.take(1);
                    let problem = not_json(begin, "a comment without an end");
                    let problem = problem.label("this one is not closed");
                    let help = "a comment that begins with `/*` ends with `*/`";
                    self.lexed.unreadable = Some(not_checked(problem.help(help)));
                    return false;
                }
            },
            _ if first.is_whitespace() => {
                let span = self.take(one);
                let what = format!("a blank that is no space: {}", first.escape_unicode());
                self.slip(not_json(span, what).help("write an ordinary space, or remove it"));
            }
            _ => self.word(),
        }
        true
    }

    fn line(&self) -> &str {
        self.rest().split(['\n', '\r']).next().unwrap_or_default()
    }

    fn skip(&mut self, length: usize) {
        self.at = self.at.saturating_add(length);
    }

    fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.at;
        self.skip(length);
        start..self.at
    }

    fn comment(&mut self, length: usize) {
        let span = self.take(length);
        self.lexed.comments.push(span);
    }

    fn slip(&mut self, problem: Problem) {
        self.lexed.slips.push(problem);
    }

    fn push(&mut self, token: Token, span: Range<usize>) {
        self.lexed.tokens.push(Lexeme { token, span });
    }

    fn sign(&mut self, token: Token) {
        let span = self.take(1);
        self.push(token, span);
    }

    /// `name = "a";` as other languages have it.
    fn other_sign(&mut self, written: char) {
        let (token, meant) = if written == ';' { (Token::Comma, ',') } else { (Token::Colon, ':') };
        let length = if self.rest().starts_with("=>") { 2 } else { 1 };
        let span = self.take(length);
        let problem = not_json(span.clone(), format!("`{written}` stands for nothing here"));
        self.slip(problem.label(format!("expected `{meant}`")).help(format!("write `{meant}`")));
        self.push(token, span);
    }

    fn word(&mut self) {
        let ends = |c: char| {
            c.is_whitespace()
                || ",:;={}[]\"'#".contains(c)
                || DOUBLE.contains(&c)
                || SINGLE.contains(&c)
        };
        let rest = self.rest();
        let length = rest
            .char_indices()
            .skip(1)
            .find(|(at, c)| {
                let behind = rest.get(*at..).unwrap_or_default();
                ends(*c) || behind.starts_with("//") || behind.starts_with("/*")
            })
            .map_or(rest.len(), |(at, _)| at);
        let word = rest.get(..length).unwrap_or_default().to_owned();
        let span = self.take(length);
        match number_meant(&word) {
            Some(meant) if meant == word => self.push(Token::Number(meant), span),
            Some(meant) => {
                let (what, label) = match without_zeros(&word) {
                    Some(_) => ("begins with a zero", "expected a number without"),
                    None => ("is not how JSON writes a number", "expected digits"),
                };
                let problem = not_json(span.clone(), format!("`{word}` {what}"));
                self.slip(problem.label(label).help(format!("write {meant}")));
                self.push(Token::Number(meant), span);
            }
            None => self.push(Token::Word(word), span),
        }
    }

    fn text(&mut self, open: char, closers: &[char]) {
        let start = self.at;
        let begin = self.take(open.len_utf8());
        let mut text = String::new();
        let (mut raw, mut closed) = (None, false);
        let mut curly = false;
        // The next quote is the same for all of the text, so it is looked for once.
        let mut seen = None;
        let mut over_lines = |rest: &str| *seen.get_or_insert_with(|| goes_on(rest, closers));
        while let Some(c) = self.rest().chars().next() {
            if closers.contains(&c) {
                self.skip(c.len_utf8());
                closed = true;
                break;
            }
            match c {
                '\\' => self.escape(&mut text, open),
                '\n' | '\r' if !over_lines(self.rest()) => break,
                // `"name”`: the other quote is of another kind.
                '”' | '»' if open == '"' && !curly && ends_here(self.rest(), &mut over_lines) => {
                    self.skip(c.len_utf8());
                    let span = start..self.at;
                    self.slip(in_quotes(span.clone(), "this text ends in a curly quote", &text));
                    return self.push(Token::Text(text), span);
                }
                _ => {
                    curly = curly || c == '“' || c == '«';
                    if c < ' ' {
                        raw.get_or_insert((self.at, c));
                    }
                    text.push(c);
                    self.skip(c.len_utf8());
                }
            }
        }
        if !closed {
            // What closes the line was hardly meant to be in the text.
            let closing = [',', '}', ']', ' ', '\t', '\n', '\r'];
            text.truncate(text.trim_end_matches(closing).len());
            let written = self.source.get(begin.end..self.at).unwrap_or_default();
            self.at = begin.end.saturating_add(written.trim_end_matches(closing).len());
            let problem = not_json(begin, "a text without an end").label("this one is not closed");
            self.slip(problem.help("a `\"` is missing: each text ends with one, in the same line"));
        } else if open != '"' {
            let kind = if open == '\'' { "single" } else { "curly" };
            let what = format!("this text stands in {kind} quotes");
            self.slip(in_quotes(start..self.at, &what, &text));
        }
        if let Some((at, c)) = raw {
            let (what, how) = match c {
                '\n' | '\r' => ("a text goes on in the next line", "write `\\n` for a line break"),
                '\t' => ("a tab inside a text", "write `\\t` for a tab"),
                _ => ("a control character inside a text", "remove it, or write it as `\\u00…`"),
            };
            let one = at..at.saturating_add(1);
            self.slip(not_json(one, what).label("JSON allows none here").help(how));
        }
        self.push(Token::Text(text), start..self.at);
    }

    fn escape(&mut self, text: &mut String, open: char) {
        let rest = self.rest();
        let (means, length) = match rest.chars().nth(1) {
            Some(c @ ('"' | '\\' | '/')) => (Some(c), 2),
            Some('b') => (Some('\u{8}'), 2),
            Some('f') => (Some('\u{c}'), 2),
            Some('n') => (Some('\n'), 2),
            Some('r') => (Some('\r'), 2),
            Some('t') => (Some('\t'), 2),
            // Told as what stands in single quotes.
            Some('\'') if open == '\'' => (Some('\''), 2),
            Some('u') => match unit(rest) {
                Some(first @ 0xd800..0xdc00) => match rest.get(6..).and_then(unit) {
                    Some(second) => (from_units(&[first, second]), 12),
                    None => (None, 6),
                },
                Some(one) => (from_units(&[one]), 6),
                None => (None, 2),
            },
            Some(other) => (None, 1_usize.saturating_add(other.len_utf8())),
            None => (None, 1),
        };
        if let Some(means) = means {
            text.push(means);
            self.skip(length);
            return;
        }
        let (what, help) = match rest.starts_with("\\u") {
            true if length == 2 => (
                "`\\u` without its four digits",
                "`\\u` is followed by four digits, as in `\\u00e9`; a backslash itself is written `\\\\`",
            ),
            true => (
                "half a character",
                "write the character itself: `\\ud800` to `\\udfff` are halves, and each needs its other half",
            ),
            false => ("an escape that there is not", "a backslash in a text is written `\\\\`"),
        };
        let shown = length.min(6);
        let span = self.at..self.at.saturating_add(shown);
        self.slip(not_json(span, what).help(help));
        // What follows is read as if it stood there alone.
        text.push(if shown == 6 { '\u{fffd}' } else { '\\' });
        self.skip(if shown == 6 { 6 } else { 1 });
    }
}

/// Whether a text that is open at the start of this ends where a text can end: then it only went over some lines.
fn goes_on(rest: &str, closers: &[char]) -> bool {
    let mut escaped = false;
    let end = rest.char_indices().find(|(_, c)| {
        let is_end = !escaped && closers.contains(c);
        escaped = *c == '\\' && !escaped;
        is_end
    });
    let Some((at, closer)) = end else { return false };
    let behind = rest.get(at.saturating_add(closer.len_utf8())..).unwrap_or_default();
    behind.trim_start().chars().next().is_none_or(|c| ",:}]".contains(c))
}

/// Whether the quote that this begins with, of another kind than the one that opened, is the end of the text.
fn ends_here(rest: &str, over_lines: &mut impl FnMut(&str) -> bool) -> bool {
    let mut chars = rest.chars();
    chars.next();
    let behind = chars.as_str();
    let blank = behind.trim_start_matches([' ', '\t']);
    blank.chars().next().is_none_or(|c| ",:}]\r\n".contains(c)) && !over_lines(behind)
}

fn in_quotes(span: Range<usize>, what: &str, text: &str) -> Problem {
    const SHORT: usize = 60;
    let help = match serde_json::to_string(text) {
        Ok(quoted) if quoted.len() <= SHORT => format!("write {quoted}"),
        _ => "write it in straight quotes: \"like this\"".to_owned(),
    };
    not_json(span, what).label("expected double quotes").help(help)
}

/// The same for what stands in none.
pub(super) fn without_quotes(span: Range<usize>, what: &str, text: &str) -> Problem {
    in_quotes(span, what, text)
}

fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn from_units(units: &[u16]) -> Option<char> {
    char::decode_utf16(units.iter().copied()).next()?.ok()
}

/// The number that a word is, as JSON writes it.
fn number_meant(word: &str) -> Option<String> {
    if is_number(word) {
        return Some(word.to_owned());
    }
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|number| format!("{sign}{number}"));
    }
    let digits = digits.replace('_', "");
    let digits = without_zeros(&digits).unwrap_or(digits);
    let digits = if digits.starts_with('.') { format!("0{digits}") } else { digits };
    let meant = format!("{sign}{}", digits.strip_suffix('.').unwrap_or(&digits));
    is_number(&meant).then_some(meant)
}

/// The number without the zeros that it should not begin with, if it does.
fn without_zeros(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word),
    };
    let behind = digits.strip_prefix('0').filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let rest = behind?.trim_start_matches('0');
    let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    Some(format!("{sign}{zero}{rest}"))
}

/// Exactly what JSON calls a number.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (number, exponent) = match word.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|it| digits(it.strip_prefix(['+', '-']).unwrap_or(it)))
}
