//! What a conversation is made of, as stored and as sent to a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Untrusted;

/// One message of a conversation.
///
/// ```
/// use pintle::points::Message;
///
/// let message: Message = serde_json::from_str(r#"{ "role": "user", "text": "hi" }"#).unwrap();
/// assert_eq!(message, Message::user("hi"));
/// ```
///
/// Every tool call of an `Assistant` message is answered by exactly one result, in the same order, in the
/// `ToolResults` message right after it (R6.1).
///
/// There are these three roles. Each may get another field, so a pattern ends in `..`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Message {
    /// A message of a person, or of a parent agent.
    #[non_exhaustive]
    User {
        /// The words.
        text: String,
    },
    /// An answer of the model.
    #[non_exhaustive]
    Assistant {
        /// The words; empty when the model only asked for tools.
        text: String,
        /// The tool calls it asked for, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The results of the tool calls of the message before.
    #[non_exhaustive]
    ToolResults {
        /// One per call, in the calls' order.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// A message of a person, or of a parent agent.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// An answer of the model.
    pub fn assistant(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Self::Assistant { text: text.into(), tool_calls }
    }

    /// The results of the tool calls of the message before.
    pub fn tool_results(results: Vec<ToolResult>) -> Self {
        Self::ToolResults { results }
    }
}

shape! {
    /// A tool call as the model asked for it.
    ///
    /// ```
    /// use pintle::points::ToolCall;
    ///
    /// let call = ToolCall::default().id("t1").name("terminal").input(serde_json::json!({ "command": "ls" }));
    /// assert_eq!((call.input["command"].as_str(), call.malformed), (Some("ls"), None));
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct ToolCall {
        /// The provider's id of this call; its result carries the same.
        pub id: String,
        /// The tool's name.
        pub name: String,
        /// The arguments. When `malformed` is set, the raw text the model produced, as a JSON string.
        pub input: Value,
        /// Why the arguments are not JSON, when they are not. Such a call is rejected, never run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub malformed: Option<String>,
    }
}

shape! {
    /// The result of one tool call.
    ///
    /// ```
    /// use pintle::points::ToolResult;
    ///
    /// let result = ToolResult::default().tool_call_id("t1").tool_name("terminal").content("a.txt");
    /// assert_eq!(serde_json::to_value(&result).unwrap()["toolCallId"], "t1");
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct ToolResult {
        /// The id of the call it answers.
        pub tool_call_id: String,
        /// The tool's name.
        pub tool_name: String,
        /// The tool's output, or why it did not run.
        pub content: String,
        /// An error stays an error when the conversation is replayed.
        pub is_error: bool,
        /// That the content came from outside. A model gets to read it in a fence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub untrusted: Option<Untrusted>,
    }
}
