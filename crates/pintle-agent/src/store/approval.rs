//! Questions put to people before a tool runs (R11.4–R11.6).

use std::{path::PathBuf, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use pintle::now_ms;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Claim, StoreError, Stored};
use crate::{call::args_hash, rule::ApprovalRule};

/// Who answers when no approver is named: the person who runs the program.
pub const OPERATOR: &str = "operator";

/// How often to look for an answer given in another process.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many matches a part of an id returns at most; more than one already means "say more".
const MATCHES: usize = 10;

/// Where questions and their answers are kept. A run writes under its claim; a person's answer needs none.
///
/// An approval is used up by [`Ledger::begin_call`](super::Ledger::begin_call).
pub trait Approvals: Send + Sync + 'static {
    /// Stores a question of the claimed session. Ask people only after this returned: then it survives a crash.
    fn request_approval(&self, claim: &Claim, new: NewApproval) -> Stored<'_, Approval>;

    /// One question by its whole id.
    fn approval(&self, id: &str) -> Stored<'_, Option<Approval>>;

    /// Questions, newest first.
    fn approvals(&self, filter: ApprovalFilter) -> Stored<'_, Vec<Approval>>;

    /// Answers a question. The first valid answer wins, whichever process it comes from. The caller vouches for the
    /// identity in `answer.by`.
    fn answer_approval(&self, answer: Answer) -> Stored<'_, AnswerResult>;

    /// Marks every pending question whose time is over as expired, and returns those.
    fn expire_approvals(&self) -> Stored<'_, Vec<Approval>>;

    /// Calls off a question of the claimed session, because its run no longer waits. `false` when it was not pending.
    fn cancel_approval(&self, claim: &Claim, id: &str, reason: &str) -> Stored<'_, bool>;

    /// Calls off every question of the claimed session and of its sub-agents. An answer that was not acted on is used up
    /// with them: it was for a call that no longer comes.
    fn withdraw_approvals(&self, claim: &Claim, reason: &str) -> Stored<'_, ()>;

    /// Uses up a denial of the claimed session, because its run has acted on it. The next call is a new question, also
    /// when it looks the same.
    fn acknowledge_denial(&self, claim: &Claim, id: &str) -> Stored<'_, ()>;

    /// Ready when a question may have been answered. It is a hint: waiting also looks from time to time.
    fn approvals_changed(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    /// Waits until the question is no longer pending. A question past its expiry is marked so.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when there is no such question (its session was deleted, say).
    fn wait_for_answer(&self, id: &str) -> Stored<'_, Approval> {
        let id = id.to_owned();
        async move {
            loop {
                // Made before looking, so that an answer between the look and the wait is not missed.
                let changed = self.approvals_changed();
                let Some(approval) = self.approval(&id).await? else {
                    let detail = format!("there is no approval `{id}` (any more)");
                    return Err(StoreError::Failed { doing: "waiting for an answer", detail });
                };
                if approval.state != ApprovalState::Pending {
                    return Ok(approval);
                }
                let rest = Duration::from_millis(approval.expires_at.saturating_sub(now_ms()));
                if rest.is_zero() && !self.expire_approvals().await?.is_empty() {
                    continue;
                }
                let rest = rest.clamp(Duration::from_millis(1), LOOK_EVERY);
                let _ = tokio::time::timeout(rest, changed).await;
            }
        }
        .boxed()
    }

    /// Questions whose id starts or ends with what a person typed; a whole id finds that one only.
    ///
    /// Ids made in the same minute start alike, so the end is what people should be shown as the short form.
    fn find_approval(&self, part: &str) -> Stored<'_, Vec<Approval>> {
        let part = part.to_ascii_lowercase();
        async move {
            if part.is_empty() {
                return Ok(Vec::new());
            }
            let mut found = self.approvals(ApprovalFilter::default()).await?;
            found.retain(|it| it.id.starts_with(&part) || it.id.ends_with(&part));
            found.truncate(MATCHES);
            Ok(found)
        }
        .boxed()
    }
}

/// A question about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The run that waits.
    pub run_id: String,
    /// The call that waits.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The final arguments, all of them. The store computes their hash.
    pub args: Value,
    /// Why a person is asked.
    pub reason: String,
    /// Who may answer, by identity. With none, no answer is accepted.
    pub approvers: Vec<String>,
    /// Whose request led here. That alone does not let them answer (R11.5).
    pub requested_by: String,
    /// When the question lapses, in milliseconds since 1970.
    pub expires_at: u64,
    /// What the run that asks is made of; without it no other process can go on with the run.
    pub origin: Option<Origin>,
    /// What may be approved beyond this call.
    pub rule: Option<ApprovalRule>,
}

/// What became of a question. All but `Approved` block the call (R11.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// It has no answer yet.
    Pending,
    /// A person approved it.
    Approved,
    /// A person denied it.
    Denied,
    /// No answer came in time.
    Expired,
    /// The run no longer needs an answer.
    Cancelled,
}

impl ApprovalState {
    /// The word for it, the same in a database, in JSON and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalState::Pending => "pending",
            ApprovalState::Approved => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Cancelled => "cancelled",
        }
    }
}

/// How far an approval reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call.
    Once,
    /// The rule that the question offers, until the session's program ends.
    Session,
    /// The same rule, until it is revoked.
    Always,
}

impl Scope {
    /// The word for it, the same in a database, in JSON and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Once => "once",
            Scope::Session => "session",
            Scope::Always => "always",
        }
    }
}

