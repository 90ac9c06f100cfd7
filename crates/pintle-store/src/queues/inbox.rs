//! Messages that came in, and the lanes in which they wait.
//!
//! Each function runs in a transaction that holds the write lock of the database from its beginning (`BEGIN IMMEDIATE`), and
//! takes the lane's row before it gives out a sequence number.

use std::time::Duration;

use pintle_agent::store::{
    Accepted, ClaimedMessage, LaneClaim, MessageEnd, MessageState, NewInbound, QueuedMessage,
    Stopped,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::millis;
use crate::approval::Json;
use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::Fault;

const COLUMNS: &str = "run_id, lane, session_id, personality, message, state, attempts, waiting_on, outcome, error, \
                       accepted_at";

pub(super) fn seen(conn: &Connection, key: &str) -> Result<Option<String>, Fault> {
    let mut statement =
        conn.prepare_cached("SELECT run_id FROM inbox_seen WHERE dedup_key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

/// `false` when the key is already stored.
pub(super) fn note(conn: &Connection, key: &str, run_id: &str) -> Result<bool, Fault> {
    let noted = conn
        .prepare_cached(
            "INSERT OR IGNORE INTO inbox_seen (dedup_key, run_id, at) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![key, run_id, to_sql(now_ms())])?;
    Ok(noted > 0)
}

pub(super) fn accept(conn: &Connection, new: &NewInbound, bound: u32) -> Result<Accepted, Fault> {
    if let Some(run_id) = seen(conn, &new.dedup_key)? {
        return Ok(Accepted::Duplicate(run_id));
    }
    let now = to_sql(now_ms());
    conn.prepare_cached("INSERT OR IGNORE INTO lanes (key) VALUES (?1)")?.execute([&new.lane])?;
    let waiting: u32 = conn
        .prepare_cached(
            "SELECT COUNT(*) FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('queued', 'parked')",
        )?
        .query_row([&new.lane], |row| row.get(0))?;
    if waiting >= bound {
        return Ok(Accepted::Busy);
    }
    note(conn, &new.dedup_key, &new.run_id)?;
    let seq = next_seq(conn, &new.lane, now)?;
    let message = serde_json::to_string(&new.message)
        .map_err(|error| Fault::Refused(format!("a message cannot be written as JSON: {error}")))?;
    conn.prepare_cached(
        "INSERT INTO inbox (lane, seq, run_id, session_id, personality, message, state, accepted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7)",
    )?
    .execute(params![new.lane, seq, new.run_id, new.session_id, new.personality, message, now])?;
    Ok(Accepted::Queued)
}

/// The next number of the lane. A lane in which nothing waited is ready now.
fn next_seq(conn: &Connection, lane: &str, now: i64) -> rusqlite::Result<i64> {
    conn.prepare_cached(
        "UPDATE lanes SET next_seq = next_seq + 1, ready_at = COALESCE(ready_at, ?2) WHERE key = ?1
         RETURNING next_seq - 1",
    )?
    .query_row(params![lane, now], |row| row.get(0))
}

pub(super) fn claim(
    conn: &Connection,
    owner: &str,
    lease: Duration,
) -> Result<Option<ClaimedMessage>, Fault> {
    let now = now_ms();
    let until = to_sql(now.saturating_add(millis(lease)));
    let id = Uuid::now_v7().to_string();
    let claimed = conn
        .prepare_cached(
            "UPDATE lanes SET epoch = epoch + 1, claim = ?1, owner = ?2, lease_until = ?3
             WHERE key = (SELECT key FROM lanes WHERE ready_at <= ?4 AND lease_until <= ?4 ORDER BY ready_at LIMIT 1)
             RETURNING key, epoch",
        )?
        .query_row(params![id, owner, until, to_sql(now)], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    let Some((lane, epoch)) = claimed else { return Ok(None) };
    let head = conn
        .prepare_cached(&format!(
            "UPDATE inbox SET attempts = attempts + (state = 'queued'), state = 'queued'
             WHERE lane = ?1 AND seq = (
                 SELECT MIN(seq) FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('queued', 'parked'))
             RETURNING {COLUMNS}"
        ))?
        .query_row([&lane], message_from)
        .optional()?;
    let Some(message) = head else {
        conn.prepare_cached(
            "UPDATE lanes SET ready_at = NULL, lease_until = 0, claim = NULL WHERE key = ?1",
        )?
        .execute([&lane])?;
        return Ok(None);
    };
    let claim = LaneClaim { lane, epoch: from_sql(epoch), id };
    Ok(Some(ClaimedMessage { claim, message }))
}

pub(super) fn renew(conn: &Connection, claim: &LaneClaim, lease: Duration) -> Result<bool, Fault> {
    let until = to_sql(now_ms().saturating_add(millis(lease)));
    let renewed = conn
        .prepare_cached(
            "UPDATE lanes SET lease_until = ?4 WHERE key = ?1 AND epoch = ?2 AND claim = ?3",
        )?
        .execute(params![claim.lane, to_sql(claim.epoch), claim.id, until])?;
    Ok(renewed > 0)
}

pub(super) fn settle(
    conn: &Connection,
    claim: &LaneClaim,
    end: &MessageEnd,
) -> Result<bool, Fault> {
    let now = to_sql(now_ms());
    let (state, outcome, error, waiting_on, ready_at) = match end {
        MessageEnd::Done { outcome } => ("done", Some(outcome), None, None, now),
        MessageEnd::Parked { approval_id, until } => {
            ("parked", None, None, Some(approval_id), to_sql(*until))
        }
        MessageEnd::Retry { error, at } => ("queued", None, Some(error), None, to_sql(*at)),
        MessageEnd::Dead { error } => ("dead", None, Some(error), None, now),
        MessageEnd::Released => ("queued", None, None, None, now),
    };
    let is_released = *end == MessageEnd::Released;
    // The fence comes first: an owner that lost its claim writes nothing.
    let held = conn
        .prepare_cached(
            "UPDATE lanes SET claim = NULL, lease_until = 0 WHERE key = ?1 AND epoch = ?2 AND claim = ?3",
        )?
        .execute(params![claim.lane, to_sql(claim.epoch), claim.id])?;
    if held == 0 {
        return Ok(false);
    }
    conn.prepare_cached(
        "UPDATE inbox SET state = ?2, outcome = ?3, error = COALESCE(?4, error),
             waiting_on = IIF(?6, waiting_on, ?5), attempts = MAX(0, attempts - ?6)
         WHERE lane = ?1 AND seq = (
             SELECT MIN(seq) FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('queued', 'parked'))",
    )?
    .execute(params![claim.lane, state, outcome, error, waiting_on, is_released])?;
    be_ready(conn, &claim.lane, ready_at)?;
    Ok(true)
}

/// A lane in which nothing waits is not ready, so that no worker looks at it.
fn be_ready(conn: &Connection, lane: &str, at: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE lanes SET ready_at = CASE WHEN EXISTS (
             SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('queued', 'parked')) THEN ?2 END
         WHERE key = ?1",
    )?
    .execute(params![lane, at])?;
    Ok(())
}

pub(super) fn wake(conn: &Connection, approval_id: &str) -> Result<bool, Fault> {
    let woken = conn
        .prepare_cached(
            "UPDATE lanes SET ready_at = ?2 WHERE key = (SELECT lane FROM inbox WHERE waiting_on = ?1 AND state = 'parked')",
        )?
        .execute(params![approval_id, to_sql(now_ms())])?;
    Ok(woken > 0)
}

pub(super) fn stop(conn: &Connection, lane: &str) -> Result<Stopped, Fault> {
    let now = to_sql(now_ms());
    let head = conn
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state IN ('queued', 'parked') ORDER BY seq LIMIT 1"
        ))?
        .query_row([lane], message_from)
        .optional()?;
    let Some(head) = head else { return Ok(Stopped::Nothing) };
    let is_claimed = conn
        .prepare_cached("SELECT 1 FROM lanes WHERE key = ?1 AND lease_until > ?2")?
        .exists(params![lane, now])?;
    if is_claimed {
        return Ok(Stopped::Claimed(head));
    }
    conn.prepare_cached(
        "UPDATE inbox SET state = 'done', outcome = 'aborted', waiting_on = NULL WHERE run_id = ?1",
    )?
    .execute([&head.run_id])?;
    be_ready(conn, lane, now)?;
    Ok(Stopped::Ended(head))
}

pub(super) fn by_run(conn: &Connection, run_id: &str) -> Result<Option<QueuedMessage>, Fault> {
    let mut statement =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM inbox WHERE run_id = ?1"))?;
    Ok(statement.query_row([run_id], message_from).optional()?)
}

pub(super) fn in_state(
    conn: &Connection,
    state: MessageState,
) -> Result<Vec<QueuedMessage>, Fault> {
    // The condition of the index comes first, so the many settled messages are not read.
    let indexed = match state {
        MessageState::Queued => "INDEXED BY inbox_open WHERE state IN ('queued', 'parked') AND",
        MessageState::Parked | MessageState::Dead => {
            "INDEXED BY inbox_set_aside WHERE state IN ('parked', 'dead') AND"
        }
        MessageState::Done => "WHERE",
    };
    let mut statement = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM inbox {indexed} state = ?1 ORDER BY accepted_at, lane, seq"
    ))?;
    Ok(statement.query_map([name(state)], message_from)?.collect::<Result<_, _>>()?)
}

