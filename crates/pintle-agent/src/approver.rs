//! Asking a person.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_policy::Zone;
use serde::Serialize;
use serde_json::Value;

use crate::{
    rule::{ApprovalRule, StandingRule},
    store::{Approval, ApprovalState, Claim},
};

/// Who can approve or deny a tool call.
pub trait Approver: Send + Sync + 'static {
    /// The rules that stand in this session; without one, those that stand in every session (R11.7). The judge compares
    /// the call with them before anybody is asked.
    fn rules(&self, _session_id: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// Stores the question under the run's claim before a person is asked, so that it survives a crash (R11.4). It may be
    /// settled already: there is no one to ask.
    fn prepare<'a>(
        &'a self,
        _claim: &'a Claim,
        _request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Prepared> {
        std::future::ready(Prepared::Ask).boxed()
    }

    /// Asks, and waits for the answer. The run is cancelled by dropping the future.
    ///
    /// An answer is valid if it came before [`ApprovalRequest::expires_at`]: that is for the approver to see to, who knows
    /// when it came. Without one it says [`ApprovalOutcome::Expired`] then.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome>;
}

/// What preparing a question came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// Ask. The question is not stored, and does not survive a crash.
    Ask,
    /// Ask. The question is in the agent's store under this id; an approval is used up with the call's intent.
    Stored(String),
    /// The outcome is known without asking.
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
    /// How far the call reaches.
    pub zone: Zone,
    /// Why it has to be asked.
    pub reason: String,
    /// When the question lapses, in milliseconds since 1970.
    pub expires_at: u64,
    /// What a person may approve beyond this call; the question shows it in words (R11.7).
    pub rule: Option<ApprovalRule>,
    /// No call of this answer has begun, so the run may be parked until a person answers.
    pub can_park: bool,
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
    /// There was no answer in time.
    Expired,
    /// The question was withdrawn.
    Cancelled,
    /// The run ends here without an answer. A run with the same id goes on when there is one.
    Parked,
    /// There is no one to ask.
    NoOneToAsk,
}

impl From<&Approval> for ApprovalOutcome {
    /// What its state in the store says. A question that waits is an expired one: its caller waited as long as it may.
    fn from(approval: &Approval) -> Self {
        let by = approval.answered_by.clone().unwrap_or_default();
        match approval.state {
            ApprovalState::Approved => Self::Approved { by },
            ApprovalState::Denied => Self::Denied { by, reason: approval.answer_reason.clone() },
            ApprovalState::Cancelled => Self::Cancelled,
            ApprovalState::Expired | ApprovalState::Pending => Self::Expired,
        }
    }
}

impl ApprovalOutcome {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Parked => "parked",
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
