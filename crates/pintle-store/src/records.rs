//! Recorded runs and their events.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::store::{
    FiredHooks, Record, RecordLoss, Records, Retention, Stored, StoredEvent, StoredRun,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::{from_sql, to_sql};
use crate::record_queue::Pushed;
use crate::store::SqliteStore;

/// Records are written together, a tenth of a second later.
impl Records for SqliteStore {
    fn record(&self, record: Record) {
        match self.worker().records().push(record) {
            Pushed::Quietly => {}
            Pushed::First => self.worker().wake_for_records(false),
            Pushed::HalfFull => self.worker().wake_for_records(true),
        }
    }

    fn flush_records(&self) -> BoxFuture<'_, ()> {
        self.worker().flush_records().boxed()
    }

    fn record_loss(&self) -> RecordLoss {
        self.worker().records().loss()
    }

    fn runs(&self, limit: u32) -> Stored<'_, Vec<StoredRun>> {
        let read = self.worker().read("listing the runs", move |conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {RUN_COLUMNS} FROM runs ORDER BY n DESC LIMIT ?1"
            ))?;
            Ok(statement.query_map([limit], run_from)?.collect::<Result<_, _>>()?)
        });
        self.after_records(read)
    }

    fn run(&self, run_id: &str) -> Stored<'_, Option<StoredRun>> {
        let run_id = run_id.to_owned();
        let read = self.worker().read("reading a run", move |conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?1"))?;
            Ok(statement.query_row([run_id], run_from).optional()?)
        });
        self.after_records(read)
    }

    fn events(&self, run_id: &str) -> Stored<'_, Vec<StoredEvent>> {
        let run_id = run_id.to_owned();
        let read = self.worker().read("reading a run's events", move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT seq, at, type, json FROM run_events WHERE run_id = ?1 ORDER BY seq",
            )?;
            Ok(statement.query_map([run_id], event_from)?.collect::<Result<_, _>>()?)
        });
        self.after_records(read)
    }

    fn runs_since(&self, since: u64) -> Stored<'_, Vec<StoredRun>> {
        let since = to_sql(since);
        let read = self.worker().read("listing the runs", move |conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {RUN_COLUMNS} FROM runs WHERE started_at >= ?1 ORDER BY n"
            ))?;
            Ok(statement.query_map([since], run_from)?.collect::<Result<_, _>>()?)
        });
        self.after_records(read)
    }

    fn forget_runs(&self, limit: Retention) -> Stored<'_, u64> {
        self.worker().write("forgetting old runs", move |conn| Ok(forget(conn, limit)?)).boxed()
    }

    fn fired_hooks(&self, since: u64) -> Stored<'_, FiredHooks> {
        let since = to_sql(since);
        let read = self.worker().read("looking for hooks that have fired", move |conn| {
            // Of an older event, only the point and the name of the hook are needed.
            let mut statement = conn.prepare_cached(
                "SELECT json_extract(e.json, '$.point'), json_extract(h.value, '$.name'),
                        iif(e.at >= ?1, json_extract(h.value, '$.outcome'), NULL),
                        json_extract(h.value, '$.durationMs'), json_extract(h.value, '$.shadow')
                 FROM run_events e, json_each(e.json, '$.handlers') h
                 WHERE e.type = 'hook.fired' AND json_valid(e.json)
                   AND json_extract(h.value, '$.outcome') IS NOT 'removed'
                 ORDER BY e.rowid",
            )?;
            let mut rows = statement.query([since])?;
            let mut fired = FiredHooks::new();
            while let Some(row) = rows.next()? {
                if let (Some(point), Some(name)) = (row.get(0)?, row.get(1)?) {
                    let calls = fired.entry((point, name)).or_default();
                    if let Some(outcome) = row.get::<_, Option<String>>(2)? {
                        let is_shadow = row.get::<_, Option<bool>>(4)?.unwrap_or_default();
                        calls.add(&outcome, row.get(3)?, is_shadow);
                    }
                }
            }
            Ok(fired)
        });
        self.after_records(read)
    }
}

impl SqliteStore {
    /// Writes the waiting records of this process, then reads.
    fn after_records<'a, T>(
        &'a self,
        read: impl Future<Output = Result<T, pintle_agent::StoreError>> + Send + 'a,
    ) -> Stored<'a, T> {
        async move {
            self.worker().flush_records().await;
            read.await
        }
        .boxed()
    }
}

const RUN_COLUMNS: &str = "run_id, session_id, model, started_at, ended_at, outcome, input_tokens, output_tokens, \
                           cost_usd, dropped_events, personality, judged_by";

/// How many runs are forgotten in one transaction.
const FORGOTTEN_AT_ONCE: u32 = 32;

fn forget(conn: &Connection, limit: Retention) -> rusqlite::Result<u64> {
    let kept: i64 = conn
        .prepare_cached("SELECT COALESCE(SUM(bytes), 0) FROM runs")?
        .query_row([], |row| row.get(0))?;
    let mut surplus = kept.saturating_sub(to_sql(limit.max_bytes));
    let mut gone = Vec::new();
    let mut oldest = conn.prepare_cached(
        "SELECT n, bytes, started_at < ?1 FROM runs
         WHERE started_at < ?1 OR (?2 AND ended_at IS NOT NULL) ORDER BY started_at, n LIMIT ?3",
    )?;
    let found = oldest
        .query_map(params![to_sql(limit.began_before), surplus > 0, FORGOTTEN_AT_ONCE], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
        })?;
    for run in found {
        let (n, bytes, is_old) = run?;
        if is_old || surplus > 0 {
            surplus -= bytes;
            gone.push(n);
        }
    }
    for n in &gone {
        conn.prepare_cached("DELETE FROM runs WHERE n = ?1")?.execute([n])?;
    }
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

fn run_from(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    Ok(StoredRun {
        run_id: row.get(0)?,
        session_id: row.get(1)?,
        model: row.get(2)?,
        started_at: from_sql(row.get(3)?),
        ended_at: row.get::<_, Option<i64>>(4)?.map(from_sql),
        outcome: row.get(5)?,
        input_tokens: from_sql(row.get(6)?),
        output_tokens: from_sql(row.get(7)?),
        cost_usd: row.get(8)?,
        dropped_events: from_sql(row.get(9)?),
        personality: row.get(10)?,
        judged_by: serde_json::from_str(&row.get::<_, String>(11)?).unwrap_or_default(),
    })
}

fn event_from(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        seq: from_sql(row.get(0)?),
        at: from_sql(row.get(1)?),
        kind: row.get(2)?,
        json: row.get(3)?,
    })
}
