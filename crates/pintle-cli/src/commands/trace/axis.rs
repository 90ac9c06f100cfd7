//! One time axis for all rows: to scale, with long waits for people folded.

use super::rows::{Bar, Segment};
use crate::{
    shown::{Shown, blue, dim, green, red, text, yellow},
    term::{columns, pad},
};

/// How many cells a folded wait keeps.
const FOLD: f64 = 3.0;
/// A wait is folded when it is longer than this part of the rest.
const FOLDED_FROM: f64 = 0.2;

/// A time from its start to its end, in milliseconds since the run began.
pub(super) type Span = (f64, f64);

pub(super) struct Axis {
    cells: usize,
    end: f64,
    folds: Vec<Span>,
    /// Cells for each millisecond that is not folded.
    scale: f64,
}

impl Axis {
    /// `waits` are the times in which the run waited for a person, `busy` the times in which something ran.
    pub(super) fn new(cells: usize, end: f64, waits: &[Span], busy: &[Span]) -> Self {
        let idle = without(&merged(waits), &merged(busy));
        let all: f64 = idle.iter().map(|(from, to)| to - from).sum();
        let rest = (end - all).max(1.0);
        let long = |(from, to): &Span| to - from > rest * FOLDED_FROM;
        let folds: Vec<Span> = idle.into_iter().filter(long).collect();
        let folded: f64 = folds.iter().map(|(from, to)| to - from).sum();
        let room = (cells as f64 - FOLD * folds.len() as f64).max(1.0);
        Self { cells, end, folds, scale: room / (end - folded).max(1.0) }
    }

    /// How much time is folded.
    pub(super) fn folded(&self) -> Option<u64> {
        let folded: f64 = self.folds.iter().map(|(from, to)| to - from).sum();
        (folded > 0.0).then_some(folded as u64)
    }

    fn cell(&self, at: f64) -> f64 {
        let mut cell = at * self.scale;
        for (from, to) in &self.folds {
            let inside = (at.min(*to) - from).max(0.0);
            cell += FOLD * inside / (to - from) - inside * self.scale;
        }
        cell.clamp(0.0, self.cells as f64)
    }

    /// The bar of a row.
    pub(super) fn draw(&self, segments: &[Segment], failed: bool) -> Shown {
        let mut line: Vec<Option<Bar>> = vec![None; self.cells];
        for Segment { bar, from, to } in segments {
            let (first, last) = (self.cell(*from), self.cell(*to));
            let start = (first.floor() as usize).min(self.cells.saturating_sub(1));
            let cells = (last.round() as usize).saturating_sub(start);
            let bar = if last - first < 0.5 { Bar::Instant } else { *bar };
            for cell in line.iter_mut().skip(start).take(cells.max(1)) {
                // An instant does not hide a longer bar.
                if cell.is_none() || bar != Bar::Instant {
                    *cell = Some(bar);
                }
            }
        }
        for (from, to) in &self.folds {
            let middle = (self.cell(*from) + self.cell(*to)) / 2.0;
            if let Some(cell) = line.get_mut(middle.floor() as usize)
                && *cell == Some(Bar::Wait)
            {
                *cell = Some(Bar::Fold);
            }
        }
        let mut drawn = Shown::default();
        for run in line.chunk_by(|one, next| one == next) {
            drawn = text!("{}{}", drawn, piece(run.first().copied().flatten(), run.len(), failed));
        }
        drawn
    }

    /// The moments above the bars.
    pub(super) fn header(&self) -> Shown {
        let step = self.step();
        let mut line = Shown::default();
        let mut put = |at: f64, label: &str| {
            let (cell, taken) = (at.round() as usize, columns(&line));
            let fits = cell + label.len() <= self.cells && (cell > taken || taken == 0);
            if fits {
                line = text!("{}{}", pad(&line, cell, false), label);
            }
        };
        let mut folds = self.folds.iter().peekable();
        let mut at = 0.0;
        while at <= self.end {
            if let Some((from, to)) = folds.next_if(|(from, _)| *from <= at) {
                put((self.cell(*from) + self.cell(*to)) / 2.0 - 0.5, "┊");
                at = (to / step).ceil() * step;
                continue;
            }
            put(self.cell(at), &label(at, step, at == 0.0));
            at += step;
        }
        dim(line)
    }

