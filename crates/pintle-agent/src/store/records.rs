//! What runs did: for `pintle trace` and later questions.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use pintle::HandlerInfo;
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
    /// The runs that began then or later, oldest first.
    fn runs_since(&self, since: u64) -> Stored<'_, Vec<StoredRun>>;
    /// Point and name of every handler that the recorded runs have called, the oldest run included, with what came of its
    /// calls since then.
    fn fired_hooks(&self, since: u64) -> Stored<'_, FiredHooks>;
    /// Forgets some of the runs that began before a time, or that are too much together, oldest first and with their
    /// events; says how many. To be called again until there are none: each call is short, so that no writer waits long.
    fn forget_runs(&self, limit: Retention) -> Stored<'_, u64>;
}

/// The calls of handlers, by point and name.
pub type FiredHooks = HashMap<(String, String), HookCalls>;

/// What came of a handler's calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookCalls {
    /// How many milliseconds each took.
    pub durations: Vec<f64>,
    /// How often it said what, by the outcome's name: `allowed`, `blocked`, `timed_out`.
    pub outcomes: BTreeMap<String, u64>,
    /// The same of calls in shadow mode, which had no effect.
    pub shadow: BTreeMap<String, u64>,
    /// How many of the newest calls timed out, with no answer after them.
    pub timeouts: u32,
}

impl HookCalls {
    /// So many of a hundred calls took at most this many milliseconds.
    pub fn percentile(&self, of_hundred: usize) -> Option<f64> {
        let mut sorted = self.durations.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((sorted.len() * of_hundred).div_ceil(100).saturating_sub(1)).copied()
    }

    /// Whether a gate's handler blocks at once, because it timed out again and again.
    pub fn is_failing(&self) -> bool {
        self.timeouts >= HandlerInfo::FAILING_AFTER
    }

    /// Adds a call that was made after those added so far.
    pub fn add(&mut self, outcome: &str, took: Option<f64>, is_shadow: bool) {
        self.timeouts = match outcome {
            "timed_out" => self.timeouts.saturating_add(1),
            "gone" | "cancelled" => self.timeouts,
            _ => 0,
        };
        let outcomes = if is_shadow { &mut self.shadow } else { &mut self.outcomes };
        *outcomes.entry(outcome.to_owned()).or_default() += 1;
        self.durations.extend(took);
    }
}

/// How many runs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Runs that began before are forgotten, in milliseconds since 1970.
    pub began_before: u64,
    /// The most bytes that the events of all runs take. Runs that have not ended are kept.
    pub max_bytes: u64,
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
    /// Who the agent is.
    pub personality: Option<String>,
    /// What its calls are judged by.
    pub judged_by: JudgedBy,
}

/// What the calls of a run are judged by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedBy {
    /// The folder of its profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<PathBuf>,
    /// The hash of everything in the profile that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_hash: Option<String>,
    /// The folder that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
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
    /// Who the agent was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// What its calls were judged by.
    #[serde(flatten)]
    pub judged_by: JudgedBy,
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
