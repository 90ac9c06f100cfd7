//! The glyphs, each with one meaning and an ASCII replacement.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::shown::{Show, Shown, blue, bold, dim, green, red, text, yellow};

/// A glyph in its colour.
#[allow(dead_code)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glyph {
    /// A call is running.
    Running,
    /// A call ran and worked, or a check passed.
    Ok,
    /// A call ran and failed, or a check failed.
    Failed,
    /// A call did not run.
    Blocked,
    /// A person is asked.
    Ask,
    Warning,
    Retry,
    /// A verdict, or what to do next.
    Next,
    /// Output, or a branch that goes on.
    Bar,
    Branch,
    LastBranch,
    Prompt,
    /// The person stopped it.
    Stopped,
}

impl Show for Glyph {
    fn shown(&self) -> Shown {
        match self {
            Self::Running => blue("●"),
            Self::Ok => green("✓"),
            Self::Failed => red("✗"),
            Self::Blocked => bold(red("⊘")),
            Self::Ask => bold(yellow("?")),
            Self::Warning => yellow("!"),
            Self::Retry => yellow("↻"),
            Self::Next => bold("→"),
            Self::Bar => dim("│"),
            Self::Branch => dim("├"),
            Self::LastBranch => dim("└"),
            Self::Prompt => bold("›"),
            Self::Stopped => text!("{}", "■"),
        }
    }
}

/// The glyphs and their ASCII forms.
const IN_ASCII: [(char, &str); 24] = [
    ('●', "*"),
    ('✓', "+"),
    ('✗', "x"),
    ('⊘', "#"),
    ('↻', "~"),
    ('→', ">"),
    ('│', "|"),
    ('├', "|-"),
    ('└', "+-"),
    ('█', "="),
    ('▒', "m"),
    ('░', "."),
    ('▏', "'"),
    ('┊', ":"),
    ('›', ">"),
    ('■', "%"),
    ('·', "-"),
    ('…', "..."),
    ('─', "-"),
    ('×', "x"),
    ('“', "\""),
    ('”', "\""),
    ('‘', "'"),
    ('’', "'"),
];

static ASCII: AtomicBool = AtomicBool::new(false);

/// Whether only ASCII can be shown.
pub(crate) fn set_ascii(ascii: bool) {
    ASCII.store(ascii, Ordering::Relaxed);
}

pub(crate) fn is_ascii() -> bool {
    ASCII.load(Ordering::Relaxed)
}

/// The replacement of this character, if it has one.
pub(super) fn in_ascii(c: char) -> Option<&'static str> {
    if c.is_ascii() || !is_ascii() {
        return None;
    }
    IN_ASCII.iter().find(|(glyph, _)| *glyph == c).map(|(_, ascii)| *ascii)
}

/// Text as it is written to the terminal.
pub(crate) fn to_ascii(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| in_ascii(c).is_some()) {
        return text.into();
    }
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match in_ascii(c) {
            Some(instead) => ascii.push_str(instead),
            None => ascii.push(c),
        }
    }
    ascii.into()
}
