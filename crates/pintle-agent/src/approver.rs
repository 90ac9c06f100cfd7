//! Asking a person.

use futures_util::future::{BoxFuture, FutureExt};
use serde::Serialize;
use serde_json::Value;

use crate::rule::{ApprovalRule, StandingRule};

/// Whoever can say yes or no to a tool call.
pub trait Approver: Send + Sync + 'static {
    /// The rules that stand in this session; without one, those that stand in every session (R11.7). The judge compares
    /// the call with them before anybody is asked.
    fn rules(&self, _session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// Writes the question down before anybody is asked, so that it survives a crash (R11.4). It may be settled
    /// already: there is no one to ask.
    fn prepare(&self, _request: &ApprovalRequest) -> BoxFuture<'static, Prepared> {
        std::future::ready(Prepared::Ask).boxed()
    }

    /// Uses up a yes, right before the tool runs with exactly these arguments. Only the first use is `true`.
    fn consume(&self, _approval_id: &str, _args_hash: &str) -> BoxFuture<'static, bool> {
        std::future::ready(true).boxed()
    }

    /// The calls of this session whose question is still open or answered but not acted on: a run that died while
    /// it waited can be resumed with them.
    fn open_calls(&self, _session_id: &str) -> BoxFuture<'static, Vec<String>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// Calls off every open question of this session: the conversation has gone on.
    fn withdraw(&self, _session_id: &str) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    /// Asks, and waits for the answer. The run is cancelled by dropping the future.
    ///
    /// An answer counts if it came before [`ApprovalRequest::expires_at`]: that is for the approver to see to, who knows
    /// when it came. Without one it says [`ApprovalOutcome::Expired`] then.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome>;
}

/// What writing a question down came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// It is written down under its own id, or under the id it had before a crash: ask.
    Ask,
    /// The same, for a question that an earlier run had asked under another id.
    AskAs(String),
    /// Nobody needs to be asked, or nobody can be.
    Settled(ApprovalOutcome),
}

/// What a person is asked: the real, final arguments.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The question's id.
    pub approval_id: String,
    /// The session that asks.
    pub session_id: String,
    /// The run that asks.
    pub run_id: String,
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its final arguments.
    pub args: Value,
    /// Their hash: an answer is bound to it.
    pub args_hash: String,
    /// Why it has to be asked.
    pub reason: String,
    /// When the question lapses, in milliseconds since 1970.
    pub expires_at: u64,
    /// What a person may approve beyond this call; the question shows it in words (R11.7).
    pub rule: Option<ApprovalRule>,
}

/// What became of a question. Everything but `Approved` blocks (R11.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// Somebody said yes.
    Approved {
        /// Who.
        by: String,
    },
    /// Somebody said no.
    Denied {
        /// Who.
        by: String,
        /// Words for the model.
        reason: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// The question was withdrawn.
    Cancelled,
    /// There is nobody who could be asked.
    NoOneToAsk,
}

impl ApprovalOutcome {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::NoOneToAsk => "no_one_to_ask",
        }
    }
}

/// For an agent that runs alone: there is no one to ask, and it says so at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOneToAsk;

impl Approver for NoOneToAsk {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        std::future::ready(ApprovalOutcome::NoOneToAsk).boxed()
    }
}
