//! What the loop needs of wherever conversations are kept.

use std::any::Any;

use futures_util::future::{BoxFuture, FutureExt};
use serde::{Deserialize, Serialize};

use crate::message::Message;

/// Where sessions live.
///
/// A returned `Ok` is a promise: what was appended survives a `kill -9` right after.
pub trait Store: Send + Sync + 'static {
    /// Opens the newest session with this key, or makes one.
    fn open(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>>;
    /// Makes a new session with this key, leaving older ones with the same key alone.
    fn create(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>>;
    /// One session by id.
    fn session(&self, id: &str) -> BoxFuture<'_, Result<Option<Session>, StoreError>>;
    /// All sessions, newest first.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<Session>, StoreError>>;
    /// Remembers which personality the session speaks as.
    fn set_personality(&self, id: &str, personality: &str)
    -> BoxFuture<'_, Result<(), StoreError>>;
    /// Adds messages to the end of a session: all of them or none.
    fn append(&self, id: &str, messages: Vec<NewMessage>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// All messages of a session, oldest first.
    fn history(&self, id: &str) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;
    /// Removes a session and its messages. `false` when there was none.
    fn delete(&self, id: &str) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Makes the session the caller's alone until the claim is dropped or its process dies: a run holds it from before
    /// it reads the conversation until it has written its last message.
    ///
    /// A store that several processes can reach refuses with [`StoreError::InUse`] when another holds it and keeps it.
    /// One that only this process can reach need not do anything: runs of one agent take turns anyway.
    fn claim(&self, _session: &Session) -> BoxFuture<'_, Result<Claim, StoreError>> {
        std::future::ready(Ok(Claim::default())).boxed()
    }
}

/// A session that belongs to one run. Dropping it gives the session back.
#[derive(Default)]
pub struct Claim(Option<Box<dyn Any + Send + Sync>>);

impl Claim {
    /// A claim that lasts as long as this guard, which gives the session back when it is dropped.
    pub fn held_by(guard: impl Send + Sync + 'static) -> Self {
        Self(Some(Box::new(guard)))
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Claim").field(&self.0.is_some()).finish()
    }
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

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is not a database, or a damaged one. It was left as it is.
    #[error("the database {path} is damaged: {detail}")]
    Corrupt {
        /// Where it is.
        path: String,
        /// What SQLite said.
        detail: String,
    },
    /// There is no such session.
    #[error("there is no session `{0}`")]
    NoSuchSession(String),
    /// Another process is running in the session.
    #[error(
        "the conversation `{session}` is in use by another pintle{by}. Wait until it is done, or talk in another one \
         (`--session NAME`, or `--new`)"
    )]
    InUse {
        /// The session's key.
        session: String,
        /// Which process, as ` (process 42)`; empty when that is not known.
        by: String,
    },
    /// Anything else.
    #[error("the store failed while {doing}: {detail}")]
    Failed {
        /// What it was about to do.
        doing: &'static str,
        /// What went wrong.
        detail: String,
    },
}
