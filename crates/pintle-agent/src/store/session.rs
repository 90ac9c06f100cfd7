//! Conversations.

use serde::{Deserialize, Serialize};

use super::{Claim, Stored};
use crate::Message;

/// Where conversations are kept.
pub trait Sessions: Send + Sync + 'static {
    /// Opens the newest session with this key and the same parent, or makes one.
    fn open(&self, new: NewSession) -> Stored<'_, Session>;
    /// Makes a new session with this key, leaving older ones with the same key alone.
    fn create(&self, new: NewSession) -> Stored<'_, Session>;
    /// One session by id.
    fn session(&self, id: &str) -> Stored<'_, Option<Session>>;
    /// All sessions, newest first.
    fn sessions(&self) -> Stored<'_, Vec<Session>>;
    /// All messages of a session, oldest first.
    fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>>;
    /// What the next request is made of: the summary, if there is one, and the messages after it, oldest first.
    fn conversation(&self, id: &str) -> Stored<'_, Conversation>;
    /// The newest message.
    fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>>;
    /// Whether this run has stored a message in the session.
    fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool>;
    /// Marks how far a summary stands for the messages of the claimed session. The messages stay. It replaces the summary
    /// before it.
    fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()>;
    /// Adds messages to the end of the claimed session: all of them or none.
    ///
    /// Tool results settle the session's open calls: [`Ledger::open_calls`](super::Ledger::open_calls) is empty after it.
    fn append(&self, claim: &Claim, messages: Vec<NewMessage>) -> Stored<'_, ()>;
    /// Remembers which personality the claimed session speaks as.
    fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()>;
    /// Removes the claimed session with everything that belongs to it. The claim is of no use afterwards.
    fn delete(&self, claim: &Claim) -> Stored<'_, ()>;
}

/// What a new session starts with.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// How a person finds it again: `cli:default`, `telegram:42`.
    pub key: String,
    /// Where it happens: `cli`, `telegram`.
    pub platform: String,
    /// Who the agent is.
    pub personality: Option<String>,
    /// The session that delegated to this one.
    pub parent: Option<String>,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id (a UUID v7).
    pub id: String,
    /// How a person finds it again.
    pub key: String,
    /// Where it happens.
    pub platform: String,
    /// Who the agent is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// The session that delegated to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// When its newest message was stored.
    pub updated_at: u64,
    /// How many messages it has.
    pub message_count: u64,
}

/// A message about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The run that produced it.
    pub run_id: String,
    /// The message.
    pub message: Message,
}

/// A message as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    /// The run that produced it.
    pub run_id: String,
    /// When it was stored, in milliseconds since 1970.
    pub at: u64,
    /// The message.
    pub message: Message,
}

/// What stands for the oldest messages of a session in a request (R6.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many messages it stands for, from the first on.
    pub covers: u64,
    /// What it says.
    pub text: String,
}

/// What a request is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// What stands for the messages before.
    pub summary: Option<Summary>,
    /// The messages after the summary, oldest first.
    pub messages: Vec<StoredMessage>,
}
