//! Which tool calls were begun, and what became of them (R11.6).

use pintle::points::ToolOutcome;
use serde::{Deserialize, Serialize};

use super::{Claim, Stored};

/// The ledger of tool calls: a tool runs at most once, and never silently.
///
/// The intent is written before the tool starts, the end afterwards. A crash in between leaves an intent without an end,
/// and the next owner of the session ends it as [`ToolOutcome::Unknown`].
pub trait Ledger: Send + Sync + 'static {
    /// Writes down that a call is about to start, and uses up its approval in the same transaction.
    fn begin_call(&self, claim: &Claim, intent: Intent) -> Stored<'_, Begun>;

    /// Writes down what became of a call of this session that was begun.
    fn end_call(&self, claim: &Claim, id: &str, end: CallEnd) -> Stored<'_, ()>;

    /// The calls of a session that were begun and whose results are not in its conversation yet, in the order they were
    /// begun.
    fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>>;

    /// Calls of all sessions, newest first.
    fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>>;
}

/// A call that is about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its id in the ledger, unlike any other.
    pub id: String,
    /// The run.
    pub run_id: String,
    /// The call's id; of a second attempt, its own.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The hash of the final arguments.
    pub args_hash: String,
    /// The stored approval that the call uses up.
    pub approval_id: Option<String>,
}

/// What beginning a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// The intent is written: the tool may start.
    Started,
    /// There is no unused approval with this id and hash. Nothing was written, and the tool must not start.
    ApprovalUsed,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallEnd {
    /// How it ended.
    pub outcome: ToolOutcome,
    /// What the model reads. Empty once the result is in the conversation.
    pub text: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// A call in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredCall {
    /// Its id in the ledger.
    pub id: String,
    /// The session.
    pub session_id: String,
    /// The run that began it.
    pub run_id: String,
    /// The call's id.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The hash of its arguments.
    pub args_hash: String,
    /// The epoch of the claim under which it was begun.
    pub epoch: u64,
    /// When it was begun, in milliseconds since 1970.
    pub begun_at: u64,
    /// What became of it; none while it runs, or when its process died.
    pub end: Option<CallEnd>,
}

/// Which calls to list; empty fields do not restrict.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// Only those of this session.
    pub session_id: Option<String>,
    /// Only those that ended like this.
    pub outcome: Option<ToolOutcome>,
    /// At most this many.
    pub limit: Option<u32>,
}
