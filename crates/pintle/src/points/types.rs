//! What several points' payloads are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model request cost.
///
/// ```
/// use pintle::points::LlmUsage;
///
/// let usage = LlmUsage { input_tokens: 10, output_tokens: 5, ..LlmUsage::default() };
/// assert_eq!(serde_json::to_value(usage).unwrap(), serde_json::json!({ "inputTokens": 10, "outputTokens": 5 }));
/// ```
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
///
/// ```
/// use pintle::points::ToolCallResult;
///
/// let failed = ToolCallResult { ok: false, content: String::new(), error: Some("no such file".into()) };
/// assert_eq!(serde_json::to_value(&failed).unwrap()["error"], "no such file");
/// ```
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
///
/// ```
/// assert_eq!(serde_json::to_value(pintle::points::ToolOutcome::TimedOut).unwrap(), "timed_out");
/// ```
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
///
/// ```
/// use pintle::points::{HistoryMessage, HistoryRole};
///
/// let message: HistoryMessage = serde_json::from_str(r#"{ "role": "user", "text": "hi" }"#).unwrap();
/// assert_eq!((message.role, message.tool_calls.len()), (HistoryRole::User, 0));
/// ```
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
///
/// ```
/// assert_eq!(serde_json::to_value(pintle::points::HistoryRole::Assistant).unwrap(), "assistant");
/// ```
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
///
/// ```
/// use pintle::points::HistoryToolCall;
///
/// let call = HistoryToolCall { id: "t1".into(), name: "terminal".into(), input: serde_json::json!({ "command": "ls" }) };
/// assert_eq!(call.input["command"], "ls");
/// ```
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
///
/// ```
/// use pintle::points::InboundMessage;
///
/// let message: InboundMessage = serde_json::from_value(serde_json::json!({
///     "id": "m1", "platform": "telegram", "chatId": "c1", "sender": { "id": "u1" }, "text": "hi",
/// })).unwrap();
/// assert!(!message.is_direct && message.thread_id.is_none());
/// ```
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
///
/// ```
/// use pintle::points::Sender;
///
/// let sender = Sender { id: "u1".into(), name: Some("Ada".into()) };
/// assert_eq!(serde_json::to_value(&sender).unwrap()["name"], "Ada");
/// ```
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
///
/// ```
/// use pintle::points::OutboundMessage;
///
/// let message = OutboundMessage { text: "hi".into(), thread_id: None, reply_to: Some("m1".into()) };
/// assert_eq!(serde_json::to_value(&message).unwrap()["replyTo"], "m1");
/// ```
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
///
/// ```
/// use pintle::points::PersonalityConfig;
///
/// let coder = PersonalityConfig { prompt: "You write code.".into(), ..PersonalityConfig::default() };
/// assert!(coder.tools.is_none() && coder.plugins.is_none());
/// ```
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
