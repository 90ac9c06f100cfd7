//! What runs did: for `pintle trace` and later questions.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::Stored;

/// Where the events of runs are kept.
///
/// Recording returns at once and cannot fail, so that watching a run never slows it. After a crash the last moment may be
/// missing. What could not be written is counted in [`Records::record_loss`] and [`StoredRun::dropped_events`].
///
/// A record carries its run's id and no claim, because a run's last hooks are recorded after it gave its session back. A
/// run whose claim another owner took over is closed as [`INTERRUPTED`](StoredRun::INTERRUPTED), and takes no more records.
pub trait Records: Send + Sync + 'static {
    /// Notes what happened in a run. Its [`Record::Start`] comes first.
    fn record(&self, record: Record);
    /// Returns when everything recorded so far is written or counted as lost.
    fn flush_records(&self) -> BoxFuture<'_, ()>;
    /// How many records of this process were lost.
    fn record_loss(&self) -> RecordLoss;
    /// The newest runs of all sessions, newest first, with what this process has recorded so far.
    fn runs(&self, limit: u32) -> Stored<'_, Vec<StoredRun>>;
    /// One run by id.
    fn run(&self, run_id: &str) -> Stored<'_, Option<StoredRun>>;
    /// What happened in a run, in order. Empty when there is no such run.
    fn events(&self, run_id: &str) -> Stored<'_, Vec<StoredEvent>>;
    /// Point and name of every handler that the recorded runs have called, the oldest run included, with how many
    /// milliseconds each of its calls since then took.
    fn fired_hooks(&self, since: u64) -> Stored<'_, HashMap<(String, String), Vec<f64>>>;
}

/// Something to note about a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// It begins.
    Start(NewRun),
    /// Something happened in it.
    Event(NewEvent),
    /// It ended.
    End(RunEnd),
}

impl Record {
    /// The run.
    pub fn run_id(&self) -> &str {
        match self {
            Self::Start(run) => &run.run_id,
            Self::Event(event) => &event.run_id,
            Self::End(end) => &end.run_id,
        }
    }
}

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
    /// The run.
    pub run_id: String,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// Its `type`: `tool.end`, `hook.fired`.
    pub kind: String,
    /// The whole event, as it goes on the wire.
    pub json: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunEnd {
    /// The run.
    pub run_id: String,
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
pub struct StoredRun {
    /// Its id.
    pub run_id: String,
    /// The session it belongs to.
    pub session_id: String,
    /// The model that answered.
    pub model: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended; none while it runs, or when its process died and no other run has taken its session since.
    pub ended_at: Option<u64>,
    /// Why it ended.
    pub outcome: Option<String>,
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens it wrote.
    pub output_tokens: u64,
    /// What that cost, in US dollars.
    pub cost_usd: f64,
    /// Events that are missing because they came faster than the store took them.
    pub dropped_events: u64,
}

impl StoredRun {
    /// The outcome of a run whose session another owner took over.
    pub const INTERRUPTED: &'static str = "interrupted";
}

/// An event as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvent {
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

/// How many records were lost since the store was opened, and why the last one was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordLoss {
    /// How many.
    pub count: u64,
    /// Why the newest of them was lost.
    pub reason: Option<String>,
}
