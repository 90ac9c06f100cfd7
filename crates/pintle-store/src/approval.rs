//! A question put to people before a tool runs (R11.4).

use pintle_agent::ApprovalRule;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::from_sql;
use crate::origin::Origin;

/// Who answers when nobody is named: whoever runs the program.
pub const OPERATOR: &str = "operator";

/// A question about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The session it came up in; it must exist.
    pub session_id: String,
    /// The run that waits.
    pub run_id: String,
    /// The call that waits.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// The final arguments, all of them. The store computes their hash.
    pub args: Value,
    /// Why somebody is asked.
    pub reason: String,
    /// Who may answer, by identity: nobody else, and with none of them nobody at all.
    pub approvers: Vec<String>,
    /// Whose request led here. That alone does not let them answer (R11.5).
    pub requested_by: String,
    /// When the question lapses, in milliseconds since 1970.
    pub expires_at: u64,
    /// What the run that asks is made of; without it nobody can go on with the run when its process dies.
    pub origin: Option<Origin>,
    /// What may be approved beyond this call.
    pub rule: Option<ApprovalRule>,
}

/// What became of a question. All but `Approved` block the call (R11.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has answered yet.
    Pending,
    /// Somebody said yes.
    Approved,
    /// Somebody said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The run no longer needs an answer.
    Cancelled,
}

/// How far a yes reaches.
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
    /// The final arguments: exactly what runs after a yes.
    pub args: Value,
    /// The [hash](crate::args_hash) of the arguments; an answer must name it.
    pub args_hash: String,
    /// Why somebody is asked.
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
    /// How far the yes reaches; only when approved.
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
    /// What may be approved beyond this call, where that can be said in a rule (R11.7).
    #[serde(default)]
    pub rule: Option<ApprovalRule>,
}

impl Approval {
    /// Whether this identity may answer: it is named.
    pub fn may_be_answered_by(&self, identity: &str) -> bool {
        self.approvers.iter().any(|approver| approver == identity)
    }

    /// Whether the arguments are still those that run after a yes, and so may be shown to whoever answers: somebody may have
    /// written to the database.
    pub fn shows_what_runs(&self) -> bool {
        pintle_agent::args_hash(&self.args) == self.args_hash
    }

    /// Whether somebody has answered and the run has not acted on it yet.
    pub fn waits_for_its_run(&self) -> bool {
        matches!(self.state, ApprovalState::Approved | ApprovalState::Denied)
            && self.consumed_at.is_none()
    }
}

/// Which questions to list; empty fields do not restrict.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only those that came up in this session.
    pub session_id: Option<String>,
    /// Only those of this run.
    pub run_id: Option<String>,
    /// Only those about this call: how a resumed run finds its question again (R11.6).
    pub tool_call_id: Option<String>,
    /// Only those in this state.
    pub state: Option<ApprovalState>,
    /// At most this many.
    pub limit: Option<u32>,
}

pub(crate) const COLUMNS: &str = "id, session_id, run_id, tool_call_id, tool, args, args_hash, reason, approvers, \
                                  requested_by, created_at, expires_at, state, COALESCE(rule_scope, scope), answered_by, \
                                  answer_reason, answered_at, COALESCE(consumed_at, heard_at), origin, rule";

pub(crate) fn by_id(conn: &Connection, id: &str) -> rusqlite::Result<Option<Approval>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1"))?
        .query_row([id], approval_from)
        .optional()
}

pub(crate) fn approval_from(row: &Row<'_>) -> rusqlite::Result<Approval> {
    Ok(Approval {
        id: row.get(0)?,
        session_id: row.get(1)?,
        run_id: row.get(2)?,
        tool_call_id: row.get(3)?,
        tool: row.get(4)?,
        args: row.get::<_, Json<Value>>(5)?.0,
        args_hash: row.get(6)?,
        reason: row.get(7)?,
        approvers: row.get::<_, Json<Vec<String>>>(8)?.0,
        requested_by: row.get(9)?,
        created_at: from_sql(row.get(10)?),
        expires_at: from_sql(row.get(11)?),
        state: row.get(12)?,
        scope: row.get(13)?,
        answered_by: row.get(14)?,
        answer_reason: row.get(15)?,
        answered_at: row.get::<_, Option<i64>>(16)?.map(from_sql),
        consumed_at: row.get::<_, Option<i64>>(17)?.map(from_sql),
        origin: row.get::<_, Option<Json<Origin>>>(18)?.map(|json| json.0),
        rule: row.get::<_, Option<Json<ApprovalRule>>>(19)?.map(|json| json.0),
    })
}

/// A column that holds JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: serde::de::DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Json)
            .map_err(|error| FromSqlError::Other(error.into()))
    }
}

impl ApprovalState {
    /// The word for it, the same in the database, in JSON and on the screen.
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

impl Scope {
    /// The word for it, the same in the database, in JSON and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Once => "once",
            Scope::Session => "session",
            Scope::Always => "always",
        }
    }
}

impl ToSql for ApprovalState {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl ToSql for Scope {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for ApprovalState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        word(value)
    }
}

impl FromSql for Scope {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        word(value)
    }
}

fn word<T: serde::de::DeserializeOwned>(value: ValueRef<'_>) -> FromSqlResult<T> {
    serde_json::from_value(Value::from(value.as_str()?))
        .map_err(|error| FromSqlError::Other(error.into()))
}
