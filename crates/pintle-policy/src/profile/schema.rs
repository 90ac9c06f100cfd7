//! The JSON Schema of the profile's files, from the types.

use super::file::{AgentFile, PersonalityFile};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The JSON Schema of agent.json; editors complete and check with it, and the reader goes by it.
#[must_use]
pub fn agent_schema() -> Value {
    schema_of::<AgentFile>()
}

pub(crate) fn personality_schema() -> Value {
    schema_of::<PersonalityFile>()
}

/// What is held against a file of this type.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    schema
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
