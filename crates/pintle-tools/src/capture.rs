//! Output that may be endless, kept in fixed space.

use std::collections::VecDeque;

use pintle_agent::Progress;

/// How much of each end of a tool's result is kept.
pub(crate) const KEPT_HALF: usize = 16 * 1024;

/// The first and the last bytes of a stream, and how many there were between them.
///
/// The beginning says what was going on and the end says how it went; a flood in between is only counted.
pub(crate) struct HeadTail {
    keep_head: usize,
    keep_tail: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl HeadTail {
    /// Keeps at most so many bytes of each end.
    pub(crate) fn new(keep_head: usize, keep_tail: usize) -> Self {
        Self { keep_head, keep_tail, head: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.keep_head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of a chunk longer than the tail only its own tail can stay.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.keep_tail));
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.keep_tail);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
        self.left_out += (skipped.len() + overflow) as u64;
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.head.capacity() + self.tail.capacity()
    }

    /// Both ends as text; a character cut in two by the gap counts as left out.
    pub(crate) fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, cut) = split_incomplete(&self.head);
        let continued = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let (skipped, tail) = tail.split_at(continued);
        format!(
            "{}\n[{} bytes left out]\n{}",
            String::from_utf8_lossy(head),
            self.left_out + (cut.len() + skipped.len()) as u64,
            String::from_utf8_lossy(tail)
        )
    }
}

/// Text cut the same way as output.
pub(crate) fn cut(text: &str, half: usize) -> String {
    let mut kept = HeadTail::new(half, half);
    kept.push(text.as_bytes());
    kept.text()
}

/// Text with a remark of ours under it, in brackets so that it is not taken for output.
pub(crate) fn with_note(text: &str, note: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}[{note}]")
}

/// What goes to the person watching, as it comes.
///
/// It is capped too: someone who watches a flood has seen enough after a while, and every piece costs an event.
pub(crate) struct Streamed {
    progress: Progress,
    budget: usize,
    incomplete: Vec<u8>,
}

impl Streamed {
    pub(crate) fn new(progress: Progress, budget: usize) -> Self {
        Self { progress, budget, incomplete: Vec::new() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.budget == 0 {
            return;
        }
        let mut bytes = [self.incomplete.as_slice(), bytes].concat();
        let (complete, rest) = split_incomplete(&bytes);
        let at = complete.len();
        self.incomplete = rest.to_vec();
        bytes.truncate(at);
        if bytes.is_empty() {
            return;
        }
        self.progress.say(&String::from_utf8_lossy(&bytes));
        self.budget = self.budget.saturating_sub(bytes.len());
        if self.budget == 0 {
            self.progress.say("\n[more output follows; it is no longer shown as it comes]\n");
        }
    }
}

/// Splits off the beginning of a character whose end has not come yet.
pub(crate) fn split_incomplete(bytes: &[u8]) -> (&[u8], &[u8]) {
    let continued = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let lead_at = bytes.len().saturating_sub(continued + 1);
    let (before, last) = bytes.split_at(lead_at);
    let needed = match last.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 1,
    };
    if last.len() < needed { (before, last) } else { (bytes, &[]) }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn output_that_fits_is_kept_whole() {
        let mut kept = HeadTail::new(4, 4);
        for byte in b"12345678" {
            kept.push(&[*byte]);
        }
        assert_eq!(kept.text(), "12345678");
    }

    #[test]
    fn of_a_longer_output_both_ends_stay_and_the_gap_is_counted() {
        let mut kept = HeadTail::new(4, 4);
        kept.push(b"12345");
        kept.push(b"6789");
        kept.push(b"abcdefghijk");
        assert_eq!(kept.text(), "1234\n[12 bytes left out]\nhijk");
    }

    #[test]
    fn the_gap_never_cuts_a_character_in_two() {
        let mut kept = HeadTail::new(4, 4);
        kept.push("abcé-----é123".as_bytes());
        assert_eq!(kept.text(), "abc\n[9 bytes left out]\n123");
    }

    #[test]
    fn a_stream_shows_whole_characters_whatever_the_pieces_are() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let sink = said.clone();
        let mut streamed = Streamed::new(
            Progress::new(move |text| sink.lock().unwrap().push(text.to_owned())),
            1000,
        );
        for byte in "aé漢🎉b".as_bytes() {
            streamed.push(&[*byte]);
        }
        assert_eq!(*said.lock().unwrap(), ["a", "é", "漢", "🎉", "b"]);
    }

    #[test]
    fn a_stream_stops_showing_when_its_budget_is_spent() {
        let said = Arc::new(Mutex::new(String::new()));
        let sink = said.clone();
        let mut streamed =
            Streamed::new(Progress::new(move |text| sink.lock().unwrap().push_str(text)), 10);
        for _ in 0..100 {
            streamed.push(b"12345");
        }
        assert!(said.lock().unwrap().starts_with("1234512345\n[more output follows"));
        assert!(said.lock().unwrap().len() < 100);
    }
}
