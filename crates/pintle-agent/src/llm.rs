//! What the loop needs of whatever writes text.

use std::{fmt, time::Duration};

use futures_util::stream::BoxStream;
use pintle::points::{LlmUsage, Message, ToolCall};
use pintle_policy::ToolSpec;
use serde::Serialize;

/// Something that writes text: a provider's API, a script, a set of rules.
///
/// Two methods and a figure, so that a new provider is a small file. Retrying is the loop's job, because each attempt
/// fires `model.pre`.
pub trait Llm: Send + Sync + 'static {
    /// What `--model` calls it, as in `anthropic/claude-sonnet-5`.
    fn name(&self) -> &str;

    /// How many tokens a request may have, where that is known.
    fn context_tokens(&self) -> Option<u64> {
        None
    }

    /// Sends one request. The stream yields text as it comes and closes with exactly one [`LlmEvent::End`].
    ///
    /// A stream that stops without `End` was cut: the caller treats it as an error and runs no tool from it.
    /// Dropping the stream aborts the request.
    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>>;
}

/// One request, in no provider's dialect.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmRequest {
    /// The system prompt.
    pub system: String,
    /// The conversation; the last message is a `User` or a `ToolResults`.
    pub messages: Vec<Message>,
    /// The tools the model may ask for.
    pub tools: Vec<ToolSpec>,
    /// The most tokens to write; the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// A piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum LlmEvent {
    /// More text.
    TextDelta(String),
    /// The response is complete. Nothing follows.
    End(LlmResponse),
}

/// A complete response.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmResponse {
    /// All of its text (the deltas joined).
    pub text: String,
    /// The tool calls, in order, each with an id of its own.
    pub tool_calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: LlmUsage,
    /// Why the model stopped.
    pub finish: FinishReason,
}

/// Why a model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// It had said what it had to say.
    EndTurn,
    /// It asks for tools.
    ToolUse,
    /// It ran into the token limit.
    MaxTokens,
    /// It refused.
    Refusal,
}

impl FinishReason {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a request failed.
///
/// Codes the loop knows: `overloaded`, `rate_limited`, `server_error`, `network`, `cut` (the stream stopped
/// before its end), `stalled`, `auth`, `too_long` (the request does not fit the model's window), `bad_request`,
/// `script_exhausted`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct LlmError {
    /// A short code.
    pub code: String,
    /// What happened and, where it helps, what to do.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// The code of a request that does not fit the model's window. The loop makes the conversation shorter and asks again.
    pub const TOO_LONG: &'static str = "too_long";
}
