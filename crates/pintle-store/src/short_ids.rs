//! Ids that people can type, in a table with a unique column.

use futures_util::future::FutureExt;
use pintle_agent::store::{IdKind, ShortIds, Stored, short_id_candidates};
use rusqlite::{OptionalExtension, params};

use crate::store::SqliteStore;

impl ShortIds for SqliteStore {
    fn short_id(&self, kind: IdKind, id: &str) -> Stored<'_, String> {
        let id = id.to_owned();
        async move {
            let known = id.clone();
            let read = self.worker().read("reading a short id", move |conn| {
                let mut statement =
                    conn.prepare_cached("SELECT short FROM short_ids WHERE kind = ?1 AND id = ?2")?;
                Ok(statement.query_row(params![kind.name(), known], |row| row.get(0)).optional()?)
            });
            if let Some(short) = read.await? {
                return Ok(short);
            }
            let give = self.worker().write("giving a short id", move |conn| {
                let mut insert = conn.prepare_cached(
                    "INSERT OR IGNORE INTO short_ids (short, kind, id) VALUES (?1, ?2, ?3)",
                )?;
                // Another process may have given it a short id since the read.
                let mut given =
                    conn.prepare_cached("SELECT short FROM short_ids WHERE kind = ?1 AND id = ?2")?;
                for short in short_id_candidates(&id) {
                    insert.execute(params![short, kind.name(), id])?;
                    let found = given.query_row(params![kind.name(), id], |row| row.get(0));
                    if let Some(short) = found.optional()? {
                        return Ok(short);
                    }
                }
                Ok(id)
            });
            give.await
        }
        .boxed()
    }

    fn by_short_id(&self, short: &str) -> Stored<'_, Option<(IdKind, String)>> {
        let short = short.to_owned();
        let read = self.worker().read("looking for a short id", move |conn| {
            let mut statement =
                conn.prepare_cached("SELECT kind, id FROM short_ids WHERE short = ?1")?;
            let found = statement
                .query_row([short], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
            Ok(found.optional()?.and_then(|(kind, id)| {
                let kind = IdKind::ALL.into_iter().find(|it| it.name() == kind)?;
                Some((kind, id))
            }))
        });
        read.boxed()
    }
}
