//! Keeps the events of every run for `pintle trace`, `stats` and `replay`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use pintle_agent::store::{JudgedBy, NewEvent, NewRun, Record, Retention, RunEnd, Store};
use pintle_agent::{RunEvent, RunEventKind};
use pintle_profile::RecordSettings;

/// Old runs are looked for after the first run of a process, and after each so many.
const FORGET_EVERY: u64 = 50;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Keeps the events of every run in a store. Sees them as an agent's [observer](pintle_agent::AgentBuilder::observer).
pub struct Recorder {
    store: Arc<dyn Store>,
    judged_by: JudgedBy,
    keep: RecordSettings,
    ended: AtomicU64,
    /// The cost so far of each run that has not ended.
    totals: Mutex<HashMap<String, RunEnd>>,
}

impl Recorder {
    /// A recorder of runs that are judged by this, for as long as the settings say.
    pub fn new(store: Arc<dyn Store>, judged_by: JudgedBy, keep: RecordSettings) -> Self {
        Self { store, judged_by, keep, ended: AtomicU64::new(0), totals: Mutex::default() }
    }

    /// Never waits: the store queues it. Text pieces are left out, for the text itself is in the session.
    pub fn record(&self, event: &RunEvent) {
        let envelope = &event.envelope;
        let (Some(run_id), Some(session_id)) = (&envelope.run_id, &envelope.session_id) else {
            return;
        };
        match &event.kind {
            RunEventKind::TextDelta { .. } | RunEventKind::ToolProgress { .. } => return,
            RunEventKind::RunStart { model, .. } => self.store.record(Record::Start(NewRun {
                run_id: run_id.clone(),
                session_id: session_id.clone(),
                model: model.clone(),
                started_at: envelope.ts,
                personality: envelope.personality_id.clone(),
                judged_by: self.judged_by.clone(),
            })),
            RunEventKind::Usage { usage, .. } => {
                let cost_usd = usage.cost_usd.unwrap_or_default();
                self.add(run_id, usage.input_tokens, usage.output_tokens, cost_usd);
            }
            _ => {}
        }
        if let Ok(json) = serde_json::to_string(event) {
            // Its type comes first.
            let kind = json.strip_prefix(r#"{"type":""#).and_then(|rest| rest.split_once('"'));
            let kind = kind.map(|(kind, _)| kind.to_owned()).unwrap_or_default();
            self.store.record(Record::Event(NewEvent {
                run_id: run_id.clone(),
                at: envelope.ts,
                kind,
                json,
            }));
        }
        if let RunEventKind::Done { outcome, .. } = &event.kind {
            let mut end = self.lock().remove(run_id).unwrap_or_default();
            end.run_id.clone_from(run_id);
            end.ended_at = envelope.ts;
            end.outcome = outcome.as_str().to_string();
            self.store.record(Record::End(end));
            if self.ended.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGET_EVERY) {
                self.forget(envelope.ts);
            }
        }
    }

    /// Forgets old runs in the background: no run waits for it.
    fn forget(&self, now: u64) {
        let (store, keep) = (self.store.clone(), self.keep);
        let limit = Retention {
            began_before: now.saturating_sub(keep.keep_days.saturating_mul(DAY_MS)),
            max_bytes: keep.max_mb.saturating_mul(1024 * 1024),
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // A store that fails now fails again when it is needed, and says so there.
            runtime.spawn(async move {
                while store.forget_runs(limit).await.is_ok_and(|gone| gone > 0) {}
            });
        }
    }

    fn add(&self, run_id: &str, input_tokens: u64, output_tokens: u64, cost_usd: f64) {
        let mut totals = self.lock();
        let total = totals.entry(run_id.to_string()).or_default();
        total.input_tokens += input_tokens;
        total.output_tokens += output_tokens;
        total.cost_usd += cost_usd;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, RunEnd>> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
