//! Paths in the input of a tool whose fields are not known here.

use crate::paths::resolve;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// No system opens a longer one.
const MAX_PATH: usize = 4096;

/// Every text that could be a path: all values, and the names of fields in inner objects. A `file:` URL is the path it holds.
pub(crate) fn paths(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending: Vec<&Value> = match input {
        Value::Object(fields) => fields.values().collect(),
        other => vec![other],
    };
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => found.extend(spellings(text)),
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => {
                found.extend(fields.keys().cloned());
                pending.extend(fields.values());
            }
            _ => {}
        }
    }
    found.retain(|text| !text.is_empty());
    found
}

/// The text, and what a lenient reader would make of it.
fn spellings(text: &str) -> Vec<String> {
    let trimmed = text.trim();
    let lower = trimmed.get(..5).map(str::to_ascii_lowercase);
    let Some(url) = trimmed.get(5..).filter(|_| lower.as_deref() == Some("file:")) else {
        let lenient = (trimmed != text).then(|| trimmed.to_owned());
        return [text.to_owned()].into_iter().chain(lenient).collect();
    };
    let place = url
        .strip_prefix("//")
        .map_or(url, |rest| rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest));
    vec![text.to_owned(), place.to_owned(), unescaped(place)]
}

/// `%2e` as the byte it stands for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code =
            tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where the text leads if it is a path; none if no system could open it.
///
/// # Errors
/// When it is not known where it leads.
pub(crate) fn resolved(text: &str, workspace: &Path) -> Result<Option<PathBuf>, String> {
    if text.len() > MAX_PATH || text.contains('\0') {
        return Ok(None);
    }
    if text == "~" || (text.starts_with('~') && text.contains('/')) {
        return Err(format!("only the tool knows what `~` is in `{text}`"));
    }
    resolve(workspace, Path::new(text))
        .map(Some)
        .map_err(|error| format!("`{text}` cannot be resolved: {error}"))
}
