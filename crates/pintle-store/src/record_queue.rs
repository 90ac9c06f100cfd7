//! Records on their way to the disk: a bounded queue that never makes a run wait.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pintle_agent::store::{Record, RecordLoss, StoredRun};
use rusqlite::{CachedStatement, Connection, Transaction, TransactionBehavior, params};

use crate::clock::to_sql;
use crate::error::explain;

/// The size of an entry besides its text: ids, numbers, the row around it.
const OVERHEAD: usize = 128;

fn bytes(record: &Record) -> usize {
    match record {
        Record::Event(event) => OVERHEAD + event.json.len(),
        Record::Start(_) | Record::End(_) => OVERHEAD,
    }
}

#[derive(Debug, Default)]
struct Waiting {
    records: Vec<Record>,
    bytes: usize,
    /// Events dropped since the last write, by run: shown with the run.
    dropped: HashMap<String, u64>,
    loss: RecordLoss,
}

/// The queue. Callers hold its lock only to push; the writer only to take everything.
#[derive(Debug)]
pub(crate) struct RecordQueue {
    limit: usize,
    waiting: Mutex<Waiting>,
}

/// The signal that the thread needs after a push.
pub(crate) enum Pushed {
    /// None: the thread knows already, or the record was dropped.
    Quietly,
    /// There is something to write.
    First,
    /// The queue is half full.
    HalfFull,
}

impl RecordQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, waiting: Mutex::default() }
    }

    /// Adds a record; an event that does not fit is dropped and counted. Starts and ends always fit: they are small, and
    /// a run without them could not be shown at all.
    pub(crate) fn push(&self, record: Record) -> Pushed {
        let mut waiting = self.lock();
        let before = waiting.bytes;
        let after = before + bytes(&record);
        if after > self.limit && matches!(record, Record::Event(_)) {
            *waiting.dropped.entry(record.run_id().to_owned()).or_default() += 1;
            waiting.loss.count += 1;
            waiting.loss.reason = Some(format!(
                "more than {} bytes of records were waiting to be written",
                self.limit
            ));
            return Pushed::Quietly;
        }
        waiting.bytes = after;
        waiting.records.push(record);
        if before <= self.limit / 2 && after > self.limit / 2 {
            Pushed::HalfFull
        } else if before == 0 {
            Pushed::First
        } else {
            Pushed::Quietly
        }
    }

    pub(crate) fn loss(&self) -> RecordLoss {
        self.lock().loss.clone()
    }

    /// Writes all waiting records in a separate transaction, so an error here fails no other write.
    pub(crate) fn write(&self, conn: &Connection, path: &Path) {
        let (records, dropped) = {
            let mut waiting = self.lock();
            waiting.bytes = 0;
            (std::mem::take(&mut waiting.records), std::mem::take(&mut waiting.dropped))
        };
        if records.is_empty() && dropped.is_empty() {
            return;
        }
        let total = records.len();
        match write_all(conn, records, dropped) {
            Ok(None) => {}
            Ok(Some((count, error))) => self.lose(count, &error, path),
            Err(error) => self.lose(total, &error, path),
        }
    }

    fn lose(&self, count: usize, error: &rusqlite::Error, path: &Path) {
        let mut waiting = self.lock();
        waiting.loss.count += u64::try_from(count).unwrap_or(u64::MAX);
        waiting.loss.reason = Some(explain(error, path, "writing run records").to_string());
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many records were refused one by one, and why the last was.
type Refused = Option<(usize, rusqlite::Error)>;

fn write_all(
    conn: &Connection,
    records: Vec<Record>,
    mut dropped: HashMap<String, u64>,
) -> rusqlite::Result<Refused> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let mut refused: Refused = None;
    let mut bytes: HashMap<String, u64> = HashMap::new();
    let mut event = conn.prepare_cached(
        "INSERT INTO run_events (run_id, seq, at, type, json)
         SELECT ?1, COALESCE(MAX(seq), 0) + 1, ?2, ?3, ?4 FROM run_events WHERE run_id = ?1
         HAVING NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND outcome = ?5)",
    )?;
    for record in records {
        if let Err(error) = write_one(conn, &mut event, &record) {
            // A refused row, for example of a deleted session, leaves the transaction open. Any other error ends it.
            if conn.is_autocommit() {
                return Err(error);
            }
            if matches!(record, Record::Event(_)) {
                *dropped.entry(record.run_id().to_owned()).or_default() += 1;
            }
            refused = Some((refused.map_or(1, |(count, _)| count + 1), error));
        } else if let Record::Event(event) = record {
            let written = u64::try_from(event.json.len()).unwrap_or(u64::MAX);
            *bytes.entry(event.run_id).or_default() += written;
        }
    }
    for (run_id, count) in bytes {
        conn.prepare_cached("UPDATE runs SET bytes = bytes + ?2 WHERE run_id = ?1")?
            .execute(params![run_id, to_sql(count)])?;
    }
    for (run_id, count) in dropped {
        conn.prepare_cached(
            "UPDATE runs SET dropped_events = dropped_events + ?2 WHERE run_id = ?1",
        )?
        .execute(params![run_id, to_sql(count)])?;
    }
    transaction.commit()?;
    Ok(refused)
}

fn write_one(
    conn: &Connection,
    event: &mut CachedStatement<'_>,
    record: &Record,
) -> rusqlite::Result<()> {
    let changed = match record {
        Record::Start(run) => conn
            .prepare_cached(
                // A run that was parked goes on under its id.
                "INSERT INTO runs (run_id, session_id, model, started_at, personality, judged_by)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (run_id) DO UPDATE SET ended_at = NULL, outcome = NULL",
            )?
            .execute(params![
                run.run_id,
                run.session_id,
                run.model,
                to_sql(run.started_at),
                run.personality,
                serde_json::to_string(&run.judged_by).unwrap_or_default(),
            ])?,
        Record::Event(new) => event.execute(params![
            new.run_id,
            to_sql(new.at),
            new.kind,
            new.json,
            StoredRun::INTERRUPTED
        ])?,
        Record::End(end) => conn
            .prepare_cached(
                "UPDATE runs SET ended_at = ?2, outcome = ?3, input_tokens = ?4, output_tokens = ?5, cost_usd = ?6
                 WHERE run_id = ?1 AND outcome IS NOT ?7",
            )?
            .execute(params![
                end.run_id,
                to_sql(end.ended_at),
                end.outcome,
                to_sql(end.input_tokens),
                to_sql(end.output_tokens),
                end.cost_usd,
                StoredRun::INTERRUPTED
            ])?,
    };
    // Another owner took the session over, or the run does not exist.
    if changed == 0 { Err(rusqlite::Error::StatementChangedRows(0)) } else { Ok(()) }
}
