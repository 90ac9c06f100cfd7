//! Stores, lists, answers, expires and cancels approvals.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::canonical_json;
use pintle_agent::store::{
    Answer, AnswerResult, Approval, ApprovalFilter, ApprovalState, Approvals, Claim, Decision,
    FencingToken, NewApproval, Scope, Stored,
};
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::approval::{COLUMNS, Json, Word, approval_from, by_id};
use crate::claim::fence;
use crate::clock::{now_ms, to_sql};
use crate::error::Fault;
use crate::store::SqliteStore;

impl Approvals for SqliteStore {
    fn request_approval(&self, claim: &Claim, new: NewApproval) -> Stored<'_, Approval> {
        let token = claim.token().clone();
        let store = move |conn: &Connection| insert(conn, &token, new);
        self.worker().write("storing an approval", store).boxed()
    }

    fn approval(&self, id: &str) -> Stored<'_, Option<Approval>> {
        let id = id.to_owned();
        self.worker().read("reading an approval", move |conn| Ok(by_id(conn, &id)?)).boxed()
    }

    fn approvals(&self, filter: ApprovalFilter) -> Stored<'_, Vec<Approval>> {
        self.worker().read("listing approvals", move |conn| list(conn, &filter)).boxed()
    }

    fn answer_approval(&self, answer: Answer) -> Stored<'_, AnswerResult> {
        self.change("answering an approval", move |conn| decide(conn, &answer))
    }

    fn expire_approvals(&self) -> Stored<'_, Vec<Approval>> {
        self.change("expiring approvals", move |conn| Ok(expire(conn, now_ms())?))
    }

    fn cancel_approval(&self, claim: &Claim, id: &str, reason: &str) -> Stored<'_, bool> {
        let (token, id, reason) = (claim.token().clone(), id.to_owned(), reason.to_owned());
        self.change("cancelling an approval", move |conn| {
            fence(conn, &token)?;
            let changed = conn
                .prepare_cached(
                    "UPDATE approvals SET state = 'cancelled', answer_reason = ?3, answered_at = ?4
                     WHERE id = ?1 AND session_id = ?2 AND state = 'pending'",
                )?
                .execute(params![id, token.session_id, reason, to_sql(now_ms())])?;
            Ok(changed > 0)
        })
    }

    fn withdraw_approvals(&self, claim: &Claim, reason: &str) -> Stored<'_, ()> {
        let (token, reason) = (claim.token().clone(), reason.to_owned());
        self.change("withdrawing approvals", move |conn| {
            fence(conn, &token)?;
            let now = to_sql(now_ms());
            for id in open_in(conn, &token.session_id)? {
                conn.prepare_cached(
                    "UPDATE approvals SET
                         consumed_at = CASE state WHEN 'approved' THEN ?3 ELSE consumed_at END,
                         heard_at = CASE state WHEN 'denied' THEN ?3 ELSE heard_at END,
                         answer_reason = CASE state WHEN 'pending' THEN ?2 ELSE answer_reason END,
                         answered_at = CASE state WHEN 'pending' THEN ?3 ELSE answered_at END,
                         state = CASE state WHEN 'pending' THEN 'cancelled' ELSE state END
                     WHERE id = ?1",
                )?
                .execute(params![id, reason, now])?;
            }
            Ok(())
        })
    }

    fn acknowledge_denial(&self, claim: &Claim, id: &str) -> Stored<'_, ()> {
        let (token, id) = (claim.token().clone(), id.to_owned());
        self.change("using a denial", move |conn| {
            fence(conn, &token)?;
            conn.prepare_cached(
                "UPDATE approvals SET heard_at = ?3
                 WHERE id = ?1 AND session_id = ?2 AND state = 'denied' AND heard_at IS NULL",
            )?
            .execute(params![id, token.session_id, to_sql(now_ms())])?;
            Ok(())
        })
    }

    fn approvals_changed(&self) -> BoxFuture<'_, ()> {
        self.answered().notified().boxed()
    }
}

impl SqliteStore {
    /// Writes a change, and wakes the runs of this process that wait for an answer.
    fn change<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Stored<'_, T> {
        async move {
            let changed = self.worker().write(doing, work).await;
            self.answered().notify_waiters();
            changed
        }
        .boxed()
    }
}

