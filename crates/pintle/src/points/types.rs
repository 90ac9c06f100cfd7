//! What several points' payloads are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model request cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmUsage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_tokens: Option<u64>,
    /// The price, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What came out of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    /// Whether it succeeded.
    pub ok: bool,
    /// What the model gets to read.
    pub content: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed.
    Error,
    /// It ran and panicked.
    Panicked,
    /// It ran too long and was stopped.
    TimedOut,
    /// It was not allowed to run.
    Rejected,
    /// The run was cancelled before it ended.
    Cancelled,
}

/// A message of the conversation, as `before_prompt_build` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// Who said it.
    pub role: HistoryRole,
    /// What was said.
    pub text: String,
    /// The tools an assistant's message asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<HistoryToolCall>,
    /// For a tool's result: the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool's result: whether it is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryRole {
    /// A person, or a parent agent.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A tool call within the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryToolCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments the model gave.
    pub input: Value,
}

/// A message that came in over a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboundMessage {
    /// The channel's id of it.
    pub id: String,
    /// Which channel.
    pub platform: String,
    /// Which of our bots it was sent to, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot_id: Option<String>,
    /// The chat it was said in.
    pub chat_id: String,
    /// The thread within the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Who said it.
    pub sender: Sender,
    /// What was said.
    pub text: String,
    /// Whether the chat has nobody else in it.
    #[serde(default)]
    pub is_direct: bool,
    /// Whether it addresses the agent by name.
    #[serde(default)]
    pub mentions_agent: bool,
}

/// Who said something on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sender {
    /// The channel's id of the person.
    pub id: String,
    /// What they are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutboundMessage {
    /// What is said.
    pub text: String,
    /// The thread within the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// Who the agent is: what `personality_switched` may put in place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonalityConfig {
    /// Its part of the system prompt.
    pub prompt: String,
    /// The tools it may use, as globs; absent is all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The plugins whose handlers fire for it; absent is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<String>>,
}
