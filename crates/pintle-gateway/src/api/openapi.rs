//! The description of the API, from its table.

use serde_json::{Map, Value, json};

use super::routes::{JSON, Operation};

pub(super) fn document(
    operations: &[Operation],
    schemas: &Map<String, Value>,
    error: &Value,
) -> Value {
    let mut paths = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(operation.method.into(), described(operation, error));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "pintle", "version": env!("CARGO_PKG_VERSION") },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn described(operation: &Operation, error: &Value) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    if operation.path.contains("{id}") {
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
        }));
    }
    let required: Vec<&str> = list(&operation.query, "required");
    if let Some(Value::Object(fields)) = operation.query.get("properties") {
        for (name, schema) in fields {
            let is_required = required.contains(&name.as_str());
            parameters.push(json!({
                "name": name, "in": "query", "required": is_required, "schema": schema,
            }));
        }
    }
    for (name, about) in &operation.headers {
        parameters.push(json!({
            "name": name, "in": "header", "required": false, "description": about,
            "schema": { "type": "string" },
        }));
    }
    let json_of = |schema: &Value| json!({ JSON: { "schema": schema } });
    let of_kind = |kind: &&str| {
        let text = json!({ "type": "string" });
        let schema = if *kind == JSON { &operation.reply } else { &text };
        ((*kind).to_string(), json!({ "schema": schema }))
    };
    let content: Map<String, Value> = operation.kinds.iter().map(of_kind).collect();
    let mut responses = Map::from_iter([
        ("200".to_owned(), json!({ "description": "Success.", "content": content })),
        (
            "default".to_owned(),
            json!({ "description": "The call failed.", "content": json_of(error) }),
        ),
    ]);
    let mut described = Map::from_iter([
        ("summary".to_owned(), json!(operation.summary)),
        ("parameters".to_owned(), json!(parameters)),
    ]);
    if let Some(body) = &operation.body {
        let stored = json!({ "description": "The message is stored; its run follows.", "content": json_of(&operation.reply) });
        responses.insert("202".to_owned(), stored);
        let body = json!({ "required": true, "content": json_of(body) });
        described.insert("requestBody".to_owned(), body);
    }
    described.insert("responses".to_owned(), responses.into());
    described.into()
}

fn list<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    let items = schema.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).collect()
}
