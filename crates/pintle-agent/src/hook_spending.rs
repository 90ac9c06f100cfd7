//! What hooks spend on models of their own, for the limit on a run's cost.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use pintle::points::LlmUsage;

/// Where a hook notes the cost of its own model requests. A clone is the same note.
///
/// A hook's answer cannot carry it, so the hook and the agent share this: see [`AgentBuilder::hook_spending`](crate::AgentBuilder::hook_spending).
/// The run takes it up before its next model request: it is in the run's usage, and in `maxCostUsd`.
#[derive(Debug, Clone, Default)]
pub struct HookSpending(Arc<Mutex<HashMap<String, LlmUsage>>>);

impl HookSpending {
    /// Notes what a request cost that was made on behalf of this run.
    pub fn add(&self, run_id: &str, usage: LlmUsage) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match runs.get_mut(run_id) {
            Some(sum) => {
                // A sum with an unknown part is unknown.
                let known = sum.cost_usd.is_some() && usage.cost_usd.is_some();
                *sum += usage;
                sum.cost_usd = sum.cost_usd.filter(|_| known);
            }
            None => {
                runs.insert(run_id.to_owned(), usage);
            }
        }
    }

    pub(crate) fn take(&self, run_id: &str) -> Option<LlmUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run_id)
    }
}
