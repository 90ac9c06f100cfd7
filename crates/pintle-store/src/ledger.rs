//! The ledger of tool calls: which were begun, and how each ended (R11.6).

use pintle::points::ToolOutcome;
use pintle_agent::store::{
    Begun, CallEnd, CallFilter, Claim, FencingToken, Intent, Ledger, Stored, StoredCall,
};
use rusqlite::{Connection, Row, params};

use crate::approval::Word;
use crate::claim::fence;
use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::Fault;
use crate::store::SqliteStore;

const COLUMNS: &str = "id, session_id, run_id, tool_call_id, tool, args_hash, epoch, begun_at, outcome, \
                       COALESCE(result, ''), COALESCE(duration_ms, 0)";

impl Ledger for SqliteStore {
    fn begin_call(&self, claim: &Claim, intent: Intent) -> Stored<'_, Begun> {
        let token = claim.token().clone();
        let begin = move |conn: &Connection| begin(conn, &token, intent);
        Box::pin(self.worker().write("beginning a tool call", begin))
    }

    fn end_call(&self, claim: &Claim, id: &str, end: CallEnd) -> Stored<'_, ()> {
        let (token, id) = (claim.token().clone(), id.to_owned());
        Box::pin(self.worker().write("ending a tool call", move |conn| {
            fence(conn, &token)?;
            let changed = conn
                .prepare_cached(
                    "UPDATE calls SET outcome = ?3, result = ?4, duration_ms = ?5 WHERE id = ?1 AND session_id = ?2",
                )?
                .execute(params![
                    id,
                    token.session_id,
                    Word(end.outcome),
                    end.text,
                    to_sql(end.duration_ms)
                ])?;
            match changed {
                0 => Err(Fault::Refused(format!("the session has no call `{id}`"))),
                _ => Ok(()),
            }
        }))
    }

    fn open_calls(&self, session_id: &str) -> Stored<'_, Vec<StoredCall>> {
        let session_id = session_id.to_owned();
        Box::pin(self.worker().read("reading the calls of a session", move |conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM calls WHERE session_id = ?1 AND settled = 0 ORDER BY n"
            ))?;
            Ok(statement.query_map([session_id], call_from)?.collect::<Result<_, _>>()?)
        }))
    }

    fn calls(&self, filter: CallFilter) -> Stored<'_, Vec<StoredCall>> {
        Box::pin(self.worker().read("listing tool calls", move |conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM calls WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR outcome = ?2)
                 ORDER BY n DESC LIMIT ?3"
            ))?;
            let limit = filter.limit.map_or(-1, i64::from);
            let outcome = filter.outcome.map(Word);
            let rows = statement.query_map(params![filter.session_id, outcome, limit], call_from)?;
            Ok(rows.collect::<Result<_, _>>()?)
        }))
    }
}

fn begin(conn: &Connection, token: &FencingToken, intent: Intent) -> Result<Begun, Fault> {
    fence(conn, token)?;
    let now = to_sql(now_ms());
    if let Some(approval) = &intent.approval_id {
        let used = conn
            .prepare_cached(
                "UPDATE approvals SET consumed_at = ?4
                 WHERE id = ?1 AND session_id = ?2 AND args_hash = ?3 AND state = 'approved' AND consumed_at IS NULL",
            )?
            .execute(params![approval, token.session_id, intent.args_hash, now])?;
        if used == 0 {
            return Ok(Begun::ApprovalUsed);
        }
    }
    conn.prepare_cached(
        "INSERT INTO calls (id, session_id, run_id, tool_call_id, tool, args_hash, epoch, begun_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        intent.id,
        token.session_id,
        intent.run_id,
        intent.tool_call_id,
        intent.tool,
        intent.args_hash,
        to_sql(token.epoch),
        now
    ])?;
    Ok(Begun::Started)
}

/// Marks the calls of a session as settled: their results are in the conversation.
pub(crate) fn settle(conn: &Connection, session_id: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE calls SET settled = 1, result = NULL WHERE session_id = ?1 AND settled = 0",
    )?
    .execute([session_id])?;
    Ok(())
}

fn call_from(row: &Row<'_>) -> rusqlite::Result<StoredCall> {
    let outcome: Option<Word<ToolOutcome>> = row.get(8)?;
    let (text, duration_ms) = (row.get(9)?, from_sql(row.get(10)?));
    Ok(StoredCall {
        id: row.get(0)?,
        session_id: row.get(1)?,
        run_id: row.get(2)?,
        tool_call_id: row.get(3)?,
        tool: row.get(4)?,
        args_hash: row.get(5)?,
        epoch: from_sql(row.get(6)?),
        begun_at: from_sql(row.get(7)?),
        end: outcome.map(|Word(outcome)| CallEnd { outcome, text, duration_ms }),
    })
}
