//! Takes secrets out of what leaves the process (R10.7).

mod apart;
mod view;

use aho_corasick::{AhoCorasick, Match};
use apart::Apart;
use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;
use view::Coding;

/// What stands where a secret was.
pub const SCRUBBED: &str = "[secret]";
/// Shorter values are not looked for: they would shred ordinary text and protect nothing.
pub const SHORTEST_SECRET: usize = 4;
/// A line of a secret of several lines counts as one of its own from this length on.
const SHORTEST_LINE: usize = 12;
/// A piece of base64 shorter than this could be any word.
const SHORTEST_BASE64: usize = 4;
/// The same of base64 in base64, of which there are more.
const SHORTEST_TWICE: usize = 8;
/// Longer secrets are not looked for in base64 of base64, as there are many forms; of one in several lines, the lines are.
const LONGEST_TWICE: usize = 256;
/// How many times a text may have been encoded, in whichever ways.
const DEPTH: usize = 3;
/// Digits with a line break among them are looked for from this length on.
const SHORTEST_BROKEN: usize = 12;

/// Knows the secrets, and finds them as whoever reads a text would: as they are, in hex, in base64 wherever in a longer text
/// they start, and behind the escapes of JSON and of URLs. Writers differ in what they escape, so the text is decoded, not
/// the secret encoded.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// The secrets, and then their digits in base64.
    needles: Option<AhoCorasick>,
    /// How many of them are no digits.
    plain: usize,
    /// Their digits in hex, which a writer may have set apart.
    apart: Option<Apart>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the needles.
        let forms = self.needles.as_ref().map_or(0, AhoCorasick::patterns_len);
        f.debug_struct("Scrubber").field("forms", &forms).finish()
    }
}

impl Scrubber {
    /// A scrubber for these values. Those shorter than [`SHORTEST_SECRET`] are left out.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut all = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            all.extend([secret.to_owned(), secret.trim().to_owned()]);
            if secret.trim().contains('\n') {
                let lines = secret.lines().map(str::trim).filter(|l| l.len() >= SHORTEST_LINE);
                all.extend(lines.map(str::to_owned));
            }
        }
        all.retain(|secret| secret.len() >= SHORTEST_SECRET);
        all.sort();
        all.dedup();
        let digits: Vec<String> = all.iter().flat_map(|secret| digits_of(secret)).collect();
        let hex: Vec<String> = all.iter().map(|secret| hex_of(secret)).collect();
        let needles = search_for(all.iter().chain(&digits));
        Self { needles, plain: all.len(), apart: Apart::new(&hex) }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(needles) = &self.needles else { return Cow::Borrowed(text) };
        let mut places = found_by(needles, text.as_bytes(), |_| true);
        places.extend(self.apart.iter().flat_map(|apart| apart.find(text.as_bytes())));
        if text.contains(['\\', '%', '+', '\n', '\r']) {
            self.find_encoded(needles, text.as_bytes(), None, DEPTH, &mut places);
        }
        without(text, places)
    }

    /// A writer may have put a text that was encoded already into another, and so on.
    fn find_encoded(
        &self,
        needles: &AhoCorasick,
        text: &[u8],
        outer: Option<&Decoded<'_>>,
        depth: usize,
        places: &mut Vec<Range<usize>>,
    ) {
        self.find_broken(needles, text, outer, places);
        let Some(deeper) = depth.checked_sub(1) else { return };
        for coding in [Coding::Json, Coding::Url, Coding::Form] {
            // Each view is as long as the text: one is gone before the next is made.
            let Some(inner) = Decoded::of(text, coding, outer) else { continue };
            if inner.bytes == text {
                continue;
            }
            places.extend(inner.find(needles));
            let apart = self.apart.as_ref().map(|apart| apart.find(&inner.bytes));
            places.extend(inner.out(apart.unwrap_or_default()));
            self.find_encoded(needles, &inner.bytes, Some(&inner), deeper, places);
        }
    }

    /// Digits with line breaks among them, also if these are escaped.
    fn find_broken(
        &self,
        needles: &AhoCorasick,
        text: &[u8],
        outer: Option<&Decoded<'_>>,
        places: &mut Vec<Range<usize>>,
    ) {
        let lines = Decoded::of(text, Coding::Lines, outer);
        let (whole, outer) = lines.as_ref().map_or((text, outer), |it| (&it.bytes, Some(it)));
        let unbroken = Decoded::of(whole, Coding::EscapedLines, outer);
        let Some(view) = unbroken.as_ref().or(lines.as_ref()) else { return };
        // Fewer digits could be words of two lines.
        let is_long = |found: &Match| {
            found.pattern().as_usize() >= self.plain && found.len() >= SHORTEST_BROKEN
        };
        places.extend(view.out(found_by(needles, &view.bytes, is_long)));
    }

    /// Takes the secrets out of every text in a value, keys included.
    pub fn scrub_json(&self, value: &mut Value) {
        if self.needles.is_none() {
            return;
        }
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::String(text) => {
                    if let Cow::Owned(clean) = self.scrub(text) {
                        *text = clean;
                    }
                }
                Value::Number(number) => {
                    let text = number.to_string();
                    if let Cow::Owned(clean) = self.scrub(&text) {
                        *value = Value::String(clean);
                    }
                }
                Value::Array(items) => pending.extend(items),
                Value::Object(fields) => {
                    let named = fields.keys().any(|key| matches!(self.scrub(key), Cow::Owned(_)));
                    if named {
                        *fields = std::mem::take(fields)
                            .into_iter()
                            .map(|(key, value)| (self.scrub(&key).into_owned(), value))
                            .collect();
                    }
                    pending.extend(fields.values_mut());
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
    }
}

