//! A text as somebody who decodes it would read it, each byte with the place it came from.

use std::ops::Range;

/// What a decoder makes of a text.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Where in the text each byte stands.
    places: Vec<Range<usize>>,
}

impl View {
    pub(super) fn of(text: &str) -> Self {
        let places = (0..text.len()).map(|at| at..at.saturating_add(1)).collect();
        Self { bytes: text.as_bytes().to_vec(), places }
    }

    /// Where in the text these bytes stand.
    pub(super) fn place(&self, bytes: Range<usize>) -> Option<Range<usize>> {
        let places = self.places.get(bytes)?;
        Some(places.first()?.start..places.last()?.end)
    }

    /// Without the escapes of JSON, whichever of them a writer used; `None` if there are none.
    pub(super) fn unescaped(&self) -> Option<Self> {
        self.decoded(b'\\', |rest| match rest {
            [b'\\', b'u', ..] => {
                let (first, mut length) = (utf16_unit(rest)?, 6);
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) {
                    units.push(utf16_unit(rest.get(6..)?)?);
                    length = 12;
                }
                Some((String::from_utf16(&units).ok()?.into_bytes(), length))
            }
            [b'\\', short, ..] => {
                let means = match short {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    b'"' | b'\\' | b'/' => *short,
                    _ => return None,
                };
                Some((vec![means], 2))
            }
            _ => None,
        })
    }

    /// Without the escapes of a URL, whichever of them a writer used.
    pub(super) fn percent_decoded(&self) -> Option<Self> {
        self.decoded(b'%', |rest| match rest {
            [b'%', high, low, ..] => {
                Some((vec![digit(*high)?.checked_mul(16)?.checked_add(digit(*low)?)?], 3))
            }
            _ => None,
        })
    }

    /// As a form is written: a plus is a space.
    pub(super) fn with_spaces(&self) -> Option<Self> {
        self.decoded(b'+', |rest| rest.starts_with(b"+").then(|| (vec![b' '], 1)))
    }

    /// Without line breaks and what else stands between groups of digits, as they are or escaped.
    pub(super) fn unbroken(&self) -> Option<Self> {
        let lines = self.decoded(b'\n', |rest| match rest {
            [b'\n' | b'\r' | b' ' | b'\t', ..] => Some((Vec::new(), 1)),
            _ => None,
        });
        let escaped = lines.as_ref().unwrap_or(self).decoded(b'\\', |rest| {
            let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
            let escapes = slashes > 0 && matches!(rest.get(slashes), Some(b'n' | b'r' | b't'));
            escapes.then(|| (Vec::new(), slashes.saturating_add(1)))
        });
        escaped.or(lines)
    }

    /// `decode` says what the start of the bytes it is given means, and how many of them that is. `None` when there is no
    /// `sign` that anything is encoded.
    fn decoded(
        &self,
        sign: u8,
        decode: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>,
    ) -> Option<Self> {
        if !self.bytes.contains(&sign) {
            return None;
        }
        let mut view = Self { bytes: Vec::new(), places: Vec::new() };
        let mut at = 0_usize;
        while let Some(rest @ [byte, ..]) = self.bytes.get(at..) {
            let (means, length) = decode(rest).unwrap_or_else(|| (vec![*byte], 1));
            let end = at.saturating_add(length);
            let place = self.place(at..end)?;
            view.places.extend(means.iter().map(|_| place.clone()));
            view.bytes.extend(means);
            at = end;
        }
        Some(view)
    }
}

fn utf16_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| digit.try_into().ok())
}
