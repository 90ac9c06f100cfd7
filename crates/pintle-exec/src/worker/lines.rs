//! Lines out of a stream, none longer than the cap, its last words, and how fast it flows.

use std::time::Duration;

use pintle_sandbox::HeadTail;
use tokio::time::Instant;

use crate::capture::OUTPUT_CAP;

/// What a stream has come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// A line went past the cap. The rest of it is thrown away.
    TooLong,
}

/// Collects bytes until a line is whole. Never holds more than the cap.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    skipping: bool,
}

impl Lines {
    /// Adds bytes; gives the lines they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            if !self.skipping && self.begun.len() + text.len() > OUTPUT_CAP {
                self.skipping = true;
                self.begun = Vec::new();
                lines.push(Line::TooLong);
            }
            if !self.skipping {
                self.begun.extend_from_slice(text);
            }
            if ends && !std::mem::take(&mut self.skipping) {
                lines.push(Line::Whole(std::mem::take(&mut self.begun)));
            }
        }
        lines
    }
}

/// The last words of a stream.
#[derive(Debug)]
pub(super) struct Tail(pub(super) HeadTail);

impl Default for Tail {
    fn default() -> Self {
        Self(HeadTail::new(0, 2048))
    }
}

/// How much comes within a while: a log of many days is no flood.
#[derive(Debug, Default)]
pub(super) struct Meter {
    seen: usize,
    since: Option<Instant>,
}

impl Meter {
    const WHILE: Duration = Duration::from_secs(10);

    /// Whether with these bytes it is more than `limit`.
    pub(super) fn exceeds(&mut self, limit: usize, bytes: usize) -> bool {
        if self.since.is_none_or(|since| since.elapsed() > Self::WHILE) {
            (self.seen, self.since) = (0, Some(Instant::now()));
        }
        self.seen += bytes;
        self.seen > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn a_line_may_come_in_pieces_and_several_in_one() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"on"), []);
        assert_eq!(lines.push(b"e\ntwo\n\nth"), [whole("one"), whole("two"), whole("")]);
        assert_eq!(lines.push(b"ree\n"), [whole("three")]);
    }

    #[test]
    fn a_line_over_the_cap_is_reported_once_and_skipped_to_its_end() {
        let mut lines = Lines::default();
        let long = vec![b'x'; OUTPUT_CAP + 1];
        assert_eq!(lines.push(&long), [Line::TooLong]);
        assert_eq!(lines.push(&long), []);
        assert_eq!(lines.push(b"end\nnext\n"), [whole("next")]);
        assert_eq!(lines.begun.capacity(), 0);
    }

    #[test]
    fn a_meter_tells_a_flood_from_a_long_life() {
        let mut meter = Meter::default();
        assert!(!meter.exceeds(100, 100));
        assert!(meter.exceeds(100, 1));
        meter.since = meter.since.map(|since| since - Meter::WHILE * 2);
        assert!(!meter.exceeds(100, 100));
    }
}
