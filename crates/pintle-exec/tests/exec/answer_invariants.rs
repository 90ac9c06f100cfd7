//! What holds of the output parser whatever it is fed. The fuzz target and the tests share it.

use pintle::{FailureKind, ModelKind};
use pintle_exec::parse_answer;
use serde_json::Value;

/// Panics if the parser does what it must never do.
pub(crate) fn hold(stdout: &[u8]) {
    for model in [ModelKind::Void, ModelKind::Modifying, ModelKind::Claiming, ModelKind::Gate] {
        for truncated in [false, true] {
            match parse_answer(stdout, truncated, model) {
                Err(failure) => assert_eq!(failure.kind, FailureKind::BadOutput),
                Ok(answer) => {
                    assert!(answer.is_null() || answer.is_object(), "{answer}");
                    // What an observer says is not looked at.
                    if model != ModelKind::Void && begins_like_json(stdout) {
                        assert!(!truncated, "JSON that was cut off was understood");
                        assert_eq!(Some(answer), plainly_read(stdout), "it is not what it says");
                    }
                }
            }
        }
    }
}

fn begins_like_json(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii().starts_with(b"{")
}

/// As any other JSON reader would read it.
fn plainly_read(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    // White space around it is not part of it, also where JSON knows fewer kinds of it.
    serde_json::from_str(text.trim_start_matches('\u{feff}').trim_ascii()).ok()
}
