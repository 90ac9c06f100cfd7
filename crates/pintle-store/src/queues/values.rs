//! Small values that lapse, and forgetting what is old.

use rusqlite::{Connection, OptionalExtension, Row, params, types::Type};

use crate::clock::{now_ms, to_sql};
use crate::error::Fault;

pub(super) fn put(conn: &Connection, key: &str, value: &str, expires_at: u64) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO gateway_values (key, value, expires_at) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![key, value, to_sql(expires_at)])?;
    Ok(())
}

pub(super) fn get(conn: &Connection, key: &str) -> Result<Option<String>, Fault> {
    let mut statement =
        conn.prepare_cached("SELECT value FROM gateway_values WHERE key = ?1 AND expires_at > ?2")?;
    Ok(statement.query_row(params![key, to_sql(now_ms())], |row| row.get(0)).optional()?)
}

pub(super) fn take(conn: &Connection, key: &str) -> Result<bool, Fault> {
    let taken = conn
        .prepare_cached("DELETE FROM gateway_values WHERE key = ?1 AND expires_at > ?2")?
        .execute(params![key, to_sql(now_ms())])?;
    Ok(taken > 0)
}

pub(super) fn prune(conn: &Connection, before: u64) -> Result<(), Fault> {
    let before = to_sql(before);
    conn.execute("DELETE FROM inbox_seen WHERE at < ?1", [before])?;
    conn.execute("DELETE FROM inbox WHERE state = 'done' AND accepted_at < ?1", [before])?;
    conn.execute("DELETE FROM outbox WHERE state <> 'prepared' AND settled_at < ?1", [before])?;
    conn.execute("DELETE FROM gateway_values WHERE expires_at <= ?1", [to_sql(now_ms())])?;
    Ok(())
}

/// A column that holds the word for a state.
pub(super) fn word<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(word.into()).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}
