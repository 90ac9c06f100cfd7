//! Live events: every event of every run, and every hook that fires for a message.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pintle::{Envelope, FailureKind, FireRecord, HandlerOutcome, HandlerRecord, RecordSink};
use pintle_agent::{RunEvent, RunEventKind};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::{
    figures::Figures,
    page::{Head, Row, Timelines},
};

/// How many events a viewer can catch up on after a lost connection.
const KEPT: usize = 4096;
/// How many durations of a handler its percentiles are computed from.
const DURATIONS: usize = 512;

/// An event for viewers.
#[derive(Debug, Clone)]
pub struct LiveEvent {
    /// Its number since the gateway started.
    pub seq: u64,
    /// The run that it belongs to.
    pub run_id: Option<String>,
    /// Its `type`.
    pub kind: String,
    /// The whole event, as it goes on the wire.
    pub json: Arc<str>,
    /// The change in the timeline of its run, for the page.
    pub(crate) rows: Arc<str>,
}

/// Collects events and sends them to viewers. A viewer that is too slow loses events and is notified; it slows nothing down.
#[derive(Clone)]
pub struct EventHub(Arc<Hub>);

struct Hub {
    live: broadcast::Sender<LiveEvent>,
    state: Mutex<State>,
    /// Distinguishes the numbers of this process from those of the one before.
    epoch: String,
}

#[derive(Default)]
struct State {
    next: u64,
    kept: VecDeque<LiveEvent>,
    hooks: BTreeMap<(String, String), HookStats>,
    figures: Figures,
    timelines: Timelines,
}

/// The figures of one handler since the gateway started.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookStats {
    /// How often it was called.
    pub fired: u64,
    /// How often it failed.
    pub failures: u64,
    /// How often it blocked or claimed.
    pub stops: u64,
    /// Its last outcome.
    pub last_outcome: String,
    /// When, in milliseconds since 1970.
    pub last_at: u64,
    /// Half of its calls were shorter, in milliseconds.
    pub p50_ms: f64,
    /// 95 of 100 were shorter.
    pub p95_ms: f64,
    #[serde(skip)]
    #[schemars(skip)]
    durations: VecDeque<f64>,
}

impl Default for EventHub {
    fn default() -> Self {
        let (live, _) = broadcast::channel(KEPT);
        let epoch = format!("{:x}", crate::clock::now_ms());
        Self(Arc::new(Hub { live, state: Mutex::default(), epoch }))
    }
}

impl EventHub {
    /// All events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<LiveEvent> {
        self.0.live.subscribe()
    }

    /// The id of an event on the wire.
    pub fn wire_id(&self, seq: u64) -> String {
        format!("{}-{seq}", self.0.epoch)
    }

    /// The events after this wire id. `None` when some of them are gone.
    pub fn since(&self, wire_id: &str) -> Option<Vec<LiveEvent>> {
        let (epoch, seq) = wire_id.rsplit_once('-')?;
        let seq: u64 = seq.parse().ok().filter(|_| epoch == self.0.epoch)?;
        let state = self.state();
        let oldest = state.kept.front().map_or(state.next, |event| event.seq);
        (seq.saturating_add(1) >= oldest)
            .then(|| state.kept.iter().filter(|event| event.seq > seq).cloned().collect())
    }

    /// The id of the newest event on the wire.
    pub(crate) fn newest(&self) -> String {
        self.wire_id(self.state().next)
    }

    /// The timeline of a run as it is after the event with this wire id.
    pub(crate) fn rows(&self, run_id: &str) -> Option<(String, Vec<Row>)> {
        let state = self.state();
        Some((self.wire_id(state.next), state.timelines.rows(run_id)?))
    }

    pub(crate) fn head(&self, run_id: &str) -> Option<Head> {
        self.state().timelines.head(run_id)
    }

    pub(crate) fn follows(&self, run_id: &str) -> bool {
        self.state().timelines.knows(run_id)
    }

    /// Adds the earlier events of a run that another process began.
    pub(crate) fn catch_up(&self, events: &[serde_json::Value]) {
        let mut state = self.state();
        for event in events {
            state.timelines.push(event);
        }
    }

    /// The figures of the handlers, by point and name.
    pub fn hook_stats(&self) -> BTreeMap<(String, String), HookStats> {
        let mut hooks = self.state().hooks.clone();
        for stats in hooks.values_mut() {
            let mut sorted: Vec<f64> = stats.durations.drain(..).collect();
            sorted.sort_by(f64::total_cmp);
            let at = |share: usize| {
                sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1)))
            };
            stats.p50_ms = at(50).copied().unwrap_or_default();
            stats.p95_ms = at(95).copied().unwrap_or_default();
        }
        hooks
    }

    pub(crate) fn figures(&self) -> Figures {
        self.state().figures.clone()
    }

    /// Adds an event of a run.
    pub fn publish(&self, event: &RunEvent) {
        if let RunEventKind::HookFired { point, handlers, .. } = &event.kind {
            self.count(point, event.envelope.ts, handlers);
        }
        self.state().figures.count(event);
        let Ok(json) = serde_json::to_value(event) else { return };
        let kind = json.get("type").and_then(|kind| kind.as_str()).unwrap_or_default().to_string();
        let run_id = event.envelope.run_id.clone();
        let mut state = self.state();
        state.next += 1;
        let (seq, rows) = (state.next, state.timelines.push(&json));
        let event = LiveEvent { seq, run_id, kind, json: json.to_string().into(), rows };
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(event.clone());
        // Sent under the lock, so that viewers get the events in the order of their numbers.
        let _ = self.0.live.send(event);
    }

    /// Sends an error of a part of the gateway to the viewers.
    pub fn trouble(&self, what: &str, message: &str) {
        let envelope = Envelope {
            platform: what.to_string(),
            ts: crate::clock::now_ms(),
            ..Envelope::default()
        };
        let kind =
            RunEventKind::Error { code: "gateway".into(), message: format!("{what}: {message}") };
        self.publish(&RunEvent { kind, envelope: Arc::new(envelope) });
    }

    fn count(&self, point: &str, at: u64, handlers: &[HandlerRecord]) {
        let mut state = self.state();
        for handler in handlers {
            let outcome = handler.outcome.name();
            let stats =
                state.hooks.entry((point.to_string(), handler.name.to_string())).or_default();
            stats.fired += 1;
            // A program blocks with exit code 2.
            let is_no = matches!(&handler.outcome, HandlerOutcome::Failed(it) if it.kind == FailureKind::Exit(2));
            let is_stop = is_no || matches!(outcome, "blocked" | "claimed");
            stats.stops += u64::from(is_stop && !handler.shadow);
            stats.failures += u64::from(!is_no && !HandlerOutcome::NO_FAILURE.contains(&outcome));
            stats.last_outcome = if is_no { "blocked" } else { outcome }.to_string();
            stats.last_at = at;
            if stats.durations.len() == DURATIONS {
                stats.durations.pop_front();
            }
            stats.durations.push_back(handler.duration.as_secs_f64() * 1e3);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fires for a message that has no run yet are events too.
impl RecordSink for EventHub {
    fn record(&self, record: Arc<FireRecord>) {
        if !record.handlers.is_empty() {
            self.publish(&RunEvent {
                kind: RunEventKind::HookFired {
                    tool_call_id: None,
                    point: record.point,
                    model: record.model,
                    handlers: record.handlers.clone(),
                },
                envelope: record.envelope.clone(),
            });
        }
    }
}
