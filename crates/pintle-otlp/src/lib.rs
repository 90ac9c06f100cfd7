//! Recorded runs as OpenTelemetry spans.
//!
//! A run is `invoke_agent`; below it are `chat` for each model request and `execute_tool` for each call; below those a span for
//! each hook that was called and each question that a person was asked. The run of a sub-agent is below that of its parent, in
//! the same trace. Ids are computed from the record, so that the same record gives the same spans.
//!
//! Content (prompts, answers, arguments, results) is left out unless the operator wants it.

#![forbid(unsafe_code)]

pub mod names;
mod span;
mod spans;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::InstrumentationScope,
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message;
use serde_json::Value;

pub use spans::spans;

/// What a message of [`encode`] is sent as.
pub const CONTENT_TYPE: &str = "application/x-protobuf";

/// An event of a run, as it was recorded.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its place in the run.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The whole event, as it goes on the wire.
    pub json: Value,
}

/// A span, and the place of the event that ended it.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The place.
    pub seq: u64,
    /// The span.
    pub span: Span,
}

/// Where traces are posted to: a base URL as OpenTelemetry's exporters take it, or the whole one.
///
/// ```
/// assert_eq!(pintle_otlp::endpoint("http://localhost:4318"), "http://localhost:4318/v1/traces");
/// assert_eq!(pintle_otlp::endpoint("https://otel.example/x/v1/traces"), "https://otel.example/x/v1/traces");
/// ```
pub fn endpoint(url: &str) -> String {
    let base = url.trim_end_matches('/');
    match base.ends_with("/v1/traces") {
        true => base.to_owned(),
        false => format!("{base}/v1/traces"),
    }
}

/// The body of an OTLP export request, from a program of this version.
pub fn encode(spans: Vec<Span>, version: &str) -> Vec<u8> {
    let scope = InstrumentationScope {
        name: "pintle".into(),
        version: names::VERSION.into(),
        ..InstrumentationScope::default()
    };
    let resource = Resource {
        attributes: vec![
            span::attribute(names::SERVICE, "pintle"),
            span::attribute(names::SERVICE_VERSION, version),
        ],
        ..Resource::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    let resource_spans =
        vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}
