//! Takes secrets out of what leaves the process (R10.7).

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// What stands where a secret was.
pub const SCRUBBED: &str = "[secret]";
/// Shorter values are not looked for: they would shred ordinary text and protect nothing.
pub const SHORTEST_SECRET: usize = 4;
/// A line of a secret of several lines is one of its own from this length on.
const SHORTEST_LINE: usize = 12;
/// A piece of base64 shorter than this could be any word.
const SHORTEST_BASE64: usize = 4;

/// Knows the secrets, and finds each as it is, escaped as in JSON, encoded as in a URL or a form, in hex, and in base64 wherever
/// in a longer text it starts.
#[derive(Clone, Default)]
pub struct Scrubber {
    forms: Option<AhoCorasick>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the forms themselves.
        let forms = self.forms.as_ref().map_or(0, AhoCorasick::patterns_len);
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
        let mut forms: Vec<String> = all.iter().flat_map(|secret| forms_of(secret)).collect();
        forms.sort_unstable();
        forms.dedup();
        if forms.is_empty() {
            return Self::default();
        }
        // Building fails only for more forms than memory can hold.
        Self { forms: AhoCorasick::new(forms).ok() }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(forms) = &self.forms else { return Cow::Borrowed(text) };
        let mut places: Vec<Range<usize>> = Vec::new();
        for found in forms.find_overlapping_iter(text) {
            let mut place = found.range();
            while let Some(last) = places.pop_if(|last| last.end > place.start) {
                place.start = place.start.min(last.start);
            }
            places.push(place);
        }
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut kept_to = 0;
        for place in places {
            clean.push_str(text.get(kept_to..place.start).unwrap_or_default());
            clean.push_str(SCRUBBED);
            kept_to = place.end;
        }
        clean.push_str(text.get(kept_to..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// Takes the secrets out of every text in a value, keys included.
    pub fn scrub_json(&self, value: &mut Value) {
        if self.forms.is_none() {
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

/// Every way in which a secret is looked for. Writers differ in the case of digits and in what they escape beyond what they must.
fn forms_of(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
    let ascii: String = json.chars().map(as_ascii).collect();
    let mut forms = vec![secret.to_owned(), json.replace('/', "\\/"), json.to_owned(), ascii];
    for upper in [false, true] {
        let hex = |byte: u8| match upper {
            true => format!("{byte:02X}"),
            false => format!("{byte:02x}"),
        };
        let encoded = |space: &str, keeps: &dyn Fn(u8) -> bool| -> String {
            let one = |byte: u8| match byte {
                b' ' => space.to_owned(),
                byte if keeps(byte) => char::from(byte).to_string(),
                byte => format!("%{}", hex(byte)),
            };
            secret.bytes().map(one).collect()
        };
        forms.push(secret.bytes().map(hex).collect());
        forms.push(encoded("%20", &|_| false));
        for kept in KEPT_IN_URLS {
            let keeps = |byte: u8| byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte);
            forms.extend(["+", "%20"].map(|space| encoded(space, &keeps)));
        }
    }
    forms.extend(base64_pieces(secret.as_bytes()));
    forms
}

/// The signs that writers leave as they are: none, those of RFC 3986, of forms, of `encodeURIComponent`, and of paths.
const KEPT_IN_URLS: [&str; 5] = ["", "-_.~", "*-._", "!'()*-_.~", "-_.~/!$&'()*+,;=:@"];

/// `\u00e9` for what is not ASCII, as some writers of JSON have it.
fn as_ascii(c: char) -> String {
    let mut units = [0; 2];
    match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    }
}

/// Wherever it starts in a longer text, in both alphabets.
fn base64_pieces(secret: &[u8]) -> Vec<String> {
    let mut pieces = Vec::new();
    for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        pieces.extend((0..3).filter_map(|offset| base64_piece(&engine, secret, offset)));
    }
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
