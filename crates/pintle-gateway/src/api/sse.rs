//! Server-sent events.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt, stream};

/// How long a stream may be silent before a comment is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One event on the wire.
pub(crate) struct SseEvent {
    /// An empty one is left out: it would make a viewer forget where it was.
    pub(crate) id: String,
    pub(crate) kind: String,
    /// JSON: it has no line breaks.
    pub(crate) data: String,
}

impl SseEvent {
    fn on_the_wire(&self) -> String {
        let one_line = |text: &str| text.replace(['\r', '\n'], " ");
        let id = match self.id.is_empty() {
            true => String::new(),
            false => format!("id: {}\n", one_line(&self.id)),
        };
        format!("{id}event: {}\ndata: {}\n\n", one_line(&self.kind), one_line(&self.data))
    }
}

/// The events as a response that stays open.
pub(crate) fn response(events: impl Stream<Item = SseEvent> + Send + 'static) -> Response {
    let wire = stream::unfold(Box::pin(events), |mut events| async move {
        let text = match tokio::time::timeout(KEEP_ALIVE, events.next()).await {
            Ok(Some(event)) => event.on_the_wire(),
            Ok(None) => return None,
            Err(_) => ": still here\n\n".to_string(),
        };
        Some((Ok::<_, std::convert::Infallible>(text), events))
    });
    let first = stream::iter([Ok(": connected\n\n".to_string())]);
    let mut response = Body::from_stream(first.chain(wire)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
