//! What is known of a point: one description for lists, lint, docs and schemas.

use schemars::SchemaGenerator;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Envelope, Model, ModelKind, Point, model::Run};

/// A point's description, made from its declaration.
///
/// ```
/// use pintle::{ModelKind, PointInfo, points::BeforeDispatch};
///
/// let info = PointInfo::of::<BeforeDispatch>();
/// assert_eq!((info.name, info.model), ("before_dispatch", ModelKind::Claiming));
/// assert_eq!(info.fields, ["chatId", "platform", "text"]);
/// assert_eq!(info.payload_schema()["properties"]["chatId"]["type"], "string");
/// assert_eq!(info.result_schema().unwrap()["required"], serde_json::json!(["handled"]));
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PointInfo {
    /// Its name.
    pub name: &'static str,
    /// Its model.
    pub model: ModelKind,
    /// At a Gate: whether a block stops the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<bool>,
    /// Whether it is about a tool.
    pub has_tool: bool,
    /// What its declaration says.
    pub doc: &'static str,
    /// Its own fields on the wire.
    pub fields: &'static [&'static str],
    /// What an answer can do; `powers` on the wire.
    #[serde(rename = "powers")]
    pub capabilities: &'static [&'static str],
    #[serde(skip)]
    payload_schema: fn() -> Value,
    #[serde(skip)]
    result_schema: fn() -> Option<Value>,
}

impl PointInfo {
    /// The description of `P`.
    pub fn of<P: Point>() -> Self {
        Self {
            name: P::NAME,
            model: P::Model::KIND,
            binding: P::Model::BINDING,
            has_tool: P::HAS_TOOL,
            doc: P::DOC,
            fields: P::fields(),
            capabilities: P::Model::capabilities(),
            payload_schema: payload_schema::<P>,
            result_schema: result_schema::<P>,
        }
    }

    /// The JSON Schema of its payload on the wire, envelope included (R5.2).
    pub fn payload_schema(&self) -> Value {
        (self.payload_schema)()
    }

    /// The JSON Schema of what a handler returns; `None` at a Void point.
    pub fn result_schema(&self) -> Option<Value> {
        (self.result_schema)()
    }
}

/// A description is the first paragraph of a doc comment: the rest speaks to who writes Rust.
fn first_paragraphs(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
            }
            object.values_mut().for_each(first_paragraphs);
        }
        Value::Array(items) => items.iter_mut().for_each(first_paragraphs),
        _ => {}
    }
}

fn result_schema<P: Point>() -> Option<Value> {
    let mut result: Value = P::Model::answer_schema(&mut SchemaGenerator::default())?.into();
    if let Some(object) = result.as_object_mut() {
        object.insert("title".into(), format!("{} result", P::NAME).into());
        // A handler with nothing to say says null.
        object.insert("type".into(), json!(["object", "null"]));
    }
    first_paragraphs(&mut result);
    Some(result)
}

fn payload_schema<P: Point>() -> Value {
    let mut payload: Value = SchemaGenerator::default().into_root_schema_for::<P>().into();
    let envelope: Value = SchemaGenerator::default().into_root_schema_for::<Envelope>().into();
    let own = payload.get("properties").cloned().unwrap_or_else(|| json!({}));
    let mut properties = envelope.get("properties").cloned().unwrap_or_else(|| json!({}));
    if let (Some(all), Value::Object(own)) = (properties.as_object_mut(), own) {
        all.extend(own);
    }
    let mut required: Vec<Value> = ["platform", "traceId", "ts"].map(Value::from).into();
    for field in payload.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !required.contains(field) {
            required.push(field.clone());
        }
    }
    if let Some(object) = payload.as_object_mut() {
        object.insert("title".into(), P::NAME.into());
        object.insert("properties".into(), properties);
        object.insert("required".into(), required.into());
    }
    first_paragraphs(&mut payload);
    payload
}
