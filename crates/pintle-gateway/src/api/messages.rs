//! Messages in, and dead letters.

use std::time::Duration;

use axum::http::StatusCode;
use futures_util::stream;
use pintle::points::{InboundMessage, Sender, ToolOutcome};
use pintle_agent::{
    Received,
    store::{
        CallFilter, MessageState, OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState,
        QueuedMessage, StoreError, StoredCall,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::{
    Api, ApiError,
    routes::{Call, Nothing, Reply},
    runs,
    sse::{self, SseEvent},
};
use crate::{channels::HTTP, clock::now_ms};

/// How long a caller waits for the answer before it gets the run's id instead.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// A message to the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewMessage {
    /// The conversation.
    #[schemars(length(min = 1, max = 200))]
    chat: String,
    /// The sender's id of the message: a second message with the same id is a duplicate. `Idempotency-Key` does the same.
    #[schemars(length(min = 1, max = 200))]
    message_id: Option<String>,
    /// The sender.
    #[schemars(length(min = 1, max = 200))]
    sender: String,
    /// The text.
    text: String,
    /// The personality of the agent from now on.
    personality: Option<String>,
}

/// The state of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageReply {
    /// The run.
    run_id: String,
    /// The agent's reply; absent before the run has ended, or when a hook suppressed the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    /// How the run ended, or `queued`, `parked`, `dead` or `handled`.
    outcome: String,
}

pub(super) async fn post(
    api: Api,
    call: Call<Nothing, NewMessage>,
) -> Result<Reply<MessageReply>, ApiError> {
    let key = call.header("idempotency-key").map(str::to_string);
    let (wants_stream, is_async) = (call.wants_stream(), prefers_async(&call));
    let NewMessage { chat, message_id, sender, text, personality } = call.body;
    let id = message_id.or(key).ok_or_else(|| {
        ApiError::bad_request("`messageId` is missing").hint("or send the header `Idempotency-Key`")
    })?;
    for (name, value) in [("chat", &chat), ("messageId", &id), ("sender", &sender)] {
        if value.is_empty() || value.len() > 200 {
            return Err(ApiError::bad_request(format!("`{name}` has 1 to 200 bytes")));
        }
    }
    if let Some(asked) = &personality
        && let Err(unknown) = api.gateway.agent().personalities().get(asked)
    {
        return Err(ApiError::bad_request(unknown.to_string()));
    }
    let message = InboundMessage::default()
        .id(id)
        .platform(HTTP)
        .chat_id(chat)
        .sender(Sender::default().id(sender))
        .text(text)
        .is_direct(true)
        .mentions_agent(true);
    let live = api.gateway.events().subscribe();
    let (run_id, is_new) = match api.gateway.receive(message, personality).await? {
        Received::Queued { run_id } => (run_id, true),
        Received::Duplicate { run_id } | Received::Handled { run_id } => (run_id, false),
        Received::Refused { reason } => {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "refused", reason));
        }
        Received::Busy => {
            let message = "too many messages of this chat are waiting already";
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "busy", message);
            return Err(error.retry_after(5));
        }
    };
    if wants_stream {
        let response = match is_new || api.gateway.queues().message(&run_id).await?.is_some() {
            true if is_new => sse::response(of_run(api, live, run_id)),
            true => runs::stream_of(api, run_id, 0),
            // A command or a hook answered: there is no run.
            false => {
                api.gateway.wait_until_settled(&run_id).await?;
                let handled = settled(&api, run_id.clone(), None).await?;
                let (id, kind) = (String::new(), "done".to_string());
                let data = json!({
                    "type": kind, "ts": now_ms(), "runId": run_id, "platform": HTTP,
                    "text": handled.reply, "outcome": handled.outcome,
                });
                sse::response(stream::iter([SseEvent { id, kind, data: data.to_string() }]))
            }
        };
        return Ok(Reply::Other(response));
    }
    if !is_async {
        let waiting = api.gateway.wait_until_settled(&run_id);
        if let Ok(message) = tokio::time::timeout(LONGEST_WAIT, waiting).await {
            return Ok(settled(&api, run_id, message?).await?.into());
        }
    }
    let message = api.gateway.queues().message(&run_id).await?;
    let reply = MessageReply { run_id, reply: None, outcome: progress(message.as_ref()) };
    Ok(Reply::Json(StatusCode::ACCEPTED, reply))
}

fn prefers_async<Q, B>(call: &Call<Q, B>) -> bool {
    call.header("prefer").is_some_and(|prefer| prefer.contains("respond-async"))
}

/// The state of a message, or the outcome of its run.
pub(super) fn progress(message: Option<&QueuedMessage>) -> String {
    let Some(message) = message else { return "handled".into() };
    match message.state {
        MessageState::Queued => "queued".into(),
        MessageState::Parked => "parked".into(),
        MessageState::Dead => "dead".into(),
        MessageState::Done => message.outcome.clone().unwrap_or_else(|| "unknown".into()),
    }
}

