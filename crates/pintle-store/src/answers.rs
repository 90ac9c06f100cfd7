//! Who may answer a question, and which answer counts (R11.4, R11.5).

use pintle_agent::StoreError;
use rusqlite::{Connection, params};

use crate::approval::{Approval, ApprovalState, Scope, by_id};
use crate::approvals::expire;
use crate::clock::to_sql;
use crate::error::Fault;
use crate::store::SqliteStore;

/// What somebody says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's whole id.
    pub id: String,
    /// The hash of the arguments they saw.
    pub args_hash: String,
    /// Who they are.
    pub by: String,
    /// Yes or no.
    pub decision: Decision,
    /// What they add, in words for the model.
    pub reason: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this far.
    Approve(Scope),
    /// No.
    Deny,
}

/// What became of an answer. All but `Accepted` left the question as it was (R11.4).
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerResult {
    /// It counts; here is the question with it.
    Accepted(Box<Approval>),
    /// Somebody was first, or the question was called off; here is the question as it stands.
    AlreadyAnswered(Box<Approval>),
    /// It came too late.
    Expired,
    /// It names other arguments than those that would run, or others were shown.
    WrongHash,
    /// They are not among those who may answer.
    NotAllowed,
    /// It is yes to a rule, and the question offers none.
    NoRule,
    /// There is no such question.
    Unknown,
}

impl SqliteStore {
    /// Answers a question. The first valid answer wins, whichever process it comes from.
    ///
    /// The caller vouches for the identity in `answer.by`; `now` is in milliseconds since 1970.
    pub async fn answer_approval(
        &self,
        answer: Answer,
        now: u64,
    ) -> Result<AnswerResult, StoreError> {
        let result = self
            .worker()
            .write("answering an approval", move |conn| decide(conn, &answer, now))
            .await?;
        self.answered().notify_waiters();
        Ok(result)
    }
}

/// Runs under the write lock: between the look and the change nobody else can answer.
fn decide(conn: &Connection, answer: &Answer, now: u64) -> Result<AnswerResult, Fault> {
    expire(conn, now)?;
    let Some(approval) = by_id(conn, &answer.id)? else { return Ok(AnswerResult::Unknown) };
    if !approval.may_be_answered_by(&answer.by) {
        return Ok(AnswerResult::NotAllowed);
    }
    match approval.state {
        ApprovalState::Pending => {}
        ApprovalState::Expired => return Ok(AnswerResult::Expired),
        ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Cancelled => {
            return Ok(AnswerResult::AlreadyAnswered(Box::new(approval)));
        }
    }
    if approval.args_hash != answer.args_hash || !approval.shows_what_runs() {
        return Ok(AnswerResult::WrongHash);
    }
    let (state, scope) = match answer.decision {
        Decision::Approve(scope) => (ApprovalState::Approved, Some(scope)),
        Decision::Deny => (ApprovalState::Denied, None),
    };
    let rule_scope = scope.filter(|scope| *scope != Scope::Once);
    if rule_scope.is_some() && approval.rule.is_none() {
        return Ok(AnswerResult::NoRule);
    }
    let scope = scope.map(|_| Scope::Once);
    conn.prepare_cached(
        "UPDATE approvals SET state = ?2, scope = ?3, answered_by = ?4, answer_reason = ?5, answered_at = ?6,
                              rule_scope = ?7
         WHERE id = ?1",
    )?
    .execute(params![answer.id, state, scope, answer.by, answer.reason, to_sql(now), rule_scope])?;
    Ok(match by_id(conn, &answer.id)? {
        Some(approval) => AnswerResult::Accepted(Box::new(approval)),
        None => AnswerResult::Unknown,
    })
}
