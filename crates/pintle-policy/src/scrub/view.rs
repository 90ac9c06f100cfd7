//! A text as somebody who decodes it would read it, and the way back to where it came from.
//!
//! Texts are long and secrets are few: a decoded text is its bytes and nothing else. Where a find stands in the text is
//! worked out by going over it once more, and only if there was one.

use std::ops::Range;

/// One way in which a writer encodes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coding {
    /// The escapes of JSON, whichever of them a writer used, and those of bytes that other languages have.
    Json,
    /// The escapes of a URL, whichever of them a writer used.
    Url,
    /// A form's: those of a URL, and a plus is a space.
    Form,
    /// Line breaks and blanks between groups of digits.
    Lines,
    /// The same, escaped.
    EscapedLines,
}

/// A part of an encoded text, as long as `length`.
struct Piece {
    length: usize,
    /// What it means; it stands for itself if this is none.
    means: Option<Meaning>,
}

/// At most one character.
struct Meaning {
    bytes: [u8; 4],
    length: usize,
}

impl Coding {
    /// The bytes decoded; `None` when there is no sign that anything is encoded.
    pub(super) fn decoded(self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !bytes.iter().any(|byte| self.is_sign(*byte)) {
            return None;
        }
        let mut decoded = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(piece) = self.first(rest) {
            let (written, later) = rest.split_at_checked(piece.length)?;
            match &piece.means {
                None => decoded.extend_from_slice(written),
                Some(Meaning { bytes: [byte, ..], length: 1 }) => decoded.push(*byte),
                Some(means) => decoded.extend_from_slice(means.as_slice()),
            }
            rest = later;
        }
        Some(decoded)
    }

    /// Turns places in the decoded text into the places in `bytes` that they come from. They must be in order, and apart.
    pub(super) fn undo(self, bytes: &[u8], places: &mut [Range<usize>]) {
        let mut places = places.iter_mut();
        let Some(mut place) = places.next() else { return };
        let mut start = None;
        let (mut rest, mut at, mut decoded_at) = (bytes, 0_usize, 0_usize);
        while let Some(piece) = self.first(rest) {
            let end = at.saturating_add(piece.length);
            let decoded_end = decoded_at.saturating_add(piece.meant_length());
            // Of a piece that means something else, each byte comes from all of it.
            let first = |from: usize| match piece.means {
                Some(_) => at,
                None => at.saturating_add(from.saturating_sub(decoded_at)),
            };
            let last = |to: usize| match piece.means {
                Some(_) => end,
                None => at.saturating_add(to.saturating_sub(decoded_at)),
            };
            loop {
                if start.is_none() && place.start < decoded_end {
                    start = Some(first(place.start));
                }
                let Some(from) = start.filter(|_| place.end <= decoded_end) else { break };
                *place = from..last(place.end);
                start = None;
                match places.next() {
                    Some(next) => place = next,
                    None => return,
                }
            }
            (at, decoded_at) = (end, decoded_end);
            rest = rest.get(piece.length..).unwrap_or_default();
        }
    }

    /// What is in every text that is encoded so.
    fn is_sign(self, byte: u8) -> bool {
        match self {
            Self::Json | Self::EscapedLines => byte == b'\\',
            Self::Url => byte == b'%',
            Self::Form => byte == b'+',
            Self::Lines => matches!(byte, b'\n' | b'\r'),
        }
    }

    fn may_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Lines => matches!(byte, b'\n' | b'\r' | b' ' | b'\t'),
            Self::Form => matches!(byte, b'+' | b'%'),
            other => other.is_sign(byte),
        }
    }

    /// The first piece of the bytes; all up to the next that may mean something is one.
    fn first(self, bytes: &[u8]) -> Option<Piece> {
        if let Some((means, length)) = self.decode(bytes) {
            return Some(Piece { length, means: Some(means) });
        }
        let own = match self {
            // A run of them was looked at whole: to look at its rest again and again would take the square of its length.
            Self::EscapedLines => slashes(bytes).max(1),
            _ => 1,
        };
        let later = bytes.get(own..)?;
        let plain = later.iter().position(|byte| self.may_begin_with(*byte));
        Some(Piece { length: plain.unwrap_or(later.len()).saturating_add(own), means: None })
    }

    /// What the start of the bytes means, and how many of them that is.
    fn decode(self, bytes: &[u8]) -> Option<(Meaning, usize)> {
        match (self, bytes) {
            (Self::Json, [b'\\', b'u', ..]) => {
                let first = utf16_unit(bytes)?;
                if (0xd800..0xdc00).contains(&first) {
                    let second = utf16_unit(bytes.get(6..)?)?;
                    return Some((Meaning::character(&[first, second])?, 12));
                }
                Some((Meaning::character(&[first])?, 6))
            }
            (Self::Json, [b'\\', b'x', high, low, ..]) => {
                Some((Meaning::byte(digit(*high)?.checked_mul(16)?.checked_add(digit(*low)?)?), 4))
            }
            (Self::Json, [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..]) => {
                let digits = std::str::from_utf8(bytes.get(1..4)?).ok()?;
                Some((Meaning::byte(u8::from_str_radix(digits, 8).ok()?), 4))
            }
            (Self::Json, [b'\\', short, ..]) => {
                let means = match short {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    b'"' | b'\\' | b'/' | b'\'' => *short,
                    _ => return None,
                };
                Some((Meaning::byte(means), 2))
            }
            (Self::Url | Self::Form, [b'%', high, low, ..]) => {
                Some((Meaning::byte(digit(*high)?.checked_mul(16)?.checked_add(digit(*low)?)?), 3))
            }
            (Self::Form, [b'+', ..]) => Some((Meaning::byte(b' '), 1)),
            (Self::Lines, [b'\n' | b'\r' | b' ' | b'\t', ..]) => Some((Meaning::NOTHING, 1)),
            (Self::EscapedLines, [b'\\', ..]) => {
                let slashes = slashes(bytes);
                let escapes = matches!(bytes.get(slashes), Some(b'n' | b'r' | b't'));
                escapes.then(|| (Meaning::NOTHING, slashes.saturating_add(1)))
            }
            _ => None,
        }
    }
}

impl Piece {
    fn meant_length(&self) -> usize {
        self.means.as_ref().map_or(self.length, |means| means.length)
    }
}

impl Meaning {
    const NOTHING: Self = Self { bytes: [0; 4], length: 0 };

    fn byte(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn character(units: &[u16]) -> Option<Self> {
        let character = char::decode_utf16(units.iter().copied()).next()?.ok()?;
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Some(Self { bytes, length })
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

fn slashes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'\\').count()
}

fn utf16_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| digit.try_into().ok())
}
