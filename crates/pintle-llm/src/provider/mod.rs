//! A provider's API, spoken by the client library and guarded here.

pub(crate) mod catalogue;
mod error;
pub(crate) mod prices;
mod request;
mod response;
pub(crate) mod settings;
mod tool_name;
mod windows;

use std::{sync::Arc, time::Duration};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use genai::{
    Client, ModelIden, WebConfig,
    adapter::AdapterKind,
    chat::{ChatOptions, ChatStream, ChatStreamEvent},
    resolver::{AuthData, Endpoint, ProviderConfig},
};
use pintle_agent::{Llm, LlmError, LlmEvent, LlmRequest};

use self::{
    error::Failures,
    response::{Priced, Response},
};

/// How long a connection may take to come about. A host that is there answers in far less.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// A model of a provider.
pub(crate) struct Provider {
    name: String,
    target: Arc<Target>,
}

/// What one request needs; shared with its stream, which may outlive the borrow of the provider.
struct Target {
    client: Client,
    model: ModelIden,
    stall_after: Duration,
    failures: Failures,
    priced: Priced,
}

impl Provider {
    /// Prepares the client; sends nothing.
    pub(crate) fn new(
        kind: AdapterKind,
        full_name: &str,
        name: &str,
        api_key: Option<String>,
        base_url: Option<String>,
        stall_after: Duration,
    ) -> Result<Self, genai::Error> {
        // Own prices say nothing about what a gateway charges.
        let priced = if base_url.is_none() { Priced::ByTable } else { Priced::Unknown };
        // An explicit "no key" keeps the client library from looking for one in the environment.
        let auth = api_key.clone().map_or(AuthData::None, AuthData::Key);
        let mut config = ProviderConfig::from_auth(auth);
        if let Some(url) = base_url {
            config = config.with_endpoint(Endpoint::from_owned(url));
        }
        let http = WebConfig::default()
            .with_connect_timeout(CONNECT_WITHIN)
            .apply_to_builder(pintle_http::client())
            .build()
            .map_err(|error| genai::Error::ClientBuildFail { cause: error.to_string() })?;
        let client = Client::builder()
            .with_adapter_kind(kind)
            .append_provider_config(kind, config)
            .with_reqwest(http)
            .build()?;
        let failures = Failures::new(full_name, kind.default_key_env_name(), api_key);
        let model = ModelIden::new(kind, name);
        let target = Target { client, model, stall_after, failures, priced };
        Ok(Self { name: full_name.to_owned(), target: Arc::new(target) })
    }
}

impl Llm for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn context_tokens(&self) -> Option<u64> {
        windows::of(&self.target.model.model_name)
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        stream::unfold(Step::Send(Arc::clone(&self.target), Box::new(request)), next).boxed()
    }
}

/// Where a request is. Dropping it in any state drops the connection.
enum Step {
    Send(Arc<Target>, Box<LlmRequest>),
    Read(Arc<Target>, Box<(ChatStream, Response)>),
    Over,
}

/// One event, and what comes after it. After an error or the end nothing is read any more, even if the
/// provider has more to say.
async fn next(mut step: Step) -> Option<(Result<LlmEvent, LlmError>, Step)> {
    loop {
        step = match step {
            Step::Send(target, request) => {
                let response = Response::to(&request, &target.model, target.priced);
                match target.send(*request).await {
                    Ok(stream) => Step::Read(target, Box::new((stream, response))),
                    Err(error) => return Some((Err(error), Step::Over)),
                }
            }
            Step::Read(target, mut reading) => {
                let (stream, response) = reading.as_mut();
                match stream.next().await {
                    Some(Ok(ChatStreamEvent::Chunk(chunk))) if !chunk.content.is_empty() => {
                        response.push_text(&chunk.content);
                        return Some((
                            Ok(LlmEvent::TextDelta(chunk.content)),
                            Step::Read(target, reading),
                        ));
                    }
                    Some(Ok(ChatStreamEvent::End(end))) => {
                        let (_, response) = *reading;
                        return Some((
                            response.finish(end, &target.failures).map(LlmEvent::End),
                            Step::Over,
                        ));
                    }
                    Some(Ok(_)) => Step::Read(target, reading),
                    Some(Err(error)) => {
                        return Some((Err(target.failures.explain(error)), Step::Over));
                    }
                    // The body ended, and the provider never said that the answer did.
                    None => return Some((Err(target.failures.cut()), Step::Over)),
                }
            }
            Step::Over => return None,
        }
    }
}

impl Target {
    async fn send(&self, request: LlmRequest) -> Result<ChatStream, LlmError> {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_tool_calls(true)
            .with_stream_header_timeout(self.stall_after)
            .with_stream_read_timeout(self.stall_after);
        options.max_tokens = request.max_tokens;
        let chat = request::convert(request, &self.model);
        let answer = self.client.exec_chat_stream(self.model.clone(), chat, Some(&options)).await;
        answer.map(|answer| answer.stream).map_err(|error| self.failures.explain(error))
    }
}
