//! One span while it is built.

use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, ArrayValue, KeyValue, any_value},
    trace::v1::{Span, Status, span::SpanKind, status::StatusCode},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

const NANOS: f64 = 1e6;

/// A moment in milliseconds since 1970, as OTLP has it.
pub(crate) fn nanos(ms: f64) -> u64 {
    (ms.max(0.0) * NANOS) as u64
}

/// The id of a trace: that of the record where it has as many bytes, else a hash of it.
pub(crate) fn trace_id(recorded: &str) -> Vec<u8> {
    let digits: Vec<u8> = recorded.bytes().filter(|byte| *byte != b'-').collect();
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    match bytes.filter(|bytes| bytes.len() == 16) {
        Some(bytes) => bytes,
        None => hash(&[recorded], 16),
    }
}

/// The id of a span, from what it is about.
pub(crate) fn span_id(about: &[&str]) -> Vec<u8> {
    hash(about, 8)
}

fn hash(about: &[&str], length: usize) -> Vec<u8> {
    let digest = Sha256::digest(about.join("\n").as_bytes());
    digest.iter().copied().take(length).collect()
}

pub(crate) fn attribute(key: &str, value: impl Into<Attribute>) -> KeyValue {
    let value = Some(AnyValue { value: Some(value.into().0) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

/// The value of an attribute.
pub(crate) struct Attribute(any_value::Value);

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self(any_value::Value::StringValue(text.to_owned()))
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self(any_value::Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<f64> for Attribute {
    fn from(number: f64) -> Self {
        Self(any_value::Value::DoubleValue(number))
    }
}

impl From<bool> for Attribute {
    fn from(truth: bool) -> Self {
        Self(any_value::Value::BoolValue(truth))
    }
}

impl From<Vec<&str>> for Attribute {
    fn from(texts: Vec<&str>) -> Self {
        let text = |text: &str| AnyValue { value: Some(Attribute::from(text).0) };
        let values = texts.into_iter().map(text).collect();
        Self(any_value::Value::ArrayValue(ArrayValue { values }))
    }
}

/// A span that is not ended yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Open {
    span: Span,
    ends: f64,
}

impl Open {
    pub(crate) fn new(name: String, id: Vec<u8>, trace: &[u8], start: f64) -> Self {
        let span = Span {
            trace_id: trace.to_vec(),
            span_id: id,
            name,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanos(start),
            ..Span::default()
        };
        Self { span, ends: start }
    }

    /// It asks another program.
    pub(crate) fn client(mut self) -> Self {
        self.span.kind = SpanKind::Client.into();
        self
    }

    pub(crate) fn below(mut self, parent: Vec<u8>) -> Self {
        self.span.parent_span_id = parent;
        self
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Attribute>) -> Self {
        self.span.attributes.push(attribute(key, value));
        self
    }

    /// With a text of an event, where it is there.
    pub(crate) fn with_text(self, key: &str, event: &Value, field: &str) -> Self {
        match event.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            Some(text) => self.with(key, text),
            None => self,
        }
    }

    /// The same with a number.
    pub(crate) fn with_number(self, key: &str, event: &Value, field: &str) -> Self {
        match event.get(field).and_then(Value::as_u64) {
            Some(number) => self.with(key, number),
            None => self,
        }
    }

    /// It did not do what it was for.
    pub(crate) fn failed(mut self, message: &str) -> Self {
        self.span.status =
            Some(Status { message: message.to_owned(), code: StatusCode::Error.into() });
        self
    }

    /// It is known when it ends, and not yet what it belongs to.
    pub(crate) fn ending(self, ends: f64) -> Self {
        Self { ends, ..self }
    }

    pub(crate) fn ends(&self) -> f64 {
        self.ends
    }

    pub(crate) fn end(mut self, at: f64) -> Span {
        self.span.end_time_unix_nano = nanos(at).max(self.span.start_time_unix_nano);
        self.span
    }
}
