//! Conversations: the agent's `Store`.

use futures_util::future::BoxFuture;
use pintle_agent::{Claim, NewMessage, NewSession, Session, Store, StoreError, StoredMessage};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::Fault;
use crate::store::SqliteStore;

const COLUMNS: &str =
    "id, key, platform, personality, parent, created_at, updated_at, message_count";

impl Store for SqliteStore {
    /// The newest session with this key and the same parent: a person never lands in a sub-agent's conversation.
    fn open(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>> {
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

    fn create(&self, new: NewSession) -> BoxFuture<'_, Result<Session, StoreError>> {
        Box::pin(self.worker().write("making a session", move |conn| insert(conn, new)))
    }

    fn session(&self, id: &str) -> BoxFuture<'_, Result<Option<Session>, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading a session", move |conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?;
            Ok(statement.query_row([id], session_from).optional()?)
        }))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<Session>, StoreError>> {
        Box::pin(self.worker().read("listing the sessions", |conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions ORDER BY n DESC"))?;
            Ok(statement.query_map([], session_from)?.collect::<Result<_, _>>()?)
        }))
    }

    fn set_personality(
        &self,
        id: &str,
        personality: &str,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let (id, personality) = (id.to_owned(), personality.to_owned());
        Box::pin(self.worker().write("changing a session's personality", move |conn| {
            let changed = conn
                .prepare_cached("UPDATE sessions SET personality = ?2 WHERE id = ?1")?
                .execute(params![id, personality])?;
            if changed == 0 { Err(StoreError::NoSuchSession(id).into()) } else { Ok(()) }
        }))
    }

    fn append(&self, id: &str, messages: Vec<NewMessage>) -> BoxFuture<'_, Result<(), StoreError>> {
        let id = id.to_owned();
        Box::pin(self.worker().write("storing messages", move |conn| append(conn, id, &messages)))
    }

    fn history(&self, id: &str) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.worker().read("reading a session's messages", move |conn| history(conn, id)))
    }

    fn claim(&self, session: &Session) -> BoxFuture<'_, Result<Claim, StoreError>> {
        let session = session.clone();
        Box::pin(async move { self.claim_session(&session).await })
    }

    /// Also removes what its runs and approvals left behind.
    fn delete(&self, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (id, lock) = (id.to_owned(), self.lock_of(id));
        Box::pin(self.worker().write("deleting a session", move |conn| {
            let deleted = conn.execute("DELETE FROM sessions WHERE id = ?1", [id])? > 0;
            if deleted {
                // Whoever locks it now finds no session to use it for.
                let _ = std::fs::remove_file(lock);
            }
            Ok(deleted)
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

fn append(conn: &Connection, id: String, messages: &[NewMessage]) -> Result<(), Fault> {
    let now = to_sql(now_ms());
    let added = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    // The count is also the next place: taken and raised in one statement, under the write lock.
    let end: Option<i64> = conn
        .prepare_cached(
            "UPDATE sessions SET message_count = message_count + ?2,
                    updated_at = CASE WHEN ?2 > 0 THEN MAX(updated_at, ?3) ELSE updated_at END
             WHERE id = ?1 RETURNING message_count",
        )?
        .query_row(params![id, added, now], |row| row.get(0))
        .optional()?;
    let Some(end) = end else { return Err(StoreError::NoSuchSession(id).into()) };
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

fn history(conn: &Connection, id: String) -> Result<Vec<StoredMessage>, Fault> {
    if !conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([&id])? {
        return Err(StoreError::NoSuchSession(id).into());
    }
    let mut statement = conn.prepare_cached(
        "SELECT seq, run_id, at, body FROM messages WHERE session_id = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([&id])?;
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
