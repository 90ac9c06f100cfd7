//! A JSON file that remembers where everything is written.

use super::report::Problem;
use std::ops::Range;

/// A value of agent.json and where it is written.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its bytes in the file.
    pub span: Range<usize>,
    pub(crate) kind: Kind,
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Field>),
}

impl Node {
    /// The value of this field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.fields().iter().find(|f| f.key == key).map(|f| &f.value)
    }

    pub(crate) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// What a string says.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list that stands in this field.
    #[must_use]
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map(Node::items).unwrap_or_default()
    }

    pub(crate) fn table(&self, key: &str) -> &[Field] {
        self.get(key).map(Node::fields).unwrap_or_default()
    }

    /// The text that stands in this field.
    #[must_use]
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    /// Its first byte: where something that is missing in it is shown.
    #[must_use]
    pub fn head(&self) -> Range<usize> {
        self.span.start..self.span.start.saturating_add(1)
    }

    /// What it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    /// The value without places; for a file that has been checked.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => serde_json::from_str(n).unwrap_or(Value::Null),
            Kind::Text(t) => Value::String(t.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Kind::Object(fields) => {
                Value::Object(fields.iter().map(|f| (f.key.clone(), f.value.to_json())).collect())
            }
        }
    }
}

/// What came of reading a file.
pub(crate) struct Parsed {
    /// What is in it; none if that is not known.
    pub(crate) document: Option<Node>,
    /// What is wrong with the writing of it: then it is only for checking the rest.
    pub(crate) problems: Vec<Problem>,
}
