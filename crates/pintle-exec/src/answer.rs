//! What a command's stdout says, given that it exited with 0.

use pintle::{Failure, ModelKind};
use serde_json::{Value, json};

use crate::{capture::OUTPUT_CAP, strict_json};

/// Reads the stdout of a command that exited with 0 (R8.2). Never panics, whatever the bytes are.
///
/// `truncated` says that there was more than these bytes. What comes back is for the point's model to check:
///
/// - Nothing, or only white space: null. The command had nothing to say.
/// - Something that begins with `{` has to be one JSON object and nothing else.
/// - Any other text is `{"output": text}` at a gate, and of no interest at a Void point.
///
/// ```
/// use pintle::ModelKind;
/// use pintle_exec::parse_answer;
/// use serde_json::json;
///
/// let gate = |stdout: &str| parse_answer(stdout.as_bytes(), false, ModelKind::Gate);
/// assert_eq!(gate("3 files checked\n").unwrap(), json!({ "output": "3 files checked" }));
/// assert_eq!(gate(r#"{"continue": false}"#).unwrap(), json!({ "continue": false }));
/// assert!(gate(r#"{"continue": false} oh, and one more thing"#).is_err());
/// ```
///
/// # Errors
/// `BadOutput` for JSON that is cut off, broken, followed by anything, or has a key twice; for text in UTF-16;
/// for a verdict (`"continue":`, `"decision":`) among other text, whatever it says; and for plain text where a patch or a claim is expected.
pub fn parse_answer(stdout: &[u8], truncated: bool, model: ModelKind) -> Result<Value, Failure> {
    if model == ModelKind::Void {
        return Ok(Value::Null);
    }
    if stdout.starts_with(&[0xff, 0xfe]) || stdout.starts_with(&[0xfe, 0xff]) {
        return Err(Failure::bad_output("stdout is UTF-16: write UTF-8"));
    }
    let bytes = stdout.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stdout).trim_ascii();
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if bytes.starts_with(b"{") {
        return object(bytes, truncated);
    }
    if model != ModelKind::Gate {
        return Err(Failure::bad_output(format!(
            "stdout at a {model} point is one JSON object or nothing; it begins with {:?}",
            beginning(bytes)
        )));
    }
    let text = String::from_utf8_lossy(bytes);
    if hides_a_verdict(&text) {
        return Err(Failure::bad_output(
            "there is a verdict among other text on stdout: write the verdict alone, the rest to stderr",
        ));
    }
    Ok(json!({ "output": with_cut_mark(text.trim(), truncated) }))
}

fn object(bytes: &[u8], truncated: bool) -> Result<Value, Failure> {
    if truncated {
        return Err(Failure::bad_output(format!(
            "the JSON on stdout is cut off at {OUTPUT_CAP} bytes"
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Failure::bad_output(format!("the JSON on stdout is not UTF-8: {error}"))
    })?;
    strict_json::from_str(text).map_err(|error| {
        Failure::bad_output(format!("stdout begins like JSON but is not one object: {error}"))
    })
}

/// The keys by which an answer decides, in our form and in other agents'.
const DECIDING: [&str; 3] = ["\"continue\"", "\"decision\"", "\"permissionDecision\""];

/// Whether a text that is not a JSON object has the key of a verdict in it: behind other words, broken, in colour, in an
/// array. Taking it for plain output would let the action run that the hook meant to stop.
pub(crate) fn hides_a_verdict(text: &str) -> bool {
    // Most chunks have no key; only the others are worth a copy.
    if !text.contains('"') {
        return false;
    }
    let bare = without_controls(text);
    let is_key = |after: &str| after.trim_start().starts_with(':');
    DECIDING.iter().any(|key| bare.split(key).skip(1).any(is_key))
}

/// Without colours and other things for a terminal, which tools such as `jq -C` put between any two words, and without
/// the zeros of a UTF-16 that does not say so.
fn without_controls(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        if next == '\x1b' && chars.next_if_eq(&'[').is_some() {
            chars.by_ref().find(|end| ('@'..='~').contains(end));
        } else if next.is_whitespace() || !next.is_control() {
            bare.push(next);
        }
    }
    bare
}

/// Says at the end of a text that there was more.
pub(crate) fn with_cut_mark(text: &str, truncated: bool) -> String {
    match truncated {
        true => format!("{text}\n[cut off after {} KiB]", OUTPUT_CAP / 1024),
        false => text.to_string(),
    }
}

fn beginning(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(40).collect()
}
