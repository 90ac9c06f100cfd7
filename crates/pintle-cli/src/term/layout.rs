//! Lines that fit: measuring, cutting and wrapping text that may be coloured.

use std::sync::atomic::{AtomicUsize, Ordering};

use unicode_width::UnicodeWidthChar;

use super::glyph::in_ascii;
use crate::shown::Shown;

/// Wider lines are hard to read, narrower ones hold nothing.
const NARROWEST: usize = 40;
const WIDEST: usize = 100;
const MORE: char = '…';

static WIDTH: AtomicUsize = AtomicUsize::new(80);
static OF_MESSAGES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sets the width of the terminal.
pub(crate) fn set_width(columns: usize) {
    WIDTH.store(columns.clamp(NARROWEST, WIDEST), Ordering::Relaxed);
}

/// How many columns a line may have.
pub(crate) fn width() -> usize {
    WIDTH.load(Ordering::Relaxed)
}

/// The columns of messages on standard error. Where that is not a terminal they are not wrapped: a program reads them.
pub(crate) fn set_width_of_messages(columns: Option<usize>) {
    let columns = columns.map_or(usize::MAX, |columns| columns.clamp(NARROWEST, WIDEST));
    OF_MESSAGES.store(columns, Ordering::Relaxed);
}

pub(crate) fn width_of_messages() -> usize {
    OF_MESSAGES.load(Ordering::Relaxed)
}

/// A character that takes columns, or a colour that takes none.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Char(char),
    Colour(&'a str),
}

impl Piece<'_> {
    fn columns(self) -> usize {
        match self {
            Self::Colour(_) => 0,
            Self::Char(c) => match in_ascii(c) {
                Some(instead) => instead.len(),
                None => c.width().unwrap_or(0),
            },
        }
    }

    fn push_to(self, text: &mut String) {
        match self {
            Self::Char(c) => text.push(c),
            Self::Colour(colour) => text.push_str(colour),
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let colour = rest.starts_with("\u{1b}[").then(|| rest.find('m')).flatten();
        if let Some((colour, after)) = colour.and_then(|end| rest.split_at_checked(end + 1)) {
            rest = after;
            return Some(Piece::Colour(colour));
        }
        let mut chars = rest.chars();
        let c = chars.next()?;
        rest = chars.as_str();
        Some(Piece::Char(c))
    })
}

/// How many columns a line takes.
pub(crate) fn columns(line: &Shown) -> usize {
    columns_of(line.as_str())
}

fn columns_of(text: &str) -> usize {
    pieces(text).map(Piece::columns).sum()
}

/// Spaces up to so many columns: behind the text, or before it.
pub(crate) fn pad(text: &Shown, columns: usize, right: bool) -> Shown {
    let missing = " ".repeat(columns.saturating_sub(columns_of(text.as_str())));
    Shown::laid_out(match right {
        true => format!("{missing}{}", text.as_str()),
        false => format!("{}{missing}", text.as_str()),
    })
}

/// Cut at the end to so many columns.
pub(crate) fn fit(text: &Shown, columns: usize) -> Shown {
    if columns_of(text.as_str()) <= columns {
        return text.clone();
    }
    let room = columns.saturating_sub(Piece::Char(MORE).columns());
    let mut kept = String::new();
    let (mut taken, mut cut) = (0, false);
    for piece in pieces(text.as_str()) {
        taken += piece.columns();
        if taken > room && !cut {
            kept.push(MORE);
            cut = true;
        }
        // Colours behind the cut end those before it.
        if !cut || matches!(piece, Piece::Colour(_)) {
            piece.push_to(&mut kept);
        }
    }
    Shown::laid_out(kept)
}

/// Cut in the middle to so many columns: the end of a path or a command says most.
pub(crate) fn fit_middle(text: &Shown, columns: usize) -> Shown {
    let whole = columns_of(text.as_str());
    if whole <= columns {
        return text.clone();
    }
    let room = columns.saturating_sub(Piece::Char(MORE).columns());
    let (head, tail) = (room / 2, whole - room.div_ceil(2));
    let mut kept = String::new();
    let (mut taken, mut cut) = (0, false);
    for piece in pieces(text.as_str()) {
        let from = taken;
        taken += piece.columns();
        if taken <= head || from >= tail || matches!(piece, Piece::Colour(_)) {
            piece.push_to(&mut kept);
        } else if !cut {
            kept.push(MORE);
            cut = true;
        }
    }
    Shown::laid_out(kept)
}

/// Wrapped at words to so many columns, each line but the first set in. A word that is longer than a line is cut, at a `/`
/// if there is one.
pub(crate) fn wrap(text: &Shown, columns: usize, indent: usize) -> Shown {
    let lines = text.as_str().split('\n').map(|line| wrap_line(line, columns, indent));
    Shown::laid_out(lines.collect::<Vec<_>>().join("\n"))
}

fn wrap_line(line: &str, columns: usize, indent: usize) -> String {
    if columns_of(line) <= columns {
        return line.to_owned();
    }
    let mut wrapped =
        Wrapped { columns, indent, text: String::new(), at: 0, colour: String::new() };
    for word in line.split_inclusive(' ') {
        wrapped.add(word);
    }
    wrapped.text.trim_end_matches(' ').to_owned()
}

struct Wrapped {
    columns: usize,
    indent: usize,
    text: String,
    /// The column that is written next.
    at: usize,
    /// The colours that are on.
    colour: String,
}

impl Wrapped {
    fn add(&mut self, word: &str) {
        let needed = columns_of(word.trim_end_matches(' '));
        let room = self.columns.saturating_sub(self.indent).max(1);
        if self.at + needed > self.columns && self.at > self.indent && needed <= room {
            self.new_line();
        }
        if self.at + needed <= self.columns {
            return self.write(word);
        }
        // Longer than a line, or than what is left of the first one.
        if needed <= room {
            self.new_line();
            return self.write(word);
        }
        for part in word.split_inclusive('/') {
            let needed = columns_of(part.trim_end_matches(' '));
            if self.at + needed > self.columns && self.at > self.indent {
                self.new_line();
            }
            self.write(part);
        }
    }

    fn write(&mut self, text: &str) {
        for piece in pieces(text) {
            if let Piece::Colour(colour) = piece {
                match colour {
                    "\u{1b}[0m" => self.colour.clear(),
                    on => self.colour.push_str(on),
                }
            } else if self.at + piece.columns() > self.columns && !matches!(piece, Piece::Char(' '))
            {
                self.new_line();
            }
            piece.push_to(&mut self.text);
            self.at += piece.columns();
        }
    }

    /// A colour does not go over the end of a line: lines may be taken apart.
    fn new_line(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        if !self.colour.is_empty() {
            self.text.push_str("\u{1b}[0m");
        }
        self.text.push('\n');
        self.text.push_str(&" ".repeat(self.indent));
        self.text.push_str(&self.colour);
        self.at = self.indent;
    }
}
