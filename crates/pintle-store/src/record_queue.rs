//! Records on their way to the disk: a bounded queue that never makes a run wait.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{CachedStatement, Connection, Transaction, TransactionBehavior, params};

use crate::clock::to_sql;
use crate::error::explain;
use crate::records::{NewEvent, NewRun, RunEnd};

/// What an entry costs besides its text: ids, numbers, the row around it.
const OVERHEAD: usize = 128;

#[derive(Debug)]
pub(crate) enum Record {
    Start(NewRun),
    Event(NewEvent),
    End { run_id: String, end: RunEnd },
}

impl Record {
    fn bytes(&self) -> usize {
        match self {
            Record::Event(event) => OVERHEAD + event.json.len(),
            Record::Start(_) | Record::End { .. } => OVERHEAD,
        }
    }

    fn run_id(&self) -> &str {
        match self {
            Record::Start(run) => &run.run_id,
            Record::Event(event) => &event.run_id,
            Record::End { run_id, .. } => run_id,
        }
    }
}

/// How many records never reached the disk since the store was opened, and why the last one did not.
///
/// Records give way to the run, so they can be lost; they are never lost silently.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordLoss {
    /// How many.
    pub count: u64,
    /// Why the newest of them was lost.
    pub reason: Option<String>,
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

/// What the thread must be told after a push.
pub(crate) enum Pushed {
    /// Nothing: it knows already, or the record was dropped.
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
        let after = before + record.bytes();
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

    /// Writes everything that waits, in a transaction of its own: trouble with records never fails a message.
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
    let mut event = conn.prepare_cached(
        "INSERT INTO run_events (run_id, seq, at, type, json)
         SELECT ?1, COALESCE(MAX(seq), 0) + 1, ?2, ?3, ?4 FROM run_events WHERE run_id = ?1",
    )?;
    for record in records {
        if let Err(error) = write_one(conn, &mut event, &record) {
            // Only a refused row (its session was deleted, say) leaves the transaction alive.
            if conn.is_autocommit() {
                return Err(error);
            }
            if matches!(record, Record::Event(_)) {
                *dropped.entry(record.run_id().to_owned()).or_default() += 1;
            }
            refused = Some((refused.map_or(1, |(count, _)| count + 1), error));
        }
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
    match record {
        // A run that is resumed after a crash starts a second time: it is the same run, open again.
        Record::Start(run) => conn
            .prepare_cached(
                "INSERT INTO runs (run_id, session_id, model, started_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run_id) DO UPDATE SET ended_at = NULL, outcome = NULL",
            )?
            .execute(params![run.run_id, run.session_id, run.model, to_sql(run.started_at)])?,
        Record::Event(new) => event.execute(params![new.run_id, to_sql(new.at), new.kind, new.json])?,
        Record::End { run_id, end } => conn
            .prepare_cached(
                "UPDATE runs SET ended_at = ?2, outcome = ?3, input_tokens = ?4, output_tokens = ?5, cost_usd = ?6
                 WHERE run_id = ?1",
            )?
            .execute(params![
                run_id,
                to_sql(end.ended_at),
                end.outcome,
                to_sql(end.input_tokens),
                to_sql(end.output_tokens),
                end.cost_usd
            ])?,
    };
    Ok(())
}
