//! Where and when: what every payload carries besides its own fields.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The circumstances of a fire, carried by every payload on the wire.
///
/// At a channel or ticket point that has no session yet, the session's fields are absent.
///
/// ```
/// use pintle::Envelope;
///
/// let envelope = Envelope {
///     session_id: Some("s-1".into()),
///     platform: "cli".into(),
///     trace_id: "t-1".into(),
///     ..Envelope::default()
/// };
/// assert_eq!(serde_json::to_value(&envelope).unwrap()["sessionId"], "s-1");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How a person finds the conversation again, such as `cli:default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// One pass of the loop, from one user message to its final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The model round of the run, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u32>,
    /// Who the agent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality_id: Option<String>,
    /// Where it happens: `cli`, `telegram`, …
    #[serde(default)]
    pub platform: String,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Ties together everything one inbound message caused.
    #[serde(default)]
    pub trace_id: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub ts: u64,
}

/// Milliseconds since 1970: how envelopes, records and stores tell the time. 0 on a clock set before that.
///
/// ```
/// use pintle::Envelope;
///
/// let envelope = Envelope { ts: pintle::now_ms(), ..Envelope::default() };
/// assert!(envelope.ts > 1_700_000_000_000);
/// ```
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The envelope's names on the wire.
///
/// ```
/// assert!(pintle::ENVELOPE_FIELDS.contains(&"sessionId"));
/// ```
pub const ENVELOPE_FIELDS: [&str; 9] = [
    "sessionId",
    "sessionKey",
    "runId",
    "turnIndex",
    "personalityId",
    "platform",
    "parentSessionId",
    "traceId",
    "ts",
];