/// A question as stored, with its answer if there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id (a UUID v7).
    pub id: String,
    /// The session it came up in.
    pub session_id: String,
    /// The run that waits.
    pub run_id: String,
    /// The call that waits.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The final arguments: exactly what runs after an approval.
    pub args: Value,
    /// The [hash](args_hash) of the arguments; an answer must name it.
    pub args_hash: String,
    /// Why a person is asked.
    pub reason: String,
    /// Who may answer.
    pub approvers: Vec<String>,
    /// Whose request led here.
    pub requested_by: String,
    /// When it was asked, in milliseconds since 1970.
    pub created_at: u64,
    /// When it lapses.
    pub expires_at: u64,
    /// What became of it.
    pub state: ApprovalState,
    /// How far the approval reaches; only when approved.
    pub scope: Option<Scope>,
    /// Who answered.
    pub answered_by: Option<String>,
    /// What they said, in words for the model; or why it was cancelled.
    pub answer_reason: Option<String>,
    /// When it was answered, expired or cancelled.
    pub answered_at: Option<u64>,
    /// When its run acted on the answer, or no longer could; from then on the answer is used up.
    pub consumed_at: Option<u64>,
    /// What the run that asked was made of; `None` in questions from before this was kept.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// What may be approved beyond this call, where a rule can say it (R11.7).
    #[serde(default)]
    pub rule: Option<ApprovalRule>,
}

impl Approval {
    /// A pending question under this id, for stores that keep it.
    pub fn pending(id: String, session_id: String, new: NewApproval, now: u64) -> Self {
        Self {
            id,
            session_id,
            run_id: new.run_id,
            tool_call_id: new.tool_call_id,
            tool: new.tool,
            args_hash: args_hash(&new.args),
            args: new.args,
            reason: new.reason,
            approvers: new.approvers,
            requested_by: new.requested_by,
            created_at: now,
            expires_at: new.expires_at,
            state: ApprovalState::Pending,
            scope: None,
            answered_by: None,
            answer_reason: None,
            answered_at: None,
            consumed_at: None,
            origin: new.origin,
            rule: new.rule,
        }
    }

    /// Whether this identity may answer: it is named.
    pub fn may_be_answered_by(&self, identity: &str) -> bool {
        self.approvers.iter().any(|approver| approver == identity)
    }

    /// Whether the arguments are still those that run after an approval: the database may have been edited.
    pub fn shows_what_runs(&self) -> bool {
        args_hash(&self.args) == self.args_hash
    }

    /// Whether it is answered and the run has not acted on the answer yet.
    pub fn waits_for_its_run(&self) -> bool {
        matches!(self.state, ApprovalState::Approved | ApprovalState::Denied)
            && self.consumed_at.is_none()
    }

    /// Whether it waits for an answer, or for its run to act on one.
    pub fn is_open(&self) -> bool {
        self.state == ApprovalState::Pending || self.waits_for_its_run()
    }

    /// Why this answer changes nothing, if it does not: the one place that decides which answer is valid (R11.4). The
    /// store has marked lapsed questions as expired before, and asks in the transaction that writes the answer.
    pub fn refuses(&self, answer: &Answer) -> Option<AnswerResult> {
        let offers = self.rule.is_some()
            || !matches!(answer.decision, Decision::Approve(Scope::Session | Scope::Always));
        match self.state {
            _ if !self.may_be_answered_by(&answer.by) => Some(AnswerResult::NotAllowed),
            ApprovalState::Expired => Some(AnswerResult::Expired),
            ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Cancelled => {
                Some(AnswerResult::AlreadyAnswered(Box::new(self.clone())))
            }
            ApprovalState::Pending
                if self.args_hash != answer.args_hash || !self.shows_what_runs() =>
            {
                Some(AnswerResult::WrongHash)
            }
            ApprovalState::Pending => (!offers).then_some(AnswerResult::NoRule),
        }
    }
}

/// Which questions to list; empty fields do not restrict.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only those that came up in this session.
    pub session_id: Option<String>,
    /// Only those of this run.
    pub run_id: Option<String>,
    /// Only those about this call.
    pub tool_call_id: Option<String>,
    /// Only those in this state.
    pub state: Option<ApprovalState>,
    /// At most this many.
    pub limit: Option<u32>,
}

/// What a person says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's whole id.
    pub id: String,
    /// The hash of the arguments they saw.
    pub args_hash: String,
    /// Who they are.
    pub by: String,
    /// Approved or denied.
    pub decision: Decision,
    /// What they add, in words for the model.
    pub reason: Option<String>,
}

/// Approved or denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Approved, this far.
    Approve(Scope),
    /// Denied.
    Deny,
}

/// What became of an answer. All but `Accepted` left the question as it was (R11.4).
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerResult {
    /// It is valid; here is the question with it.
    Accepted(Box<Approval>),
    /// Another answer was first, or the question was called off; here is the question as it stands.
    AlreadyAnswered(Box<Approval>),
    /// It came too late.
    Expired,
    /// It names other arguments than those that would run, or others were shown.
    WrongHash,
    /// They are not among those who may answer.
    NotAllowed,
    /// It approves a rule, and the question offers none.
    NoRule,
    /// There is no such question.
    Unknown,
}

/// What the run that asked was made of. A process that goes on with it makes the same again: the same call in another
/// folder, or without the profile's guards, is not the call that was judged (P3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The profile's folder, from the root; `None` for an agent without a profile.
    pub profile: Option<PathBuf>,
    /// The folder the agent works in, from the root.
    pub workspace: PathBuf,
    /// What wrote its text, as it is said to open it again.
    pub model: String,
    /// Who the agent was.
    pub personality: String,
    /// Where it was said.
    pub platform: String,
    /// The level that decided what is asked. A later one may be stricter, never looser.
    pub level: String,
}
