//! Maps an approval to its row in the database, and back.

use pintle_agent::ApprovalRule;
use pintle_agent::store::{Approval, Origin};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::clock::from_sql;

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
        state: row.get::<_, Word<_>>(12)?.0,
        scope: row.get::<_, Option<Word<_>>>(13)?.map(|word| word.0),
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

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let json = serde_json::from_str(value.as_str()?);
        json.map(Json).map_err(|error| FromSqlError::Other(error.into()))
    }
}

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = serde_json::to_string(&self.0);
        let json = json.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(json.into())
    }
}

/// A column that holds one of a few words: an enum without fields.
pub(crate) struct Word<T>(pub(crate) T);

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = serde_json::from_value(Value::from(value.as_str()?));
        word.map(Word).map_err(|error| FromSqlError::Other(error.into()))
    }
}

impl<T: Serialize> ToSql for Word<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match serde_json::to_value(&self.0) {
            Ok(Value::String(word)) => Ok(word.into()),
            other => Err(rusqlite::Error::ToSqlConversionFailure(
                format!("{other:?} is not a word").into(),
            )),
        }
    }
}
