//! Conversations.

use pintle_agent::store::{
    Claim, Conversation, FencingToken, NewMessage, NewSession, Session, Sessions, Stored,
    StoredMessage, Summary,
};
use pintle_agent::{Message, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::claim::fence;
use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::Fault;
use crate::ledger::settle;
use crate::store::SqliteStore;

const COLUMNS: &str =
    "id, key, platform, personality, parent, created_at, updated_at, message_count";

impl Sessions for SqliteStore {
    /// The newest session with this key and the same parent: a person never lands in a sub-agent's conversation.
    fn open(&self, new: NewSession) -> Stored<'_, Session> {
        Box::pin(self.worker().write("opening a session", move |conn| {
            let newest = conn
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM sessions WHERE key = ?1 AND parent IS ?2 ORDER BY n DESC LIMIT 1"
                ))?
                .query_row(params![new.key, new.parent], session_from)
                .optional()?;
            newest.map_or_else(|| insert(conn, new), Ok)
        }))
    }

    fn create(&self, new: NewSession) -> Stored<'_, Session> {
        Box::pin(self.worker().write("making a session", move |conn| insert(conn, new)))
    }

    fn session(&self, id: &str) -> Stored<'_, Option<Session>> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading a session", move |conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?;
            Ok(statement.query_row([id], session_from).optional()?)
        }))
    }

    fn sessions(&self) -> Stored<'_, Vec<Session>> {
        Box::pin(self.worker().read("listing the sessions", |conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions ORDER BY n DESC"))?;
            Ok(statement.query_map([], session_from)?.collect::<Result<_, _>>()?)
        }))
    }

    fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading a session's messages", move |conn| {
            exists(conn, &id)?;
            messages(conn, &id, "seq >= ?2 ORDER BY seq", 0)
        }))
    }

    fn conversation(&self, id: &str) -> Stored<'_, Conversation> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading a conversation", move |conn| {
            exists(conn, &id)?;
            let summary = conn
                .prepare_cached("SELECT covers, text FROM summaries WHERE session_id = ?1")?
                .query_row([&id], |row| {
                    Ok(Summary { covers: from_sql(row.get(0)?), text: row.get(1)? })
                })
                .optional()?;
            let covered = summary.as_ref().map_or(0, |summary| to_sql(summary.covers));
            let messages = messages(conn, &id, "seq >= ?2 ORDER BY seq", covered)?;
            Ok(Conversation { summary, messages })
        }))
    }

    fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading the newest message", move |conn| {
            Ok(messages(conn, &id, "seq >= ?2 ORDER BY seq DESC LIMIT 1", 0)?.pop())
        }))
    }

    fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool> {
        let (id, run_id) = (id.to_owned(), run_id.to_owned());
        Box::pin(self.worker().read("looking for the messages of a run", move |conn| {
            Ok(conn
                .prepare_cached("SELECT 1 FROM messages WHERE session_id = ?1 AND run_id = ?2")?
                .exists([id, run_id])?)
        }))
    }

    fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()> {
        let token = claim.token().clone();
        Box::pin(self.worker().write("storing a summary", move |conn| {
            fence(conn, &token)?;
            conn.prepare_cached(
                "INSERT INTO summaries (session_id, covers, text) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session_id) DO UPDATE SET covers = ?2, text = ?3",
            )?
            .execute(params![
                token.session_id,
                to_sql(summary.covers),
                summary.text
            ])?;
            Ok(())
        }))
    }

    fn append(&self, claim: &Claim, messages: Vec<NewMessage>) -> Stored<'_, ()> {
        let token = claim.token().clone();
        let append = move |conn: &Connection| append(conn, &token, &messages);
        Box::pin(self.worker().write("storing messages", append))
    }

    fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()> {
        let (token, personality) = (claim.token().clone(), personality.to_owned());
        Box::pin(self.worker().write("changing a session's personality", move |conn| {
            fence(conn, &token)?;
            conn.prepare_cached("UPDATE sessions SET personality = ?2 WHERE id = ?1")?
                .execute(params![token.session_id, personality])?;
            Ok(())
        }))
    }

    fn delete(&self, claim: &Claim) -> Stored<'_, ()> {
        let token = claim.token().clone();
        Box::pin(self.worker().write("deleting a session", move |conn| {
            fence(conn, &token)?;
            conn.execute("DELETE FROM sessions WHERE id = ?1", [token.session_id])?;
            Ok(())
        }))
    }
}

fn insert(conn: &Connection, new: NewSession) -> Result<Session, Fault> {
    let now = now_ms();
    let session = Session {
        id: Uuid::now_v7().to_string(),
        key: new.key,
        platform: new.platform,
        personality: new.personality,
        parent: new.parent,
        created_at: now,
        updated_at: now,
        message_count: 0,
    };
    conn.prepare_cached(
        "INSERT INTO sessions (id, key, platform, personality, parent, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
    )?
    .execute(params![
        session.id,
        session.key,
        session.platform,
        session.personality,
        session.parent,
        to_sql(session.created_at)
    ])?;
    Ok(session)
}

fn append(conn: &Connection, token: &FencingToken, messages: &[NewMessage]) -> Result<(), Fault> {
    fence(conn, token)?;
    let id = &token.session_id;
    if messages.iter().any(|new| matches!(new.message, Message::ToolResults { .. })) {
        settle(conn, id)?;
    }
    let now = to_sql(now_ms());
    let added = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    // The count is also the next position. One statement reads and raises it, under the write lock.
    let end: Option<i64> = conn
        .prepare_cached(
            "UPDATE sessions SET message_count = message_count + ?2,
                    updated_at = CASE WHEN ?2 > 0 THEN MAX(updated_at, ?3) ELSE updated_at END
             WHERE id = ?1 RETURNING message_count",
        )?
        .query_row(params![id, added, now], |row| row.get(0))
        .optional()?;
    let Some(end) = end else { return Err(StoreError::NoSuchSession(id.clone()).into()) };
    let mut insert = conn.prepare_cached(
        "INSERT INTO messages (session_id, seq, run_id, at, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (seq, new) in (end - added..).zip(messages) {
        let body = serde_json::to_string(&new.message).map_err(|error| {
            Fault::Refused(format!("a message cannot be written as JSON: {error}"))
        })?;
        insert.execute(params![id, seq, new.run_id, now, body])?;
    }
    Ok(())
}

fn exists(conn: &Connection, id: &str) -> Result<(), Fault> {
    match conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id])? {
        true => Ok(()),
        false => Err(StoreError::NoSuchSession(id.to_owned()).into()),
    }
}

/// The messages of a session that `which` chooses; `?2` in it is `from`.
fn messages(
    conn: &Connection,
    id: &str,
    which: &str,
    from: i64,
) -> Result<Vec<StoredMessage>, Fault> {
    let mut statement = conn.prepare_cached(&format!(
        "SELECT seq, run_id, at, body FROM messages WHERE session_id = ?1 AND {which}"
    ))?;
    let mut rows = statement.query(params![id, from])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let body: String = row.get(3)?;
        let message = serde_json::from_str(&body).map_err(|error| {
            Fault::Unreadable(format!("message {seq} of session {id} is not readable: {error}"))
        })?;
        messages.push(StoredMessage { run_id: row.get(1)?, at: from_sql(row.get(2)?), message });
    }
    Ok(messages)
}

fn session_from(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        key: row.get(1)?,
        platform: row.get(2)?,
        personality: row.get(3)?,
        parent: row.get(4)?,
        created_at: from_sql(row.get(5)?),
        updated_at: from_sql(row.get(6)?),
        message_count: from_sql(row.get(7)?),
    })
}
