//! Counters since the gateway started, for `GET /metrics`.

use std::collections::{BTreeMap, HashMap};

use pintle_agent::{RunEvent, RunEventKind};

/// Numbers that only grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Runs that ended, by outcome.
    pub(crate) runs: BTreeMap<String, u64>,
    pub(crate) run_seconds: f64,
    /// Tool calls that ended, by outcome.
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) call_seconds: f64,
    /// Questions that were answered or expired, by outcome.
    pub(crate) approvals: BTreeMap<String, u64>,
    pub(crate) model_requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cost_usd: f64,
    /// When the runs under way began, in milliseconds since 1970.
    pub(crate) under_way: HashMap<String, u64>,
}

impl Figures {
    pub(crate) fn count(&mut self, event: &RunEvent) {
        let add =
            |to: &mut BTreeMap<String, u64>, key: &str| *to.entry(key.to_owned()).or_default() += 1;
        let (run_id, now) = (event.envelope.run_id.clone().unwrap_or_default(), event.envelope.ts);
        match &event.kind {
            RunEventKind::RunStart { .. } => {
                self.under_way.insert(run_id, now);
            }
            RunEventKind::Done { outcome, .. } => {
                add(&mut self.runs, outcome.as_str());
                let began = self.under_way.remove(&run_id).unwrap_or(now);
                self.run_seconds += now.saturating_sub(began) as f64 / 1e3;
            }
            RunEventKind::ToolEnd { outcome, duration_ms, .. } => {
                let name = serde_json::to_value(outcome).unwrap_or_default();
                add(&mut self.calls, name.as_str().unwrap_or_default());
                self.call_seconds += *duration_ms as f64 / 1e3;
            }
            RunEventKind::ApprovalResolved { outcome, .. } => add(&mut self.approvals, outcome),
            RunEventKind::Usage { usage, .. } => {
                self.model_requests += 1;
                self.input_tokens += usage.input_tokens;
                self.output_tokens += usage.output_tokens;
                self.cost_usd += usage.cost_usd.unwrap_or_default();
            }
            _ => {}
        }
    }
}
