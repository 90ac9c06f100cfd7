//! The providers, over real HTTP, against a server that speaks each one's streaming protocol.

mod answers;
mod broken_off;
mod dialect;
mod failures;
mod requests;
mod server;
mod too_long;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use pintle_agent::{Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, Message, ToolSpec};
use pintle_llm::{ProviderConfig, Settings, open};
use serde_json::json;

use self::{dialect::Dialect, server::Server};

pub(crate) const KEY: &str = "sk-secret-key";

pub(crate) fn settings(dialect: &Dialect, url: &str) -> Settings {
    let config = ProviderConfig { base_url: Some(url.to_owned()), api_key: Some(KEY.to_owned()) };
    Settings { providers: [(dialect.provider.to_owned(), config)].into(), ..Settings::default() }
}

pub(crate) fn model(dialect: &Dialect, server: &Server) -> Arc<dyn Llm> {
    model_with(dialect, &settings(dialect, &server.url))
}

pub(crate) fn model_with(dialect: &Dialect, settings: &Settings) -> Arc<dyn Llm> {
    open(&format!("{}/{}", dialect.provider, dialect.model), settings).unwrap()
}

pub(crate) fn ask(text: &str) -> LlmRequest {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let terminal = ToolSpec::new("terminal", "Runs a shell command.", schema);
    LlmRequest {
        system: "You are terse.".into(),
        messages: vec![Message::user(text)],
        tools: vec![terminal],
        max_tokens: None,
    }
}

/// What came of a request.
pub(crate) struct Outcome {
    pub(crate) deltas: Vec<String>,
    pub(crate) result: Result<LlmResponse, LlmError>,
}

/// Reads a stream to its end and checks what holds for every stream: it closes with one end or one error, nothing
/// follows, and the deltas are the text.
pub(crate) async fn outcome(llm: &dyn Llm, request: LlmRequest) -> Outcome {
    let reading = async {
        let mut stream = llm.stream(request);
        let mut deltas = Vec::new();
        let result = loop {
            match stream.next().await.expect("a stream must close with an end or an error") {
                Ok(LlmEvent::TextDelta(text)) => deltas.push(text),
                Ok(LlmEvent::End(response)) => break Ok(response),
                Err(error) => break Err(error),
            }
        };
        assert!(stream.next().await.is_none(), "something follows the end");
        if let Ok(response) = &result {
            assert_eq!(response.text, deltas.concat());
        }
        Outcome { deltas, result }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("the stream never ended")
}

pub(crate) async fn response(llm: &dyn Llm, request: LlmRequest) -> LlmResponse {
    outcome(llm, request).await.result.unwrap()
}

pub(crate) async fn failure(llm: &dyn Llm, request: LlmRequest) -> LlmError {
    outcome(llm, request).await.result.unwrap_err()
}
