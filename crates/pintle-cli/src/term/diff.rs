//! The changes of a text, line by line, with line numbers.

use similar::{ChangeTag, TextDiff};

use super::{pad, plural, wrap};
use crate::shown::{Show, Shown, dim, green, red, text};

/// A line number has room for at least this many digits.
const LEAST_DIGITS: usize = 3;
/// The columns between the number and the text: the sign and the bar.
const BEFORE_TEXT: usize = 5;

/// Two texts, compared.
pub(crate) struct Diff<'a> {
    old: &'a str,
    new: &'a str,
    diff: TextDiff<'a, 'a, 'a, str>,
}

impl<'a> Diff<'a> {
    pub(crate) fn between(old: &'a str, new: &'a str) -> Self {
        Self { old, new, diff: TextDiff::from_lines(old, new) }
    }

    /// How many lines are added and removed.
    pub(crate) fn changed(&self) -> (usize, usize) {
        let of = |tag| self.diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        (of(ChangeTag::Insert), of(ChangeTag::Delete))
    }

    /// The same as `+2 -1`.
    pub(crate) fn counts(&self) -> Shown {
        let (added, removed) = self.changed();
        text!("{} {}", green(text!("+{}", added)), red(text!("-{}", removed)))
    }

    /// The changed lines with `context` around them. `first` is the number of the first line: a text may be a part of a
    /// file.
    pub(crate) fn parts(&self, context: usize, first: usize) -> Vec<DiffPart> {
        let mut parts = Vec::new();
        let mut shown_until = 0;
        for group in self.diff.grouped_ops(context) {
            let from = group.first().map_or(0, |op| op.new_range().start);
            if from > shown_until && shown_until > 0 {
                parts.push(DiffPart::LeftOut(from - shown_until));
            }
            for change in group.iter().flat_map(|op| self.diff.iter_changes(op)) {
                let index = change.new_index().or(change.old_index()).unwrap_or(0);
                let text = change.value().trim_end_matches(['\n', '\r']).replace('\t', "    ");
                parts.push(DiffPart::Line { tag: change.tag(), number: index + first, text });
                shown_until = change.new_index().map_or(shown_until, |at| at + 1);
            }
        }
        let ends = |text: &str| text.is_empty() || text.ends_with('\n');
        if ends(self.old) != ends(self.new) {
            let what = match (self.old.is_empty(), ends(self.new)) {
                (true, _) => "(no line break at the end)",
                (false, true) => "(now with a line break at the end)",
                (false, false) => "(now with no line break at the end)",
            };
            parts.push(DiffPart::Note(what.to_owned()));
        }
        parts
    }

    /// The same lines with their numbers, for a terminal of this width.
    pub(crate) fn lines(&self, context: usize, first: usize, width: usize) -> Vec<Shown> {
        let last = first + self.old.lines().count().max(self.new.lines().count());
        let margin = last.to_string().len().max(LEAST_DIGITS);
        let mut page = Page { margin, width, lines: Vec::new() };
        for part in self.parts(context, first) {
            match part {
                DiffPart::Line { tag, number, text } => page.line(tag, number, &text),
                DiffPart::LeftOut(lines) => page.gap(lines),
                DiffPart::Note(note) => page.push("", dim(note)),
            }
        }
        page.lines
    }
}

/// A part of a diff.
pub(crate) enum DiffPart {
    Line {
        tag: ChangeTag,
        number: usize,
        text: String,
    },
    /// The number of unchanged lines that are left out.
    LeftOut(usize),
    Note(String),
}

/// Lines of a diff, with room for a number at the left.
struct Page {
    margin: usize,
    width: usize,
    lines: Vec<Shown>,
}

impl Page {
    fn line(&mut self, tag: ChangeTag, number: usize, value: &str) {
        let (sign, colour): (_, fn(Shown) -> Shown) = match tag {
            ChangeTag::Equal => (" ", dim),
            ChangeTag::Delete => ("-", red),
            ChangeTag::Insert => ("+", green),
        };
        let indent = value.chars().take_while(|c| *c == ' ').count().min(self.width / 3) + 2;
        let room = self.width.saturating_sub(self.margin + BEFORE_TEXT);
        let mut before = format!("{number} {sign}");
        for part in wrap(&value.shown(), room, indent).split_lines() {
            self.push(&before, colour(part));
            before = String::new();
        }
    }

    fn gap(&mut self, lines: usize) {
        self.push("…", dim(text!("{} more", plural(lines as u64, "line"))));
    }

    fn push(&mut self, before: &str, text: Shown) {
        let before = pad(&before.shown(), self.margin + 2, true);
        self.lines.push(text!("{} {}", dim(text!("{} │", before)), text));
    }
}