pub(super) fn retry(conn: &Connection, run_id: &str) -> Result<bool, Fault> {
    let now = to_sql(now_ms());
    let lane: Option<String> = conn
        .prepare_cached("SELECT lane FROM inbox WHERE run_id = ?1 AND state = 'dead'")?
        .query_row([run_id], |row| row.get(0))
        .optional()?;
    let Some(lane) = lane else { return Ok(false) };
    let seq = next_seq(conn, &lane, now)?;
    conn.prepare_cached(
        "UPDATE inbox SET state = 'queued', attempts = 0, seq = ?2 WHERE run_id = ?1",
    )?
    .execute(params![run_id, seq])?;
    Ok(true)
}

fn message_from(row: &Row<'_>) -> rusqlite::Result<QueuedMessage> {
    Ok(QueuedMessage {
        run_id: row.get(0)?,
        lane: row.get(1)?,
        session_id: row.get(2)?,
        personality: row.get(3)?,
        message: row.get::<_, Json<_>>(4)?.0,
        state: super::values::word(row, 5)?,
        attempts: row.get(6)?,
        waiting_on: row.get(7)?,
        outcome: row.get(8)?,
        error: row.get(9)?,
        accepted_at: from_sql(row.get(10)?),
    })
}

fn name(state: MessageState) -> &'static str {
    match state {
        MessageState::Queued => "queued",
        MessageState::Parked => "parked",
        MessageState::Done => "done",
        MessageState::Dead => "dead",
    }
}
