//! Messages to be sent, in the order of their lane.

use std::time::Duration;

use pintle::points::OutboundMessage;
use pintle_agent::store::{
    NewOutgoing, OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState, SendEnd,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::millis;
use crate::approval::Json;
use crate::clock::{now_ms, to_sql};
use crate::error::Fault;

const COLUMNS: &str =
    "id, COALESCE(claim, ''), message, state, begun, attempts, platform_id, reason";

pub(super) fn enqueue(conn: &Connection, outgoing: &[NewOutgoing]) -> Result<(), Fault> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO outbox (id, lane, run_id, approval_id, message) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for new in outgoing {
        let approval_id = match &new.kind {
            OutgoingKind::Question { approval_id, .. } => Some(approval_id),
            OutgoingKind::Reply | OutgoingKind::Notice => None,
        };
        let id = Uuid::now_v7().to_string();
        insert.execute(params![id, new.lane, new.run_id, approval_id, json(new)?])?;
    }
    Ok(())
}

fn json(new: &NewOutgoing) -> Result<String, Fault> {
    serde_json::to_string(new)
        .map_err(|error| Fault::Refused(format!("a message cannot be written as JSON: {error}")))
}

/// The first of its lane that is not settled. A later one waits, also while the first is not due.
pub(super) fn claim(conn: &Connection, lease: Duration) -> Result<Option<OutgoingMessage>, Fault> {
    let now = now_ms();
    let until = to_sql(now.saturating_add(millis(lease)));
    let claim = Uuid::now_v7().to_string();
    let mut statement = conn.prepare_cached(&format!(
        "UPDATE outbox SET claim = ?1, lease_until = ?2
         WHERE n = (
             SELECT o.n FROM outbox o INDEXED BY outbox_open
             WHERE o.state = 'prepared' AND o.due_at <= ?3 AND o.lease_until <= ?3 AND NOT EXISTS (
                 SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.state = 'prepared' AND e.n < o.n)
             ORDER BY o.n LIMIT 1)
         RETURNING {COLUMNS}"
    ))?;
    Ok(statement.query_row(params![claim, until, to_sql(now)], message_from).optional()?)
}

pub(super) fn renew(
    conn: &Connection,
    id: &str,
    claim: &str,
    lease: Duration,
) -> Result<bool, Fault> {
    let until = to_sql(now_ms().saturating_add(millis(lease)));
    let renewed = conn
        .prepare_cached("UPDATE outbox SET lease_until = ?3 WHERE id = ?1 AND claim = ?2")?
        .execute(params![id, claim, until])?;
    Ok(renewed > 0)
}

pub(super) fn begin(
    conn: &Connection,
    id: &str,
    claim: &str,
    message: &OutboundMessage,
) -> Result<bool, Fault> {
    let held = conn
        .prepare_cached(&format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1 AND claim = ?2"))?
        .query_row([id, claim], message_from)
        .optional()?;
    let Some(held) = held else { return Ok(false) };
    let new = NewOutgoing {
        text: message.text.clone(),
        thread_id: message.thread_id.clone(),
        reply_to: message.reply_to.clone(),
        ..held.new
    };
    conn.prepare_cached(
        "UPDATE outbox SET message = ?2, begun = 1, attempts = attempts + 1 WHERE id = ?1",
    )?
    .execute(params![id, json(&new)?])?;
    Ok(true)
}

pub(super) fn settle(
    conn: &Connection,
    id: &str,
    claim: &str,
    end: &SendEnd,
) -> Result<bool, Fault> {
    let changed = match end {
        SendEnd::Settled { state, platform_id, reason } => conn
            .prepare_cached(
                "UPDATE outbox SET state = ?3, platform_id = ?4, reason = ?5, settled_at = ?6, begun = 0,
                     claim = NULL, lease_until = 0
                 WHERE id = ?1 AND claim = ?2",
            )?
            .execute(params![id, claim, name(*state), platform_id, reason, to_sql(now_ms())])?,
        SendEnd::Later { at, reason } => conn
            .prepare_cached(
                "UPDATE outbox SET due_at = ?3, reason = ?4, begun = 0, claim = NULL, lease_until = 0
                 WHERE id = ?1 AND claim = ?2",
            )?
            .execute(params![id, claim, to_sql(*at), reason])?,
    };
    Ok(changed > 0)
}

pub(super) fn list(
    conn: &Connection,
    filter: &OutgoingFilter,
) -> Result<Vec<OutgoingMessage>, Fault> {
    // An index is used for a condition that always holds, not for one that may be left out.
    let indexed = match (&filter.run_id, &filter.approval_id) {
        (Some(_), _) => "run_id = ?1 AND (?2 IS NULL OR approval_id = ?2)",
        (None, Some(_)) => "approval_id = ?2 AND (?1 IS NULL OR run_id = ?1)",
        (None, None) => "?1 IS NULL AND ?2 IS NULL",
    };
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM outbox WHERE {indexed} AND (?3 IS NULL OR state = ?3) ORDER BY n"
    ))?;
    let state = filter.state.map(name);
    let rows =
        statement.query_map(params![filter.run_id, filter.approval_id, state], message_from)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn message_from(row: &Row<'_>) -> rusqlite::Result<OutgoingMessage> {
    Ok(OutgoingMessage {
        id: row.get(0)?,
        claim: row.get(1)?,
        new: row.get::<_, Json<_>>(2)?.0,
        state: super::values::word(row, 3)?,
        interrupted: row.get(4)?,
        attempts: row.get(5)?,
        platform_id: row.get(6)?,
        reason: row.get(7)?,
    })
}

fn name(state: OutgoingState) -> &'static str {
    match state {
        OutgoingState::Prepared => "prepared",
        OutgoingState::Accepted => "accepted",
        OutgoingState::Rejected => "rejected",
        OutgoingState::Failed => "failed",
        OutgoingState::Unknown => "unknown",
    }
}
