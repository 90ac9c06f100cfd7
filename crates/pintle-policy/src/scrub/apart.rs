//! Digits in hex, in either case, also those that a writer set apart: `de:ad`, `DE-AD`, `dead beef`, `0xde, 0xad`, and hexdumps
//! over many lines.
//!
//! Most of any text is none of that: the digits are gathered run by run, so that no text is copied for it.

use super::found_by;
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// The end of a line and how far the next is set in, at most.
const FARTHEST: usize = 24;
/// So many digits are gathered before they are looked through.
const MOST_AT_ONCE: usize = 16 * 1024;

/// The secrets in hex.
#[derive(Clone)]
pub(super) struct Apart {
    needles: AhoCorasick,
    shortest: usize,
    longest: usize,
}

impl Apart {
    pub(super) fn new(hex: &[String]) -> Option<Self> {
        let shortest = hex.iter().map(String::len).min()?;
        let longest = hex.iter().map(String::len).max()?;
        let needles =
            AhoCorasick::builder().prefilter(false).ascii_case_insensitive(true).build(hex);
        Some(Self { needles: needles.ok()?, shortest, longest })
    }

    /// Where they are, in order; those that overlap are one place.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut run = Run { of: self, digits: Vec::new(), at: Vec::new(), places: Vec::new() };
        let mut since = 0_usize;
        for (at, byte) in text.iter().enumerate() {
            match byte {
                _ if byte.is_ascii_hexdigit() => {
                    run.add(*byte, at);
                    since = 0;
                }
                _ if is_between(*byte) && since < FARTHEST => since = since.saturating_add(1),
                b'x' | b'X' if since == 0 && run.begins_anew() => {}
                _ => {
                    run.end();
                    since = 0;
                }
            }
        }
        run.end();
        run.places
    }
}

struct Run<'n> {
    of: &'n Apart,
    digits: Vec<u8>,
    /// Where each digit stands.
    at: Vec<usize>,
    places: Vec<Range<usize>>,
}

impl Run<'_> {
    fn add(&mut self, digit: u8, at: usize) {
        self.digits.push(digit);
        self.at.push(at);
        if self.digits.len() >= MOST_AT_ONCE.saturating_add(self.of.longest) {
            self.search();
            self.digits.drain(..MOST_AT_ONCE);
            self.at.drain(..MOST_AT_ONCE);
        }
    }

    /// `0x`: what stood there was no digit, but begins the next number.
    fn begins_anew(&mut self) -> bool {
        let is_apart = match self.at.as_slice() {
            [.., before, last] => before.saturating_add(1) < *last,
            [_] => true,
            [] => false,
        };
        let begins = is_apart && self.digits.pop_if(|digit| *digit == b'0').is_some();
        if begins {
            self.at.pop();
        }
        begins
    }

    fn end(&mut self) {
        if self.digits.len() >= self.of.shortest {
            self.search();
        }
        self.digits.clear();
        self.at.clear();
    }

    fn search(&mut self) {
        for found in found_by(&self.of.needles, &self.digits, |_| true) {
            let ends = (self.at.get(found.start), self.at.get(found.end.saturating_sub(1)));
            let (Some(start), Some(last)) = ends else { continue };
            let mut place = *start..last.saturating_add(1);
            // What was kept for the next search may be found again.
            while let Some(known) = self.places.pop_if(|known| known.end > place.start) {
                place = place.start.min(known.start)..place.end.max(known.end);
            }
            self.places.push(place);
        }
    }
}

fn is_between(byte: u8) -> bool {
    matches!(
        byte,
        b':' | b'-'
            | b'_'
            | b'.'
            | b','
            | b';'
            | b'|'
            | b'"'
            | b'\''
            | b' '
            | b'\t'
            | b'\n'
            | b'\r'
    )
}