/// Runs under the write lock, so no other answer can come between the check and the change.
fn decide(conn: &Connection, answer: &Answer) -> Result<AnswerResult, Fault> {
    let now = now_ms();
    expire(conn, now)?;
    let Some(approval) = by_id(conn, &answer.id)? else { return Ok(AnswerResult::Unknown) };
    if let Some(refused) = approval.refuses(answer) {
        return Ok(refused);
    }
    let (state, scope) = match answer.decision {
        Decision::Approve(scope) => (ApprovalState::Approved, Some(scope)),
        Decision::Deny => (ApprovalState::Denied, None),
    };
    let rule_scope = scope.filter(|scope| *scope != Scope::Once).map(Word);
    let scope = scope.map(|_| Word(Scope::Once));
    conn.prepare_cached(
        "UPDATE approvals SET state = ?2, scope = ?3, answered_by = ?4, answer_reason = ?5, answered_at = ?6,
                              rule_scope = ?7
         WHERE id = ?1",
    )?
    .execute(params![
        answer.id,
        Word(state),
        scope,
        answer.by,
        answer.reason,
        to_sql(now),
        rule_scope
    ])?;
    Ok(match by_id(conn, &answer.id)? {
        Some(approval) => AnswerResult::Accepted(Box::new(approval)),
        None => AnswerResult::Unknown,
    })
}

/// Marks expired questions. It also runs before each answer, so a late answer finds its question expired.
fn expire(conn: &Connection, now: u64) -> rusqlite::Result<Vec<Approval>> {
    conn.prepare_cached(&format!(
        "UPDATE approvals SET state = 'expired', answered_at = ?1
         WHERE state = 'pending' AND expires_at <= ?1 RETURNING {COLUMNS}"
    ))?
    .query_map([to_sql(now)], approval_from)?
    .collect()
}

/// The questions of a session and of its sub-agents that have no answer, or whose answer no run has acted on.
fn open_in(conn: &Connection, session_id: &str) -> rusqlite::Result<Vec<String>> {
    let open = "(state = 'pending' OR state = 'approved' AND consumed_at IS NULL
                 OR state = 'denied' AND heard_at IS NULL)";
    // Starts at the few open questions: the row of a session names its parent, not its children.
    conn.prepare_cached(&format!(
        "WITH RECURSIVE above (approval, session) AS (
             SELECT id, session_id FROM approvals WHERE {open}
             UNION
             SELECT above.approval, sessions.parent FROM above JOIN sessions ON sessions.id = above.session
             WHERE sessions.parent IS NOT NULL
         )
         SELECT approval FROM above WHERE session = ?1"
    ))?
    .query_map([session_id], |row| row.get(0))?
    .collect()
}

fn insert(conn: &Connection, token: &FencingToken, new: NewApproval) -> Result<Approval, Fault> {
    fence(conn, token)?;
    let id = Uuid::now_v7().to_string();
    let approval = Approval::pending(id, token.session_id.clone(), new, now_ms());
    conn.prepare_cached(
        "INSERT INTO approvals (id, session_id, run_id, tool_call_id, tool, args, args_hash, reason, approvers,
                                requested_by, created_at, expires_at, origin, rule)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        approval.id,
        approval.session_id,
        approval.run_id,
        approval.tool_call_id,
        approval.tool,
        canonical_json(&approval.args),
        approval.args_hash,
        approval.reason,
        Json(&approval.approvers),
        approval.requested_by,
        to_sql(approval.created_at),
        to_sql(approval.expires_at),
        approval.origin.as_ref().map(Json),
        approval.rule.as_ref().map(Json)
    ])?;
    Ok(approval)
}

fn list(conn: &Connection, filter: &ApprovalFilter) -> Result<Vec<Approval>, Fault> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM approvals
         WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR run_id = ?2)
           AND (?3 IS NULL OR tool_call_id = ?3) AND (?4 IS NULL OR state = ?4)
         ORDER BY n DESC LIMIT ?5"
    ))?;
    let limit = filter.limit.map_or(-1, i64::from);
    let state = filter.state.map(Word);
    let rows = statement.query_map(
        params![filter.session_id, filter.run_id, filter.tool_call_id, state, limit],
        approval_from,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}
