//! What runs did: for `pintle trace` and whoever asks afterwards.

use pintle_agent::StoreError;
use rusqlite::{OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use crate::clock::from_sql;
use crate::record_queue::{Pushed, Record, RecordLoss};
use crate::store::SqliteStore;

/// A run that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id.
    pub run_id: String,
    /// The session it belongs to; it must exist.
    pub session_id: String,
    /// The model that answers.
    pub model: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
}

/// Something that happened in a run (R6.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The run; its start must have been recorded before.
    pub run_id: String,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// Its `type`: `tool.end`, `hook.fired`.
    pub kind: String,
    /// The whole event, as it goes on the wire.
    pub json: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// When, in milliseconds since 1970.
    pub ended_at: u64,
    /// Why: `end_turn`, `aborted`, `max_turns`…
    pub outcome: String,
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens it wrote.
    pub output_tokens: u64,
    /// What that cost, in US dollars.
    pub cost_usd: f64,
}

/// A run as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub run_id: String,
    /// The session it belongs to.
    pub session_id: String,
    /// The model that answered.
    pub model: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended; none while it runs, or when the process died in it.
    pub ended_at: Option<u64>,
    /// Why it ended.
    pub outcome: Option<String>,
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens it wrote.
    pub output_tokens: u64,
    /// What that cost, in US dollars.
    pub cost_usd: f64,
    /// Events that are missing below because they came faster than the disk took them.
    pub dropped_events: u64,
}

/// An event as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEvent {
    /// Its place in the run, from 1.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// Its `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The whole event, as it went on the wire.
    pub json: String,
}

/// Recording returns at once and cannot fail: records are written together, a tenth of a second later. After a crash the
/// last moment may be missing. What could not be written is counted in [`SqliteStore::record_loss`] and in
/// [`Run::dropped_events`].
impl SqliteStore {
    /// Notes that a run begins. Its session must exist.
    pub fn record_run_start(&self, run: NewRun) {
        self.record(Record::Start(run));
    }

    /// Notes what happened in a run. When too much waits already, the event is dropped and counted.
    pub fn record_event(&self, event: NewEvent) {
        self.record(Record::Event(event));
    }

    /// Notes several things that happened, in this order.
    pub fn record_events(&self, events: impl IntoIterator<Item = NewEvent>) {
        for event in events {
            self.record_event(event);
        }
    }

    /// Notes how a run ended.
    pub fn record_run_end(&self, run_id: impl Into<String>, end: RunEnd) {
        self.record(Record::End { run_id: run_id.into(), end });
    }

    /// Returns when everything recorded so far is written or counted as lost.
    pub async fn flush_records(&self) {
        self.worker().flush_records().await;
    }

    /// How many records of this process were lost, to be shown to whoever looks at them.
    pub fn record_loss(&self) -> RecordLoss {
        self.worker().records().loss()
    }

    /// The newest runs of all sessions, newest first, with what this process has recorded so far.
    pub async fn runs(&self, limit: u32) -> Result<Vec<Run>, StoreError> {
        self.flush_records().await;
        self.worker()
            .read("listing the runs", move |conn| {
                let mut statement = conn.prepare_cached(&format!(
                    "SELECT {RUN_COLUMNS} FROM runs ORDER BY n DESC LIMIT ?1"
                ))?;
                Ok(statement.query_map([limit], run_from)?.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// One run by id.
    pub async fn run(&self, run_id: &str) -> Result<Option<Run>, StoreError> {
        self.flush_records().await;
        let run_id = run_id.to_owned();
        self.worker()
            .read("reading a run", move |conn| {
                let mut statement = conn
                    .prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?1"))?;
                Ok(statement.query_row([run_id], run_from).optional()?)
            })
            .await
    }

    /// What happened in a run, in order. Empty when there is no such run.
    pub async fn events(&self, run_id: &str) -> Result<Vec<RunEvent>, StoreError> {
        self.flush_records().await;
        let run_id = run_id.to_owned();
        self.worker()
            .read("reading a run's events", move |conn| {
                let mut statement = conn.prepare_cached(
                    "SELECT seq, at, type, json FROM run_events WHERE run_id = ?1 ORDER BY seq",
                )?;
                Ok(statement.query_map([run_id], event_from)?.collect::<Result<_, _>>()?)
            })
            .await
    }

    fn record(&self, record: Record) {
        match self.worker().records().push(record) {
            Pushed::Quietly => {}
            Pushed::First => self.worker().wake_for_records(false),
            Pushed::HalfFull => self.worker().wake_for_records(true),
        }
    }
}

const RUN_COLUMNS: &str = "run_id, session_id, model, started_at, ended_at, outcome, input_tokens, output_tokens, \
                           cost_usd, dropped_events";

fn run_from(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
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

fn event_from(row: &Row<'_>) -> rusqlite::Result<RunEvent> {
    Ok(RunEvent {
        seq: from_sql(row.get(0)?),
        at: from_sql(row.get(1)?),
        kind: row.get(2)?,
        json: row.get(3)?,
    })
}
