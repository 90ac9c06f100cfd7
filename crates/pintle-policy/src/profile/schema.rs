//! The JSON Schema of the profile's files, from the types.

use super::file::{AgentFile, PersonalityFile};
use super::hook::Bucket;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The JSON Schema of agent.json; editors complete and check with it, and the reader goes by it.
#[must_use]
pub fn agent_schema() -> Value {
    let mut schema = schema_of::<AgentFile>();
    for bucket in Bucket::ALL {
        at_its_moment(&mut schema, bucket);
    }
    schema
}

/// An action that has no meaning at this moment, or a field of it, is told by an editor too.
fn at_its_moment(schema: &mut Value, bucket: Bucket) {
    let list = schema.pointer_mut(&format!("/$defs/Hooks/properties/{}/items", bucket.name()));
    let Some(Value::Object(action)) = list else { return };
    let mut fields = Map::new();
    if bucket != Bucket::OnToolCall {
        fields.insert("action".into(), json!({ "not": { "const": "approve" } }));
    }
    if !bucket.has_tool() {
        fields.insert("tools".into(), Value::Bool(false));
    }
    if !fields.is_empty() {
        action.insert("properties".into(), fields.into());
    }
}

pub(crate) fn personality_schema() -> Value {
    schema_of::<PersonalityFile>()
}

/// What is held against a file of this type.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    as_strict_as_the_reader(&mut schema);
    schema
}

/// Says in the words of JSON Schema what our formats and the reader ask for, as far as it has words for it. Whatever the
/// reader takes fits: an editor gives no false alarm.
fn as_strict_as_the_reader(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(as_strict_as_the_reader);
            let format = map.get("format").and_then(Value::as_str).unwrap_or_default().to_owned();
            if let Some(pattern) = pattern(&format) {
                map.insert("pattern".into(), pattern.into());
            }
            if let ("globs", Some(Value::Object(item))) = (format.as_str(), map.get_mut("items")) {
                item.insert("minLength".into(), 1.into());
            }
            match map.get("type").and_then(Value::as_str) {
                Some("integer" | "number") => {
                    let most = if format == "uint32" { u32::MAX.into() } else { MOST };
                    map.insert("maximum".into(), most.into())
                }
                Some("object") if map.get("additionalProperties").is_some_and(Value::is_object) => {
                    map.insert("propertyNames".into(), json!({ "pattern": ONE_LINE }))
                }
                _ => None,
            };
        }
        Value::Array(items) => items.iter_mut().for_each(as_strict_as_the_reader),
        _ => {}
    }
}

/// Larger numbers do not survive every JSON reader.
const MOST: u64 = 9_007_199_254_740_991;

/// Something that can be seen, and nothing that a terminal acts on.
const ONE_LINE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";

/// What a text of this format looks like.
fn pattern(format: &str) -> Option<&'static str> {
    Some(match format {
        "non-empty" => ONE_LINE,
        "glob" => r"^[^\u0000-\u001f\u007f-\u009f]+$",
        "hook-command" => r"\S",
        "env-name" => "^[A-Za-z_][A-Za-z0-9_]*$",
        "http-url" => "^[Hh][Tt][Tt][Pp][Ss]?://[^/]",
        // Plain http to what may be this machine: a name that ends in `localhost`, or an address.
        "webhook-url" => {
            r"^[Hh][Tt][Tt][Pp]([Ss]://[^/]|://([^/?#]*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]\.?|[0-9][0-9A-Fa-fXx.]*|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?([/?#]|$))"
        }
        "save-path" => {
            r"^(?![/~])(?!(\./+)*\.\.(/|$))(?!.*/$)(?=.*\S)[^\u0000-\u001f\u007f-\u009f]+$"
        }
        "inside-folder" => r"^(?![/~])(?!(\./+)*\.\.(/|$))(?=.*\S)[^\u0000-\u001f\u007f-\u009f]+$",
        _ => return None,
    })
}

/// A field that may be left out may not be `null`: two ways to say nothing would be one too many.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|t| t != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
                branches.retain(|b| b.get("type").is_none_or(|t| t != "null"));
                if let [Value::Object(one)] = branches.as_slice() {
                    let one = one.clone();
                    map.remove("anyOf");
                    map.extend(one);
                }
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
