//! Text for a person's eyes. What does not stand in our own source cannot move the cursor, colour, hide or reorder
//! anything: it is seen as what it is.
//!
//! [`Shown`] is the only thing that [`crate::out`] prints, and [`text!`] the only way to put one together. Its format
//! string is a literal that captures nothing, and each argument goes through [`Show`], which writes out every character
//! that would not be seen as itself; which those are, and how they are written, is `pintle_profile`'s to say. So escaping
//! cannot be forgotten: what is not shown does not compile.

use std::{borrow::Cow, fmt, path::Path};

use anstyle::{AnsiColor, Style};
use pintle_profile::{is_hidden, on_one_line, visible};
use serde::Serialize;
use serde_json::Value;

/// Text that may go to a terminal as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown(String);

/// How something is seen on one line.
pub(crate) trait Show {
    fn shown(&self) -> Shown;
}

/// A line of ours: `text!("{} blocked by {}", point, handler)`. It captures no variables, for those would not be shown.
macro_rules! text {
    ($format:literal $(, $argument:expr)* $(,)?) => {
        $crate::shown::Shown::of_our_source(
            // A format string that a macro makes cannot capture.
            format_args!(concat!($format) $(, $crate::shown::Show::shown(&$argument))*),
        )
    };
}
pub(crate) use text;

