//! Output that may be endless, kept in fixed space.

use std::collections::VecDeque;

/// The first and the last bytes of a stream, and how many there were between them.
///
/// The beginning says what was going on and the end says how it went; the bytes between them are only counted.
#[derive(Debug)]
pub struct HeadTail {
    keep_head: usize,
    keep_tail: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl HeadTail {
    /// Keeps at most this many bytes of each end.
    pub fn new(keep_head: usize, keep_tail: usize) -> Self {
        Self { keep_head, keep_tail, head: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
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

    /// Both ends as text. A character that the gap cuts in two is left out.
    pub fn text(&self) -> String {
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

/// Splits off the beginning of a UTF-8 character whose end has not come yet.
pub fn split_incomplete(bytes: &[u8]) -> (&[u8], &[u8]) {
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

    // R8.5
    #[test]
    fn whatever_is_pushed_no_more_than_both_ends_is_held() {
        const HALF: usize = 16 * 1024;
        let mut kept = HeadTail::new(HALF, HALF);
        for _ in 0..10_000 {
            kept.push(&[b'x'; 8 * 1024]);
        }
        // Twice, because a growing buffer may take room ahead.
        assert!(kept.head.capacity() + kept.tail.capacity() <= 4 * HALF);
    }
}
