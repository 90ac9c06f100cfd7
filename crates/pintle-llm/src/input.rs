//! A tool call's arguments, as far as they are any.

use pintle::kind_of;
use serde_json::{Map, Value};

/// The arguments and, when they are not a JSON object, why.
///
/// A call with a reason keeps the raw text, so that the rejection can show what the model wrote. Such a call
/// must never run, not even with the part of it that could be read.
pub(crate) type Input = (Value, Option<String>);

/// Reads what a model wrote as the arguments of a call.
pub(crate) fn from_text(text: &str) -> Input {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => (Value::Object(fields), None),
        Ok(other) => (text.into(), Some(not_an_object(&other))),
        Err(error) => (text.into(), Some(format!("the arguments are not JSON: {error}"))),
    }
}

/// Takes arguments that a client library has already tried to parse.
///
/// It hands over what it could not parse as a string. A call without arguments comes as nothing at all.
pub(crate) fn from_value(value: Value) -> Input {
    match value {
        Value::Object(fields) => (Value::Object(fields), None),
        Value::Null => (Value::Object(Map::new()), None),
        Value::String(text) if text.trim().is_empty() => (Value::Object(Map::new()), None),
        Value::String(text) => from_text(&text),
        other => (other.to_string().into(), Some(not_an_object(&other))),
    }
}

fn not_an_object(value: &Value) -> String {
    format!("the arguments are {}, not a JSON object", kind_of(value))
}