/// A text that was decoded, and what it was decoded from.
struct Decoded<'t> {
    bytes: Vec<u8>,
    coding: Coding,
    from: &'t [u8],
    outer: Option<&'t Decoded<'t>>,
}

impl<'t> Decoded<'t> {
    fn of(from: &'t [u8], coding: Coding, outer: Option<&'t Decoded<'t>>) -> Option<Self> {
        Some(Self { bytes: coding.decoded(from)?, coding, from, outer })
    }

    /// Where in the outermost text the needles are.
    fn find(&self, needles: &AhoCorasick) -> Vec<Range<usize>> {
        self.out(found_by(needles, &self.bytes, |_| true))
    }

    /// Where in the outermost text these places are.
    fn out(&self, mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut view = Some(self);
        while let Some(decoded) = view {
            decoded.coding.undo(decoded.from, &mut places);
            view = decoded.outer;
        }
        places
    }
}

/// Where the needles are, in order; those that overlap are one place.
fn found_by(
    needles: &AhoCorasick,
    text: &[u8],
    counts: impl Fn(&Match) -> bool,
) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for found in needles.find_overlapping_iter(text).filter(|found| counts(found)) {
        let mut place = found.range();
        while let Some(last) = places.pop_if(|last| last.end > place.start) {
            place.start = place.start.min(last.start);
        }
        places.push(place);
    }
    places
}

fn search_for<'n>(needles: impl Iterator<Item = &'n String>) -> Option<AhoCorasick> {
    let needles: Vec<&String> = needles.collect();
    if needles.is_empty() {
        return None;
    }
    // Needles of digits begin like any word: to skip ahead to what may be one takes three times as long as to read on. It
    // fails only for more needles than memory can hold.
    AhoCorasick::builder().prefilter(false).build(needles).ok()
}

/// The text with each place, or each run of places that touch, replaced.
fn without(text: &str, mut places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    places.sort_by_key(|place| place.start);
    let mut clean = String::with_capacity(text.len());
    let mut kept_to = 0;
    for place in places {
        // One that overlaps the last only makes it longer.
        if place.start >= kept_to {
            clean.push_str(text.get(kept_to..place.start).unwrap_or_default());
            clean.push_str(SCRUBBED);
        }
        kept_to = kept_to.max(place.end);
    }
    clean.push_str(text.get(kept_to..).unwrap_or_default());
    Cow::Owned(clean)
}

fn hex_of(secret: &str) -> String {
    secret.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// A secret in digits of base64, and of base64 of that.
fn digits_of(secret: &str) -> Vec<String> {
    let once = base64_pieces(secret.as_bytes());
    let inner = once.iter().filter(|_| secret.len() <= LONGEST_TWICE);
    let twice = inner.flat_map(|piece| base64_pieces(piece.as_bytes()));
    let twice: Vec<String> = twice.filter(|piece| piece.len() >= SHORTEST_TWICE).collect();
    [once, twice].concat()
}

/// Wherever it starts in a longer text, in both alphabets.
fn base64_pieces(bytes: &[u8]) -> Vec<String> {
    let mut pieces = Vec::new();
    for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        pieces.extend((0..3).filter_map(|offset| base64_piece(&engine, bytes, offset)));
    }
    pieces.sort_unstable();
    pieces.dedup();
    pieces
}

/// The characters that stand for the secret, and for it alone, when it starts `offset` bytes into a group of three.
fn base64_piece(engine: &GeneralPurpose, secret: &[u8], offset: usize) -> Option<String> {
    let mut padded = vec![0_u8; offset];
    padded.extend_from_slice(secret);
    let encoded = engine.encode(&padded);
    let first = (offset * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded.get(first..last).filter(|piece| piece.len() >= SHORTEST_BASE64).map(str::to_owned)
}
