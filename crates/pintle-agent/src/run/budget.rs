//! Loop budgets: how many calls a run may make, and how many in a row may be the same. A call beyond them does not run, and
//! the run ends with the budget as its reason.

use super::Ending;
use crate::{ToolCall, args_hash, event::RunOutcome, policy::Limits};

/// What a run has used of its budgets.
#[derive(Default)]
pub(crate) struct Budget {
    calls: u32,
    /// The newest call (tool, hash of the arguments), and how often it came in a row.
    newest: Option<(String, String)>,
    in_a_row: u32,
    pub(crate) exceeded: Option<Exceeded>,
}

/// A budget that a call did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Calls,
    IdenticalCalls,
}

impl Budget {
    /// Counts the call; or says why it does not run.
    pub(crate) fn admit(&mut self, call: &ToolCall, limits: &Limits) -> Result<(), String> {
        let newest = (call.name.clone(), args_hash(&call.input));
        self.in_a_row = match self.newest.as_ref() == Some(&newest) {
            true => self.in_a_row.saturating_add(1),
            false => 1,
        };
        self.newest = Some(newest);
        self.calls = self.calls.saturating_add(1);
        let exceeded = if self.calls > limits.max_calls {
            Exceeded::Calls
        } else if self.in_a_row > limits.max_identical_calls {
            Exceeded::IdenticalCalls
        } else {
            return Ok(());
        };
        self.exceeded.get_or_insert(exceeded);
        Err(exceeded.reason(limits))
    }
}

impl Exceeded {
    fn reason(self, limits: &Limits) -> String {
        match self {
            Self::Calls => {
                format!("it made {} tool calls, which is its limit", limits.max_calls)
            }
            Self::IdenticalCalls => {
                let most = limits.max_identical_calls;
                format!("it made the same tool call {most} times in a row, which is its limit")
            }
        }
    }

    pub(crate) fn ending(self, limits: &Limits) -> Ending {
        let outcome = match self {
            Self::Calls => RunOutcome::MaxToolCalls,
            Self::IdenticalCalls => RunOutcome::RepeatedCalls,
        };
        Ending::new(outcome, format!("The run was stopped: {}.", self.reason(limits)))
    }
}