    /// The time between two labels: a round number, with room for the label.
    fn step(&self) -> f64 {
        let nice = (0..9).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(power)));
        let minutes = [60_000.0, 120_000.0, 300_000.0, 600_000.0, 1_800_000.0, 3_600_000.0];
        let mut steps: Vec<f64> = nice.filter(|step| *step < 60_000.0).chain(minutes).collect();
        steps.retain(|step| step * self.scale >= 5.0);
        steps.first().copied().unwrap_or(self.end.max(1.0))
    }
}

fn label(at: f64, step: f64, first: bool) -> String {
    let seconds = at / 1000.0;
    match step {
        _ if first && step < 1000.0 => "0 ms".to_owned(),
        _ if first => "0 s".to_owned(),
        _ if step < 1000.0 => format!("{at:.0}"),
        _ if seconds >= 60.0 => format!("{}:{:02}", seconds as u64 / 60, seconds as u64 % 60),
        _ => format!("{seconds:.0}"),
    }
}

fn piece(bar: Option<Bar>, cells: usize, failed: bool) -> Shown {
    match bar {
        None => text!("{}", " ".repeat(cells)),
        Some(Bar::Tool) if failed => red("█".repeat(cells)),
        Some(Bar::Tool) => green("█".repeat(cells)),
        Some(Bar::Model) => blue("▒".repeat(cells)),
        Some(Bar::Wait) => yellow("░".repeat(cells)),
        Some(Bar::Fold) => yellow("┊".repeat(cells)),
        Some(Bar::Instant) => text!("{}", format!("▏{}", " ".repeat(cells.saturating_sub(1)))),
    }
}

/// The same times, in order and without overlaps.
fn merged(spans: &[Span]) -> Vec<Span> {
    let mut spans = spans.to_vec();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut merged: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The first spans without the second ones.
fn without(spans: &[Span], taken: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    for (from, to) in spans {
        let mut at = *from;
        for (start, end) in taken.iter().filter(|(start, end)| end > from && start < to) {
            left.push((at, *start));
            at = at.max(*end);
        }
        left.push((at, *to));
    }
    left.retain(|(from, to)| to > from);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(axis: &Axis, bar: Bar, from: f64, to: f64) -> String {
        let drawn = axis.draw(&[Segment { bar, from, to }], false);
        anstream::adapter::strip_str(drawn.as_str()).to_string()
    }

    #[test]
    fn bars_are_to_scale_and_an_instant_is_seen() {
        let axis = Axis::new(20, 1000.0, &[], &[]);
        assert_eq!(bar(&axis, Bar::Tool, 0.0, 500.0), "██████████          ");
        assert_eq!(bar(&axis, Bar::Model, 500.0, 1000.0), "          ▒▒▒▒▒▒▒▒▒▒");
        assert_eq!(bar(&axis, Bar::Tool, 1000.0, 1000.0), "                   ▏");
    }

    #[test]
    fn a_long_wait_is_folded_and_a_short_one_is_not() {
        let axis = Axis::new(23, 101_000.0, &[(500.0, 100_500.0)], &[(0.0, 500.0)]);
        assert_eq!(axis.folded(), Some(100_000));
        assert_eq!(bar(&axis, Bar::Wait, 500.0, 100_500.0), "          ░┊░          ");
        assert_eq!(bar(&axis, Bar::Tool, 100_500.0, 101_000.0), "             ██████████");
        assert_eq!(Axis::new(23, 1100.0, &[(0.0, 100.0)], &[]).folded(), None);
    }

    #[test]
    fn a_wait_during_which_something_runs_is_not_folded() {
        let axis = Axis::new(20, 1000.0, &[(0.0, 1000.0)], &[(0.0, 1000.0)]);
        assert_eq!(axis.folded(), None);
    }
}
