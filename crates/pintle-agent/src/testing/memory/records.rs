//! What runs did, in memory.

use std::collections::HashMap;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{MemoryStore, Tables};
use crate::store::{Record, RecordLoss, Records, RunEnd, Stored, StoredEvent, StoredRun};

impl Records for MemoryStore {
    fn record(&self, record: Record) {
        let mut tables = self.tables();
        if let Err(reason) = write(&mut tables, record) {
            tables.loss.count += 1;
            tables.loss.reason = Some(reason);
        }
    }

    fn flush_records(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn record_loss(&self) -> RecordLoss {
        self.tables().loss.clone()
    }

    fn runs(&self, limit: u32) -> Stored<'_, Vec<StoredRun>> {
        self.read(|tables| tables.runs.iter().rev().take(limit as usize).cloned().collect())
    }

    fn run(&self, run_id: &str) -> Stored<'_, Option<StoredRun>> {
        self.read(|tables| tables.runs.iter().find(|run| run.run_id == run_id).cloned())
    }

    fn events(&self, run_id: &str) -> Stored<'_, Vec<StoredEvent>> {
        self.read(|tables| tables.events.get(run_id).cloned().unwrap_or_default())
    }

    fn fired_hooks(&self, since: u64) -> Stored<'_, HashMap<(String, String), Vec<f64>>> {
        self.read(|tables| {
            let mut fired: HashMap<_, Vec<f64>> = HashMap::new();
            for event in tables.events.values().flatten() {
                for (key, took) in handlers(event) {
                    fired.entry(key).or_default().extend(took.filter(|_| event.at >= since));
                }
            }
            fired
        })
    }
}

fn write(tables: &mut Tables, record: Record) -> Result<(), String> {
    if let Record::Start(new) = &record {
        if tables.session(&new.session_id).is_none() {
            return Err(format!("there is no session `{}`", new.session_id));
        }
        // A run that was parked goes on under its id.
        if let Some(run) = tables.runs.iter_mut().find(|run| run.run_id == new.run_id) {
            (run.ended_at, run.outcome) = (None, None);
            return Ok(());
        }
        tables.runs.push(StoredRun {
            run_id: new.run_id.clone(),
            session_id: new.session_id.clone(),
            model: new.model.clone(),
            started_at: new.started_at,
            ended_at: None,
            outcome: None,
            input_tokens: 0,
            output_tokens: 0,
            cost_usd: 0.0,
            dropped_events: 0,
        });
    }
    let unknown = || format!("there is no run `{}` that goes on", record.run_id());
    let run =
        tables.runs.iter_mut().find(|run| run.run_id == record.run_id()).ok_or_else(unknown)?;
    match record {
        Record::Start(_) => {}
        Record::Event(new) => {
            let events = tables.events.entry(new.run_id).or_default();
            let seq = u64::try_from(events.len()).unwrap_or(u64::MAX).saturating_add(1);
            events.push(StoredEvent { seq, at: new.at, kind: new.kind, json: new.json });
        }
        Record::End(RunEnd {
            run_id: _,
            ended_at,
            outcome,
            input_tokens,
            output_tokens,
            cost_usd,
        }) => {
            (run.ended_at, run.outcome) = (Some(ended_at), Some(outcome));
            (run.input_tokens, run.output_tokens) = (input_tokens, output_tokens);
            run.cost_usd = cost_usd;
        }
    }
    Ok(())
}

/// Point and name of the handlers that a `hook.fired` event names.
/// The handlers of a fire, with how long each took.
fn handlers(event: &StoredEvent) -> Vec<((String, String), Option<f64>)> {
    let fired: Value = match event.kind.as_str() {
        "hook.fired" => serde_json::from_str(&event.json).unwrap_or_default(),
        _ => return Vec::new(),
    };
    let Some(point) = fired.get("point").and_then(Value::as_str) else { return Vec::new() };
    let handlers = fired.get("handlers").and_then(Value::as_array).into_iter().flatten();
    let called = handlers.filter(|it| it.get("outcome").and_then(Value::as_str) != Some("removed"));
    let one = |handler: &Value| {
        let name = handler.get("name")?.as_str()?.to_owned();
        let took = handler.get("durationMs").and_then(Value::as_f64);
        Some(((point.to_owned(), name), took))
    };
    called.filter_map(one).collect()
}
