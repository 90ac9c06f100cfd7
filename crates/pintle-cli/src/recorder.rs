//! Keeps the events of every run for `pintle trace`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use pintle_agent::store::{NewEvent, NewRun, Record, RunEnd, Store};
use pintle_agent::{RunEvent, RunEventKind};
use serde_json::Value;

pub(crate) struct Recorder {
    store: Arc<dyn Store>,
    /// What each run under way has cost so far.
    totals: Mutex<HashMap<String, RunEnd>>,
}

impl Recorder {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, totals: Mutex::default() }
    }

    /// Never waits: the store queues it. Text pieces are left out, for the text itself is in the session.
    pub(crate) fn record(&self, event: &RunEvent) {
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
            })),
            RunEventKind::Usage { input_tokens, output_tokens, cost_usd, .. } => {
                self.add(run_id, *input_tokens, *output_tokens, cost_usd.unwrap_or_default());
            }
            _ => {}
        }
        if let Ok(json) = serde_json::to_value(event) {
            let kind = json.get("type").and_then(Value::as_str).unwrap_or_default().to_string();
            self.store.record(Record::Event(NewEvent {
                run_id: run_id.clone(),
                at: envelope.ts,
                kind,
                json: json.to_string(),
            }));
        }
        if let RunEventKind::Done { outcome, .. } = &event.kind {
            let mut end = self.lock().remove(run_id).unwrap_or_default();
            end.run_id.clone_from(run_id);
            end.ended_at = envelope.ts;
            end.outcome = outcome.as_str().to_string();
            self.store.record(Record::End(end));
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