impl Shown {
    /// For `text!` alone.
    pub(crate) fn of_our_source(text: fmt::Arguments<'_>) -> Self {
        Self(text.to_string())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Text that was shown already, and cut, wrapped or joined since.
    pub(super) fn laid_out(text: String) -> Self {
        Self(text)
    }

    /// Its lines, each for itself.
    pub(crate) fn split_lines(&self) -> impl Iterator<Item = Self> {
        self.0.split('\n').map(|line| Self(line.to_owned()))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Text of several lines: line breaks and tabs are what they are.
pub(crate) fn lines(text: &str) -> Shown {
    // A streamed piece may end in the middle of a line end.
    Shown(visible(text.strip_suffix('\r').unwrap_or(text)).into_owned())
}

/// The same, each line but the first set in, so that none passes for a line of ours.
pub(crate) fn paragraph(text: &str, indent: usize) -> Shown {
    let indented = lines(text).0.replace('\n', &format!("\n{}", " ".repeat(indent)));
    let lines = indented.split('\n').map(str::trim_end);
    Shown(lines.collect::<Vec<_>>().join("\n"))
}

/// Text of several lines that a library has drawn: its colours stay, and nothing else of a terminal's language.
pub(crate) fn drawn(text: &str) -> Shown {
    let mut pieces = text.split('\u{1b}');
    let mut shown = lines(pieces.next().unwrap_or_default()).0;
    for piece in pieces {
        let escape = piece.strip_prefix('[').and_then(|escape| escape.split_once('m'));
        match escape.filter(|(parameters, _)| parameters.split(';').all(is_colour)) {
            Some((parameters, rest)) => {
                shown.push_str(&format!("\u{1b}[{parameters}m{}", lines(rest)));
            }
            None => shown.push_str(&format!("\\u{{1b}}{}", lines(piece))),
        }
    }
    Shown(shown)
}

/// A colour, bold, dim or underlined; not hidden.
fn is_colour(parameter: &str) -> bool {
    parameter.is_empty()
        || parameter
            .parse()
            .is_ok_and(|number| matches!(number, 0..=4_u8 | 22..=24 | 30..=37 | 39 | 90..=97))
}

/// JSON for machines, and for people who look at it: the same value, in characters that are all seen.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<Shown> {
    serde_json::to_string(value).map(|text| plain_json(&text))
}

/// The same over several lines.
pub(crate) fn pretty_json(value: &impl Serialize) -> serde_json::Result<Shown> {
    serde_json::to_string_pretty(value).map(|text| plain_json(&text))
}

/// Invisible characters occur only inside strings, where JSON can escape them.
fn plain_json(json: &str) -> Shown {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_hidden(c) {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Shown(shown)
}

impl Show for str {
    fn shown(&self) -> Shown {
        Shown(on_one_line(self).into_owned())
    }
}

impl Show for Shown {
    fn shown(&self) -> Shown {
        self.clone()
    }
}

impl<T: Show + ?Sized> Show for &T {
    fn shown(&self) -> Shown {
        (**self).shown()
    }
}

impl Show for Value {
    fn shown(&self) -> Shown {
        plain_json(&self.to_string())
    }
}

impl Show for Path {
    fn shown(&self) -> Shown {
        self.display().shown()
    }
}

/// By their words, like any text.
macro_rules! show_by_display {
    ($($type:ty),*) => {
        $(impl Show for $type {
            fn shown(&self) -> Shown {
                self.to_string().as_str().shown()
            }
        })*
    };
}

show_by_display!(
    String,
    Cow<'_, str>,
    std::path::Display<'_>,
    fmt::Arguments<'_>,
    u8,
    u32,
    u64,
    u128,
    i32,
    usize
);

fn styled(style: Style, what: impl Show) -> Shown {
    Shown(format!("{style}{}{style:#}", what.shown()))
}

/// Only these: a terminal's own sixteen colours, and no backgrounds.
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const BLUE: Style = AnsiColor::Blue.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

pub(crate) fn red(what: impl Show) -> Shown {
    styled(RED, what)
}

pub(crate) fn cyan(what: impl Show) -> Shown {
    styled(CYAN, what)
}

pub(crate) fn blue(what: impl Show) -> Shown {
    styled(BLUE, what)
}

pub(crate) fn green(what: impl Show) -> Shown {
    styled(GREEN, what)
}

pub(crate) fn yellow(what: impl Show) -> Shown {
    styled(YELLOW, what)
}

pub(crate) fn dim(what: impl Show) -> Shown {
    styled(DIM, what)
}

pub(crate) fn bold(what: impl Show) -> Shown {
    styled(BOLD, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Show, drawn, json, lines, paragraph, pretty_json};

    #[test]
    fn an_answer_keeps_its_lines_and_tabs_and_nothing_else() {
        assert_eq!(lines("a\r\n\tb\rc\u{1b}[2J\n").as_str(), "a\n\tb\\rc\\u{1b}[2J\n");
        assert_eq!(paragraph("a\nyou  b", 4).as_str(), "a\n    you  b");
    }

    #[test]
    fn a_drawing_keeps_its_colours_and_nothing_else() {
        let table = [
            ("\u{1b}[1m\u{1b}[31;1merror\u{1b}[0m", "\u{1b}[1m\u{1b}[31;1merror\u{1b}[0m"),
            ("x\u{1b}[2J\u{1b}[5Fy\u{1b}", "x\\u{1b}[2J\\u{1b}[5Fy\\u{1b}"),
            ("\u{1b}[\u{1b}[31m", "\\u{1b}[\u{1b}[31m"),
            ("\u{1b}[8mhidden\u{1b}[0m", "\\u{1b}[8mhidden\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}\u{1b}[", "\\u{1b}]0;title\\u{7}\\u{1b}["),
        ];
        for (text, seen) in table {
            assert_eq!(drawn(text).as_str(), seen);
        }
    }

    #[test]
    fn json_says_the_same_in_characters_that_are_seen() {
        let value = json!({"p\u{202e}": "\u{1b}[J\u{9b}\u{7f}\n\u{200d}\u{e0041}é"});
        for shown in [json(&value).unwrap(), pretty_json(&value).unwrap(), value.shown()] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(shown.as_str()).unwrap(), value);
            let seen = shown.as_str().replace('\n', "");
            assert_eq!(seen.shown().as_str(), seen);
        }
    }

    #[test]
    fn what_is_put_together_is_shown_piece_by_piece() {
        let hostile = String::from("x\u{1b}[2J\n");
        let line = text!("{:<4}| {} {}", "ab", super::red(&hostile), 7_u64);
        assert_eq!(line.as_str(), "ab  | \u{1b}[31mx\\u{1b}[2J\\n\u{1b}[0m 7");
    }
}
