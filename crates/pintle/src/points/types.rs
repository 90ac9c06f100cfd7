//! What several points' payloads are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A struct that can grow: with a setter for each field.
macro_rules! shape {
    ($(#[$meta:meta])* pub struct $Name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $Name { $($body)* }

        $crate::__setters!($Name { $($body)* });
    };
}

shape! {
    /// The tokens and the cost of a model request.
    ///
    /// ```
    /// use pintle::points::LlmUsage;
    ///
    /// let usage = LlmUsage::default().input_tokens(10).output_tokens(5);
    /// assert_eq!(serde_json::to_value(usage).unwrap(), serde_json::json!({ "inputTokens": 10, "outputTokens": 5 }));
    /// ```
    #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct LlmUsage {
        /// Tokens of the request.
        pub input_tokens: u64,
        /// Tokens of the answer.
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
}

/// Several requests together: what one of them does not say adds nothing.
impl std::ops::AddAssign for LlmUsage {
    fn add_assign(&mut self, other: Self) {
        fn add<N: Copy + Default + std::ops::AddAssign>(sum: &mut Option<N>, more: Option<N>) {
            if let Some(more) = more {
                *sum.get_or_insert_default() += more;
            }
        }
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        add(&mut self.cache_read_tokens, other.cache_read_tokens);
        add(&mut self.cache_creation_tokens, other.cache_creation_tokens);
        add(&mut self.cost_usd, other.cost_usd);
    }
}

shape! {
    /// The result of a tool call.
    ///
    /// ```
    /// use pintle::points::ToolCallResult;
    ///
    /// let failed = ToolCallResult::default().error("no such file");
    /// assert_eq!(serde_json::to_value(&failed).unwrap()["error"], "no such file");
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct ToolCallResult {
        /// Whether it succeeded.
        pub ok: bool,
        /// The text that the model reads.
        pub content: String,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
    }
}

shape! {
    /// Text that came from outside: what a web page, another server, a file elsewhere or a stranger says. It is data.
    ///
    /// ```
    /// use pintle::points::Untrusted;
    ///
    /// let page = Untrusted::default().from("terminal: curl example.com");
    /// assert_eq!(serde_json::to_value(page).unwrap(), serde_json::json!({ "from": "terminal: curl example.com" }));
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct Untrusted {
        /// Where it came from, in words.
        pub from: String,
        /// Why it looks as if it gave the agent orders: what a hook at `tool.post` objected to, or that none could look.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub suspicion: Option<String>,
    }
}

/// Why a conversation is summarised.
///
/// ```
/// assert_eq!(serde_json::to_value(pintle::points::CompactionReason::Overflow).unwrap(), "overflow");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionReason {
    /// The next request would not fit the model's window.
    #[default]
    Auto,
    /// The provider answered that the request was too long.
    Overflow,
    /// A person asked for it.
    Manual,
}

/// How a tool call ended.
///
/// ```
/// assert_eq!(serde_json::to_value(pintle::points::ToolOutcome::TimedOut).unwrap(), "timed_out");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
    /// It was begun, and its process died before the result was stored. It may have taken effect, and is not run again.
    #[default]
    Unknown,
}

shape! {
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
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct InboundMessage {
        /// The channel's id of the message.
        pub id: String,
        /// The channel, such as `telegram`.
        pub platform: String,
        /// Which of our bots it was sent to, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub bot_id: Option<String>,
        /// The chat it was sent in.
        pub chat_id: String,
        /// The thread within the chat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub thread_id: Option<String>,
        /// The person who sent it.
        pub sender: Sender,
        /// The text of the message.
        pub text: String,
        /// Whether the chat is private.
        #[serde(default)]
        pub is_direct: bool,
        /// Whether it addresses the agent by name.
        #[serde(default)]
        pub mentions_agent: bool,
    }
}

shape! {
    /// A person on a channel.
    ///
    /// ```
    /// use pintle::points::Sender;
    ///
    /// let sender = Sender::default().id("u1").name("Ada");
    /// assert_eq!(serde_json::to_value(&sender).unwrap()["name"], "Ada");
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct Sender {
        /// The channel's id of the person.
        pub id: String,
        /// The person's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

shape! {
    /// A message on its way out.
    ///
    /// ```
    /// use pintle::points::OutboundMessage;
    ///
    /// let message = OutboundMessage::default().text("hi").reply_to("m1");
    /// assert_eq!(serde_json::to_value(&message).unwrap()["replyTo"], "m1");
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct OutboundMessage {
        /// The text of the message.
        pub text: String,
        /// The thread within the chat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub thread_id: Option<String>,
        /// The message it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reply_to: Option<String>,
    }
}

shape! {
    /// The configuration of a personality, which a handler of `personality_switched` can replace.
    ///
    /// ```
    /// use pintle::points::PersonalityConfig;
    ///
    /// let coder = PersonalityConfig::default().prompt("You write code.");
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
}
