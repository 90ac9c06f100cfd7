//! The life of a question: asked, listed, waited for, lapsed, called off, used.

use std::time::Duration;

use pintle_agent::StoreError;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::approval::{
    Approval, ApprovalFilter, ApprovalState, COLUMNS, NewApproval, approval_from, by_id,
};
use crate::clock::{now_ms, to_sql};
use crate::error::Fault;
use crate::store::SqliteStore;
use pintle_agent::{args_hash, canonical_json};

/// How often to look for an answer given in another process.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many matches a part of an id returns at most; more than one already means "say more".
const MATCHES: u32 = 10;

impl SqliteStore {
    /// Stores a question. Ask people only after this returned: then it survives a crash (R11.4, R11.6).
    ///
    /// # Errors
    /// [`StoreError::NoSuchSession`] when its session does not exist.
    pub async fn request_approval(&self, new: NewApproval) -> Result<Approval, StoreError> {
        self.worker().write("storing an approval", move |conn| insert(conn, new)).await
    }

    /// One question by its whole id.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let id = id.to_owned();
        self.worker().read("reading an approval", move |conn| Ok(by_id(conn, &id)?)).await
    }

    /// Questions, newest first.
    pub async fn approvals(&self, filter: ApprovalFilter) -> Result<Vec<Approval>, StoreError> {
        self.worker().read("listing approvals", move |conn| list(conn, &filter)).await
    }

    /// Questions whose id starts or ends with what a person typed; a whole id finds that one only.
    ///
    /// Ids made in the same minute start alike, so the end is what people should be shown as the short form.
    pub async fn find_approval(&self, part: &str) -> Result<Vec<Approval>, StoreError> {
        // Nothing else occurs in an id, and so nothing here means something to LIKE.
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            return Ok(Vec::new());
        }
        let part = part.to_ascii_lowercase();
        self.worker()
            .read("looking for an approval", move |conn| {
                let mut statement = conn.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM approvals WHERE id LIKE ?1 || '%' OR id LIKE '%' || ?1
                     ORDER BY n DESC LIMIT ?2"
                ))?;
                Ok(statement
                    .query_map(params![part, MATCHES], approval_from)?
                    .collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Waits until the question is no longer pending, or until the moment `until` (milliseconds since 1970), and
    /// returns it as it is then. A question past its own expiry is marked so.
    ///
    /// An answer from this process is noticed at once, one from another within a fifth of a second. Stopping to wait
    /// changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when there is no such question (its session was deleted, say).
    pub async fn wait_for_answer(&self, id: &str, until: u64) -> Result<Approval, StoreError> {
        const DOING: &str = "waiting for an answer";
        loop {
            // Made before looking, so that an answer between the look and the wait is not missed.
            let answered = self.answered().notified();
            let Some(approval) = self.approval(id).await? else {
                return Err(crate::error::failed(
                    DOING,
                    format!("there is no approval `{id}` (any more)"),
                ));
            };
            let now = now_ms();
            if approval.state != ApprovalState::Pending {
                return Ok(approval);
            }
            if now >= approval.expires_at {
                self.expire_approvals(now).await?;
                continue;
            }
            if now >= until {
                return Ok(approval);
            }
            let rest = Duration::from_millis(until.min(approval.expires_at) - now);
            let _ = tokio::time::timeout(rest.min(LOOK_EVERY), answered).await;
        }
    }

    /// Calls a question off because its run no longer waits. `false` when it was not pending any more.
    pub async fn cancel_approval(&self, id: &str, reason: &str) -> Result<bool, StoreError> {
        let (id, reason) = (id.to_owned(), reason.to_owned());
        let changed = self
            .worker()
            .write("cancelling an approval", move |conn| {
                let changed = conn
                    .prepare_cached(
                        "UPDATE approvals SET state = 'cancelled', answer_reason = ?2, answered_at = ?3
                         WHERE id = ?1 AND state = 'pending'",
                    )?
                    .execute(params![id, reason, to_sql(now_ms())])?;
                Ok(changed > 0)
            })
            .await?;
        self.answered().notify_waiters();
        Ok(changed)
    }

    /// Calls off every question of a session and of its sub-agents, because the conversation went on without their
    /// answers. An answer that was not acted on is used up with them: it was for a call that no longer comes.
    pub async fn withdraw_approvals(
        &self,
        session_id: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let (session_id, reason) = (session_id.to_owned(), reason.to_owned());
        self.worker()
            .write("withdrawing approvals", move |conn| {
                let now = to_sql(now_ms());
                for id in open_in(conn, &session_id)? {
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
            .await?;
        self.answered().notify_waiters();
        Ok(())
    }

    /// Marks every pending question whose time is over at `now` as expired, and returns those.
    pub async fn expire_approvals(&self, now: u64) -> Result<Vec<Approval>, StoreError> {
        let expired =
            self.worker().write("expiring approvals", move |conn| Ok(expire(conn, now)?)).await?;
        if !expired.is_empty() {
            self.answered().notify_waiters();
        }
        Ok(expired)
    }

    /// Uses up a yes, just before the tool runs with arguments of this hash. `true` for exactly one caller, of all
    /// processes, and only for the arguments that were approved (P3).
    ///
    /// After a crash between this and the tool's end the tool is not run again: at most once, never twice (R11.6).
    pub async fn consume_approval(&self, id: &str, args_hash: &str) -> Result<bool, StoreError> {
        let (id, args_hash) = (id.to_owned(), args_hash.to_owned());
        self.worker()
            .write("using an approval", move |conn| {
                let changed = conn
                    .prepare_cached(
                        "UPDATE approvals SET consumed_at = ?3
                         WHERE id = ?1 AND args_hash = ?2 AND state = 'approved' AND consumed_at IS NULL",
                    )?
                    .execute(params![id, args_hash, to_sql(now_ms())])?;
                Ok(changed > 0)
            })
            .await
    }

    /// Uses up a no: its run heard it. The next call is a new question, also when it looks the same.
    pub async fn consume_denial(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.worker()
            .write("using a denial", move |conn| {
                conn.prepare_cached(
                    "UPDATE approvals SET heard_at = ?2
                     WHERE id = ?1 AND state = 'denied' AND heard_at IS NULL",
                )?
                .execute(params![id, to_sql(now_ms())])?;
                Ok(())
            })
            .await
    }
}

/// Marks what is over; also run before each answer, so that a late one finds the truth.
pub(crate) fn expire(conn: &Connection, now: u64) -> rusqlite::Result<Vec<Approval>> {
    conn.prepare_cached(&format!(
        "UPDATE approvals SET state = 'expired', answered_at = ?1
         WHERE state = 'pending' AND expires_at <= ?1 RETURNING {COLUMNS}"
    ))?
    .query_map([to_sql(now)], approval_from)?
    .collect()
}

/// The questions of a session and of its sub-agents that nobody answered, or whose answer nobody acted on.
fn open_in(conn: &Connection, session_id: &str) -> rusqlite::Result<Vec<String>> {
    let open = "(state = 'pending' OR state = 'approved' AND consumed_at IS NULL
                 OR state = 'denied' AND heard_at IS NULL)";
    // From the few open questions upwards: a session knows its parent, and not its children.
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

fn insert(conn: &Connection, new: NewApproval) -> Result<Approval, Fault> {
    if !conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([&new.session_id])? {
        return Err(StoreError::NoSuchSession(new.session_id).into());
    }
    let approval = Approval {
        id: Uuid::now_v7().to_string(),
        session_id: new.session_id,
        run_id: new.run_id,
        tool_call_id: new.tool_call_id,
        tool: new.tool,
        args_hash: args_hash(&new.args),
        args: new.args,
        reason: new.reason,
        approvers: new.approvers,
        requested_by: new.requested_by,
        created_at: now_ms(),
        expires_at: new.expires_at,
        state: ApprovalState::Pending,
        scope: None,
        answered_by: None,
        answer_reason: None,
        answered_at: None,
        consumed_at: None,
        origin: new.origin,
        rule: new.rule,
    };
    let unwritable = |error| {
        Fault::Refused(format!("what the run is made of cannot be written as JSON: {error}"))
    };
    let origin = approval.origin.as_ref().map(serde_json::to_string).transpose();
    let rule = approval.rule.as_ref().map(serde_json::to_string).transpose();
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
        serde_json::Value::from(approval.approvers.clone()).to_string(),
        approval.requested_by,
        to_sql(approval.created_at),
        to_sql(approval.expires_at),
        origin.map_err(unwritable)?,
        rule.map_err(unwritable)?
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
    let rows = statement.query_map(
        params![filter.session_id, filter.run_id, filter.tool_call_id, filter.state, limit],
        approval_from,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}
