//! The calls, tokens and cost of a run.

use std::time::Duration;

use super::{call_view::CallView, question::short};
use crate::{
    shown::{Shown, dim, text},
    term::{Glyph, columns, cost, duration, plural, tokens, width, wrap},
};

/// One call of a run, for a summary.
pub(crate) struct CallLog {
    pub(crate) glyph: Glyph,
    pub(crate) call: Shown,
    /// Its outcome, in a few words.
    pub(crate) what: Shown,
    pub(crate) ran: bool,
    /// Whether it was judged before it ran.
    pub(crate) judged: bool,
    pub(crate) approved: bool,
    /// How many things the kernel refused.
    pub(crate) refused: usize,
    /// When it was judged or started, from the beginning of the run.
    pub(crate) from: Duration,
    pub(crate) took: Duration,
}

/// The figures for the last lines of a run.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) turns: u64,
    pub(super) retries: u64,
    pub(super) input_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cost_usd: f64,
}

impl Totals {
    pub(super) fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.retries += other.retries;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
        self.cost_usd += other.cost_usd;
    }

    pub(super) fn tokens(&self) -> Shown {
        let cached = match self.cached_tokens {
            0 => String::new(),
            cached => format!(" ({} cached)", tokens(cached)),
        };
        let (input, output) = (tokens(self.input_tokens), tokens(self.output_tokens));
        match cost(self.cost_usd) {
            Some(cost) => text!("{} in{}, {} out · {}", input, cached, output, cost),
            None => text!("{} in{}, {} out", input, cached, output),
        }
    }

    /// The last lines of a run.
    pub(super) fn lines(
        &self,
        calls: &CallView,
        took: Duration,
        waited: Duration,
        run: &str,
    ) -> Vec<Shown> {
        let mut did = Vec::new();
        if calls.calls > 0 {
            did.push(plural(self.turns, "turn"));
            let mut counted = vec![plural(calls.calls, "call")];
            if calls.rejected > 0 {
                counted.push(format!("{} blocked", calls.rejected));
            }
            did.push(counted.join(", "));
        }
        if self.retries > 0 {
            did.push(match self.retries {
                1 => "1 retry".to_owned(),
                more => format!("{more} retries"),
            });
        }
        let waited = match waited.as_millis() {
            0..1000 => String::new(),
            _ => format!(" + {} waiting for you", duration(waited)),
        };
        let time = text!("{}{} · pintle trace {}", duration(took), waited, short(run));
        let first = did.iter().fold(Shown::default(), |line, part| text!("{}{} · ", line, part));
        let first = text!("{}{}", first, self.tokens());
        match columns(&first) + columns(&time) + 3 <= width() {
            true => vec![dim(text!("{} · {}", first, time))],
            false => [first, time].iter().map(|line| dim(wrap(line, width(), 2))).collect(),
        }
    }
}

/// Whether the output of a failed hook is that of a crashed program, and not a verdict.
pub(super) fn has_crashed(message: &str) -> bool {
    [
        "Traceback (most recent call last)",
        "panicked at",
        "SyntaxError",
        "No such file or directory",
        "not found",
    ]
    .iter()
    .any(|mark| message.contains(mark))
}

/// The notes that tools add to an output, in brackets on a separate line.
const NOTES: [&str; 7] = [
    "[exit code ",
    "[killed by signal ",
    "[stopped ",
    "[a process it left ",
    "[the sandbox of ",
    "[The run was stopped",
    "[it was not run again",
];

/// The lines of an output without the notes at its end, and how the command ended.
pub(super) fn split_notes(text: &str) -> (Vec<&str>, Option<String>) {
    let mut lines: Vec<&str> = text.trim_end().lines().collect();
    let mut code = None;
    while let Some(last) = lines.last().filter(|last| NOTES.iter().any(|it| last.starts_with(it))) {
        let note = last.trim_matches(['[', ']']);
        if let Some(number) = note.strip_prefix("exit code ") {
            code = Some(format!("exit {number}"));
        } else if note.starts_with("killed by") {
            code = Some(note.to_owned());
        }
        lines.pop();
    }
    (lines, code)
}
