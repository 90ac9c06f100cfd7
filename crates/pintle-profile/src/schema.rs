//! The JSON Schema of the profile's files, from the types, the buckets and the actions.

use super::file::{AgentFile, PersonalityFile};
use super::{ActionKind, BUCKETS};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The JSON Schema of an agent.json with these actions; editors complete and check with it, and the reader goes by it.
#[must_use]
pub fn agent_schema(actions: &[ActionKind]) -> Value {
    let mut generator = generator();
    let kinds: Vec<Value> = actions.iter().map(|kind| action(kind, &mut generator)).collect();
    let mut schema = generator.into_root_schema_for::<AgentFile>().to_value();
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{about}\n\n{LEFT_TO_THE_READER}");
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.trim().into());
    }
    if let Some(Value::Object(hooks)) = schema.pointer_mut("/properties/hooks") {
        hooks.insert("additionalProperties".into(), false.into());
        let buckets =
            BUCKETS.iter().map(|bucket| (bucket.name.to_owned(), moment(bucket, actions)));
        hooks.insert("properties".into(), Value::Object(buckets.collect()));
    }
    if let Some(Value::Object(definitions)) = schema.pointer_mut("/$defs") {
        definitions
            .insert("Action".into(), json!({ "description": "One action.", "oneOf": kinds }));
    }
    tightened(schema)
}

/// What an editor cannot say.
const LEFT_TO_THE_READER: &str = "`pintle hooks lint` says more than a schema can: keys that are written twice, names that are taken or that nothing has, texts that are empty or hide characters, paths, files and links in the folder, shell lines and rules that cannot be parsed, addresses and variables.";

/// An action with its own fields and those that every action has.
fn action(kind: &ActionKind, generator: &mut SchemaGenerator) -> Value {
    let mut schema = (kind.schema)(generator).to_value();
    let tools = json!({
        "description": "Only for these tools, as globs; for every tool if left out.",
        "type": "array", "items": { "type": "string" }, "format": "globs"
    });
    let name = json!({
        "description": "Its name in lists and records.", "type": "string", "format": "non-empty"
    });
    let shadow = json!({
        "description": "Whether it is only tried: what it says is recorded, and has no effect.", "type": "boolean"
    });
    let Some(object) = schema.as_object_mut() else { return schema };
    object.insert("additionalProperties".into(), false.into());
    let fields = object.entry("properties").or_insert_with(|| json!({}));
    let common = [
        ("action", json!({ "type": "string", "const": kind.name })),
        ("name", name),
        ("tools", tools),
    ];
    // What only observes has no verdict that could be left out.
    for (key, field) in common.into_iter().chain((!kind.observes).then_some(("shadow", shadow))) {
        fields.as_object_mut().map(|fields| fields.insert(key.into(), field));
    }
    if let Some(required) = object.entry("required").or_insert_with(|| json!([])).as_array_mut() {
        required.insert(0, "action".into());
    }
    schema
}

/// The actions of one moment. An editor marks one that has no meaning there, or a field of it, too.
fn moment(bucket: &crate::Bucket, actions: &[ActionKind]) -> Value {
    let mut fields = Map::new();
    let elsewhere = |kind: &&ActionKind| kind.only_in.is_some_and(|it| it.bucket != bucket.name);
    let not_here: Vec<&str> = actions.iter().filter(elsewhere).map(|kind| kind.name).collect();
    if !not_here.is_empty() {
        fields.insert("action".into(), json!({ "not": { "enum": not_here } }));
    }
    if !bucket.has_tool {
        fields.insert("tools".into(), false.into());
    }
    let mut item = json!({ "$ref": "#/$defs/Action" });
    if let Some(item) = item.as_object_mut().filter(|_| !fields.is_empty()) {
        item.insert("properties".into(), fields.into());
    }
    let about = format!("`{}`: {}.", bucket.point, bucket.about);
    json!({ "description": about, "type": "array", "items": item })
}

pub(crate) fn personality_schema() -> Value {
    schema_of::<PersonalityFile>()
}

/// What is held against a file of this type.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    tightened(generator().into_root_schema_for::<T>().to_value())
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn tightened(mut schema: Value) -> Value {
    without_null(&mut schema);
    with_largest_numbers(&mut schema);
    schema
}

/// Larger numbers do not survive every JSON reader.
const MOST: u64 = 9_007_199_254_740_991;

fn with_largest_numbers(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(with_largest_numbers);
            let of_32_bits = map.get("format").is_some_and(|format| format == "uint32");
            if map.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
                let most = if of_32_bits { u32::MAX.into() } else { MOST };
                map.insert("maximum".into(), most.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_largest_numbers),
        _ => {}
    }
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
