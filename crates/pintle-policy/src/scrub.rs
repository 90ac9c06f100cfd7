//! Takes secrets out of what leaves the process (R10.7).

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use serde_json::Value;
use std::borrow::Cow;

/// What stands where a secret was.
pub const SCRUBBED: &str = "[secret]";
/// Shorter values are not looked for: they would shred ordinary text and protect nothing.
pub const SHORTEST_SECRET: usize = 4;
/// A line of a secret of several lines counts as one of its own from this length on.
const SHORTEST_LINE: usize = 12;
/// A piece of base64 shorter than this could be any word.
const SHORTEST_BASE64: usize = 4;

/// Knows the secrets, in each form they could take on the way out: as they are, JSON-escaped, URL-encoded, in hex, and
/// in base64 wherever in a longer text they start.
#[derive(Clone, Default)]
pub struct Scrubber {
    needles: Vec<String>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the needles.
        f.debug_struct("Scrubber").field("forms", &self.needles.len()).finish()
    }
}

impl Scrubber {
    /// A scrubber for these values. Those shorter than [`SHORTEST_SECRET`] are left out.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut needles = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            add_forms(secret, &mut needles);
            add_forms(secret.trim(), &mut needles);
            if secret.trim().contains('\n') {
                secret
                    .lines()
                    .map(str::trim)
                    .filter(|l| l.len() >= SHORTEST_LINE)
                    .for_each(|l| add_forms(l, &mut needles));
            }
        }
        // The longest first: a secret that contains another leaves no rest.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for needle in &self.needles {
            if clean.contains(needle.as_str()) {
                clean = Cow::Owned(clean.replace(needle.as_str(), SCRUBBED));
            }
        }
        clean
    }

    /// Takes the secrets out of every text in a value, keys included.
    pub fn scrub_json(&self, value: &mut Value) {
        if self.needles.is_empty() {
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

fn add_forms(secret: &str, needles: &mut Vec<String>) {
    if secret.len() < SHORTEST_SECRET {
        return;
    }
    needles.push(secret.to_owned());
    // Escaped once, and once more for JSON inside JSON.
    let once = json_escaped(secret);
    needles.push(json_escaped(&once));
    needles.push(once.replace('/', "\\/"));
    needles.push(ascii_escaped(&once));
    needles.push(once);
    // Writers differ in what they leave as it is; some leave nothing.
    let whole: String = secret.bytes().map(|b| format!("%{b:02X}")).collect();
    let kept = ["", "-_.~", "-_.*", "-_.!~*'()"].map(|keep| url_encoded(secret, keep));
    for encoded in kept.into_iter().chain([whole]) {
        needles.push(encoded.replace("%20", "+"));
        needles.push(lower_escapes(&encoded));
        needles.push(encoded);
    }
    let hex: String = secret.bytes().map(|b| format!("{b:02x}")).collect();
    needles.push(hex.to_uppercase());
    needles.push(hex);
    for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        needles
            .extend((0..3).filter_map(|offset| base64_piece(&engine, secret.as_bytes(), offset)));
    }
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).unwrap_or(&quoted).to_owned()
}

/// As writers that keep to ASCII do it: `é` becomes `\u00e9`.
fn ascii_escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            c.encode_utf16(&mut units)
                .iter()
                .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        }
    }
    escaped
}

fn url_encoded(text: &str, keep: &str) -> String {
    text.bytes()
        .map(|byte| {
            let c = char::from(byte);
            if c.is_ascii_alphanumeric() || keep.contains(c) {
                c.to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// `%2F` as `%2f`, and nothing else changed.
fn lower_escapes(encoded: &str) -> String {
    let mut lowered = String::with_capacity(encoded.len());
    let mut left = 0_u8;
    for c in encoded.chars() {
        if left > 0 {
            left = left.saturating_sub(1);
            lowered.push(c.to_ascii_lowercase());
        } else {
            left = if c == '%' { 2 } else { 0 };
            lowered.push(c);
        }
    }
    lowered
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