/// The reply after the hooks, which may rewrite or suppress it.
async fn settled(
    api: &Api,
    run_id: String,
    message: Option<QueuedMessage>,
) -> Result<MessageReply, ApiError> {
    let filter = OutgoingFilter { run_id: Some(run_id.clone()), ..OutgoingFilter::default() };
    let sent = api.gateway.queues().outgoing(filter).await?;
    let kind = if message.is_some() { OutgoingKind::Reply } else { OutgoingKind::Notice };
    let said: Vec<String> = sent
        .into_iter()
        // A reply that a hook suppressed was never sent.
        .filter(|sent| sent.new.kind == kind && sent.new.platform == HTTP && sent.attempts > 0)
        .map(|sent| sent.new.text)
        .collect();
    let outcome = progress(message.as_ref());
    let reply = (!said.is_empty()).then(|| said.join("\n"));
    Ok(MessageReply { run_id, reply, outcome })
}

/// The events of one run as they happen, to its `done`.
fn of_run(
    api: Api,
    live: tokio::sync::broadcast::Receiver<crate::events::LiveEvent>,
    run_id: String,
) -> impl futures_util::Stream<Item = SseEvent> {
    stream::unfold((api, live, run_id, false), |(api, mut live, run_id, over)| async move {
        if over {
            return None;
        }
        loop {
            let event = match live.recv().await {
                Ok(event) if event.run_id.as_ref() == Some(&run_id) => event,
                Ok(_) => continue,
                // The last event of the run may be among the missed ones.
                Err(RecvError::Lagged(_)) => {
                    let message = api.gateway.queues().message(&run_id).await.ok()?;
                    let is_open = |it: &QueuedMessage| {
                        matches!(it.state, MessageState::Queued | MessageState::Parked)
                    };
                    match message.is_some_and(|message| is_open(&message)) {
                        true => continue,
                        false => return None,
                    }
                }
                Err(RecvError::Closed) => return None,
            };
            let over = event.kind == "done";
            let id = api.gateway.events().wire_id(event.seq);
            let event = SseEvent { id, kind: event.kind, data: event.json.to_string() };
            return Some((event, (api, live, run_id, over)));
        }
    })
}

/// A message that could not be processed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeadLetter {
    /// The id with which it can be tried again.
    id: String,
    /// The chat.
    lane: String,
    /// The sender.
    sender: String,
    /// The text.
    text: String,
    /// Why it could not be processed.
    error: Option<String>,
    /// How often it was tried.
    attempts: u32,
    /// When it was accepted, in milliseconds since 1970.
    accepted_at: u64,
}

pub(super) async fn dead(api: Api, _: Call<Nothing>) -> Result<Reply<Vec<DeadLetter>>, ApiError> {
    let dead = api.gateway.queues().messages(MessageState::Dead).await?;
    let letter = |message: QueuedMessage| DeadLetter {
        id: message.run_id,
        lane: message.lane,
        sender: message.message.sender.id,
        text: message.message.text,
        error: message.error,
        attempts: message.attempts,
        accepted_at: message.accepted_at,
    };
    Ok(dead.into_iter().map(letter).collect::<Vec<_>>().into())
}

/// Actions of unknown outcome: the program ended in the middle of them, and they were not repeated.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Unknown {
    /// Messages that may have been sent.
    messages: Vec<UnknownMessage>,
    /// Tool calls that may have run, or run in part.
    calls: Vec<UnknownCall>,
}

/// A message that may have been sent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnknownMessage {
    id: String,
    run_id: String,
    platform: String,
    chat_id: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A tool call that may have run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnknownCall {
    id: String,
    run_id: String,
    tool_call_id: String,
    tool: String,
    /// When it was begun, in milliseconds since 1970.
    begun_at: u64,
}

pub(super) async fn unknown(api: Api, _: Call<Nothing>) -> Result<Reply<Unknown>, ApiError> {
    let (messages, calls) = of_unknown_outcome(&api).await?;
    let message = |it: OutgoingMessage| UnknownMessage {
        id: it.id,
        run_id: it.new.run_id,
        platform: it.new.platform,
        chat_id: it.new.chat_id,
        text: it.new.text,
        reason: it.reason,
    };
    let call = |it: StoredCall| UnknownCall {
        id: it.id,
        run_id: it.run_id,
        tool_call_id: it.tool_call_id,
        tool: it.tool,
        begun_at: it.begun_at,
    };
    let messages = messages.into_iter().map(message).collect();
    Ok(Unknown { messages, calls: calls.into_iter().map(call).collect() }.into())
}

/// The messages and the calls of unknown outcome.
pub(crate) async fn of_unknown_outcome(
    api: &Api,
) -> Result<(Vec<OutgoingMessage>, Vec<StoredCall>), StoreError> {
    let state = Some(OutgoingState::Unknown);
    let messages = OutgoingFilter { state, ..OutgoingFilter::default() };
    let calls = CallFilter { outcome: Some(ToolOutcome::Unknown), ..CallFilter::default() };
    let messages = api.gateway.queues().outgoing(messages).await?;
    Ok((messages, api.gateway.store().calls(calls).await?))
}

pub(super) async fn retry(
    api: Api,
    call: Call<Nothing, Nothing>,
) -> Result<Reply<MessageReply>, ApiError> {
    if !api.gateway.retry_dead(&call.id).await? {
        return Err(ApiError::not_found("no dead letter has this id"));
    }
    let reply = MessageReply { run_id: call.id, reply: None, outcome: "queued".into() };
    Ok(Reply::Json(StatusCode::ACCEPTED, reply))
}
