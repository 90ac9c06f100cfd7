//! What runs did, in memory.

use std::collections::HashMap;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{MemoryStore, Tables};
use crate::store::{
    FiredHooks, Record, RecordLoss, Records, Retention, RunEnd, Stored, StoredEvent, StoredRun,
};

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

    fn runs_since(&self, since: u64) -> Stored<'_, Vec<StoredRun>> {
        self.read(|tables| {
            tables.runs.iter().filter(|run| run.started_at >= since).cloned().collect()
        })
    }

    fn forget_runs(&self, limit: Retention) -> Stored<'_, u64> {
        let mut tables = self.tables();
        let bytes = |events: &Vec<StoredEvent>| events.iter().map(|it| it.json.len() as u64).sum();
        let size = |run: &StoredRun, events: &HashMap<String, Vec<StoredEvent>>| {
            events.get(&run.run_id).map_or(0, bytes)
        };
        let Tables { runs, events, .. } = &mut *tables;
        let mut kept: u64 = runs.iter().map(|run| size(run, events)).sum();
        let before = runs.len();
        runs.retain(|run| {
            let is_old = run.started_at < limit.began_before;
            let goes = is_old || (kept > limit.max_bytes && run.ended_at.is_some());
            if goes {
                kept -= size(run, events);
                events.remove(&run.run_id);
            }
            !goes
        });
        let gone = (before - runs.len()) as u64;
        std::future::ready(Ok(gone)).boxed()
    }

    fn fired_hooks(&self, since: u64) -> Stored<'_, FiredHooks> {
        self.read(|tables| {
            let mut fired = FiredHooks::new();
            let mut events: Vec<_> = tables.events.values().flatten().collect();
            events.sort_by_key(|event| event.at);
            for event in events {
                for (key, handler) in handlers(event) {
                    let calls = fired.entry(key).or_default();
                    if event.at >= since {
                        let outcome = handler.get("outcome").and_then(Value::as_str);
                        let took = handler.get("durationMs").and_then(Value::as_f64);
                        let is_shadow = handler.get("shadow") == Some(&Value::Bool(true));
                        calls.add(outcome.unwrap_or_default(), took, is_shadow);
                    }
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
            personality: new.personality.clone(),
            judged_by: new.judged_by.clone(),
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

/// The handlers of a fire by point and name, with what came of each call.
fn handlers(event: &StoredEvent) -> Vec<((String, String), Value)> {
    let fired: Value = match event.kind.as_str() {
        "hook.fired" => serde_json::from_str(&event.json).unwrap_or_default(),
        _ => return Vec::new(),
    };
    let Some(point) = fired.get("point").and_then(Value::as_str) else { return Vec::new() };
    let handlers = fired.get("handlers").and_then(Value::as_array).into_iter().flatten();
    let called = handlers.filter(|it| it.get("outcome").and_then(Value::as_str) != Some("removed"));
    let one = |handler: &Value| {
        let name = handler.get("name")?.as_str()?.to_owned();
        Some(((point.to_owned(), name), handler.clone()))
    };
    called.filter_map(one).collect()
}
