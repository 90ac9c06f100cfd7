//! What runs did.

use std::collections::HashMap;

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::store::{Record, RecordLoss, Records, Stored, StoredEvent, StoredRun};
use rusqlite::{OptionalExtension, Row};

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

    fn fired_hooks(&self, since: u64) -> Stored<'_, HashMap<(String, String), Vec<f64>>> {
        let since = to_sql(since);
        let read = self.worker().read("looking for hooks that have fired", move |conn| {
            // Of what is older, once is enough.
            let mut statement = conn.prepare_cached(
                "SELECT json_extract(e.json, '$.point'), json_extract(h.value, '$.name'),
                        iif(e.at >= ?1, json_extract(h.value, '$.durationMs'), NULL)
                 FROM run_events e, json_each(e.json, '$.handlers') h
                 WHERE e.type = 'hook.fired' AND json_valid(e.json)
                   AND json_extract(h.value, '$.outcome') IS NOT 'removed'",
            )?;
            let mut rows = statement.query([since])?;
            let mut fired: HashMap<_, Vec<f64>> = HashMap::new();
            while let Some(row) = rows.next()? {
                if let (Some(point), Some(name)) = (row.get(0)?, row.get(1)?) {
                    fired.entry((point, name)).or_default().extend(row.get::<_, Option<f64>>(2)?);
                }
            }
            Ok(fired)
        });
        self.after_records(read)
    }
}

impl SqliteStore {
    /// A reader sees what this process has recorded before.
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
                           cost_usd, dropped_events";

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
