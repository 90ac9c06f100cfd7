//! The tool calls of the newest answer: how far each has come, and what all calls of the run add up to.
//!
//! A run's body can be dropped at any await. The ledger outlives it: [`CallLedger::close_open`] ends what the body left
//! open. Steps do not read it. They return what the next step needs.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use pintle::points::{ToolOutcome, Untrusted};

use super::{
    budget::{Budget, Exceeded},
    judge::Rejection,
};
use crate::{
    ToolCall, ToolResult,
    call::{FinalCall, ProposedCall},
    policy::Limits,
    store::CallEnd,
    untrusted::NOT_SCREENED,
};

/// The calls of the newest answer, until their results are stored.
#[derive(Default)]
pub(crate) struct CallLedger(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    calls: Vec<TrackedCall>,
    totals: CallTotals,
    budget: Budget,
}

/// What the calls of a run add up to.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTotals {
    /// The names of the tools, each once.
    pub(crate) tools_used: Vec<String>,
    pub(crate) total: u32,
    pub(crate) successful: u32,
    pub(crate) denials_in_a_row: u32,
    pub(crate) last_denial: String,
    /// Calls that the model got wrong.
    pub(crate) slips_in_a_row: u32,
    pub(crate) last_slip: String,
}

struct TrackedCall {
    call: FinalCall,
    /// When the tool was started, if it was.
    started: Option<Instant>,
    /// Its intent in the store, from right before it is written.
    intent_id: Option<String>,
    /// How it ended, once that is known.
    ended: Option<Arc<EndedCall>>,
    next_point: PointAfterCall,
    output: OutputTail,
}

/// The end of what a running call has written: a call that is stopped keeps it.
#[derive(Clone, Default)]
pub(crate) struct OutputTail(Arc<Mutex<String>>);

impl OutputTail {
    /// The most that is kept, from the end.
    const KEPT: usize = 16 * 1024;

    pub(crate) fn push(&self, text: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_str(text);
        if kept.len() > 2 * Self::KEPT {
            let cut = kept.ceil_char_boundary(kept.len() - Self::KEPT);
            kept.drain(..cut);
        }
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trim_end().to_owned()
    }
}

/// The point after a tool that ran which is fired next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointAfterCall {
    ToolEndWithPath,
    ToolPost,
    None,
}

/// A call that is over. The store keeps its `end` until the result is in the conversation.
#[derive(Debug, Clone)]
pub(crate) struct EndedCall {
    pub(crate) call: FinalCall,
    pub(crate) end: CallEnd,
}

impl EndedCall {
    pub(crate) fn is_ok(&self) -> bool {
        self.end.outcome == ToolOutcome::Ok
    }

    /// Where the text came from, if that is outside. Why a call was rejected, the judge says.
    pub(crate) fn outside(&self) -> Option<&str> {
        self.call.outside().filter(|_| self.end.outcome != ToolOutcome::Rejected)
    }

    /// What the model reads of a call that hooks had no chance to look at.
    pub(crate) fn result(&self) -> ToolResult {
        self.screened_result(Some(NOT_SCREENED.into()))
    }

    /// What the model reads. `suspicion` is what hooks at `tool.post` objected to.
    pub(crate) fn screened_result(&self, suspicion: Option<String>) -> ToolResult {
        // The model has to tell "it was not allowed" from "it did not work".
        let content = match self.end.outcome {
            ToolOutcome::Rejected if !self.end.text.starts_with("blocked") => {
                format!("Blocked: {}", self.end.text)
            }
            _ => self.end.text.clone(),
        };
        ToolResult::default()
            .tool_call_id(self.call.model_id().to_string())
            .tool_name(self.call.tool().to_string())
            .content(content)
            .is_error(!self.is_ok())
            .untrusted(
                self.outside().map(|from| Untrusted::default().from(from).suspicion(suspicion)),
            )
    }
}

/// One call's place in the ledger.
pub(crate) struct CallSlot<'l> {
    ledger: &'l CallLedger,
    index: usize,
}

/// A call as the ending finds it.
pub(crate) struct ClosedCall<'l> {
    pub(crate) slot: CallSlot<'l>,
    pub(crate) ended: Arc<EndedCall>,
    /// Whether it had no end before.
    pub(crate) was_open: bool,
    /// Its intent in the store, if it was about to be written.
    pub(crate) intent_id: Option<String>,
    /// The points that are still to be fired: none for a call that did not start.
    pub(crate) next_point: PointAfterCall,
}

impl CallLedger {
    /// Tracks the calls of a new answer.
    pub(crate) fn open(&self, calls: &[ToolCall]) -> Vec<CallSlot<'_>> {
        let track = |call: &ToolCall| TrackedCall {
            call: ProposedCall::from_model(call).freeze(),
            started: None,
            intent_id: None,
            ended: None,
            next_point: PointAfterCall::ToolEndWithPath,
            output: OutputTail::default(),
        };
        self.entries().calls = calls.iter().map(track).collect();
        (0..calls.len()).map(|index| CallSlot { ledger: self, index }).collect()
    }

    /// The results are stored: there is nothing left to close.
    pub(crate) fn stored(&self) {
        self.entries().calls.clear();
    }

    /// Ends the calls that have no end, and hands over all that are not stored, in their order.
    pub(crate) fn close_open(&self) -> Vec<ClosedCall<'_>> {
        let mut entries = self.entries();
        let close = |(index, tracked): (usize, &mut TrackedCall)| {
            let was_open = tracked.ended.is_none();
            let stopped = || Arc::new(stopped(tracked));
            let ended = tracked.ended.clone().unwrap_or_else(stopped);
            tracked.ended = Some(ended.clone());
            let next_point = match tracked.started {
                Some(_) => tracked.next_point,
                None => PointAfterCall::None,
            };
            let (slot, intent_id) = (CallSlot { ledger: self, index }, tracked.intent_id.clone());
            ClosedCall { slot, ended, was_open, intent_id, next_point }
        };
        entries.calls.iter_mut().enumerate().map(close).collect()
    }

    /// Counts a call that the model wants, and says whether the run's budgets have room for it.
    pub(crate) fn admit(&self, call: &ToolCall, limits: &Limits) -> Result<(), String> {
        self.entries().budget.admit(call, limits)
    }

    /// The budget that a call did not fit any more.
    pub(crate) fn exceeded(&self) -> Option<Exceeded> {
        self.entries().budget.exceeded
    }

    pub(crate) fn totals(&self) -> CallTotals {
        self.entries().totals.clone()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSlot<'_> {
    /// Counts the call, and a rejection of it.
    pub(crate) fn judged(&self, tool: &str, rejected: Option<&Rejection>) {
        let totals = &mut self.ledger.entries().totals;
        totals.total += 1;
        if !totals.tools_used.iter().any(|used| used == tool) {
            totals.tools_used.push(tool.to_string());
        }
        match rejected {
            Some(Rejection::Invalid(slip)) => {
                totals.slips_in_a_row += 1;
                totals.last_slip.clone_from(slip);
            }
            Some(denial) => {
                totals.denials_in_a_row += 1;
                totals.last_denial = denial.reason().to_string();
                totals.slips_in_a_row = 0;
            }
            None => (totals.denials_in_a_row, totals.slips_in_a_row) = (0, 0),
        }
    }

    /// The call is about to start, under this id in the store.
    pub(crate) fn intends(&self, intent_id: &str) {
        self.update(|tracked| tracked.intent_id = Some(intent_id.to_owned()));
    }

    /// The tool starts with these arguments.
    pub(crate) fn started(&self, call: &FinalCall) -> Instant {
        let now = Instant::now();
        self.update(|tracked| {
            tracked.call = call.clone();
            tracked.started = Some(now);
        });
        now
    }

    /// Where its output is kept while it runs.
    pub(crate) fn output(&self) -> OutputTail {
        let entries = self.ledger.entries();
        entries.calls.get(self.index).map(|tracked| tracked.output.clone()).unwrap_or_default()
    }

    /// The call has ended so.
    pub(crate) fn done(&self, ended: EndedCall) -> Arc<EndedCall> {
        let ended = Arc::new(ended);
        self.ledger.entries().totals.successful += u32::from(ended.is_ok());
        self.update(|tracked| tracked.ended = Some(ended.clone()));
        ended
    }

    /// The next point to fire, if the run is stopped now.
    pub(crate) fn comes_next(&self, point: PointAfterCall) {
        self.update(|tracked| tracked.next_point = point);
    }

    fn update(&self, change: impl FnOnce(&mut TrackedCall)) {
        if let Some(tracked) = self.ledger.entries().calls.get_mut(self.index) {
            change(tracked);
        }
    }
}

fn stopped(TrackedCall { call, started, output, .. }: &TrackedCall) -> EndedCall {
    let why = match started {
        Some(_) => {
            "The run was stopped while this call was running. It may have taken effect in part."
        }
        None => "The run was stopped before this call ran. It had no effect.",
    };
    let text = match output.text() {
        output if output.is_empty() => why.to_owned(),
        output => format!("{output}\n[{why}]"),
    };
    let duration_ms = started.map_or(0, millis_since);
    let end = CallEnd { outcome: ToolOutcome::Cancelled, text, duration_ms };
    EndedCall { call: call.clone(), end }
}

pub(crate) fn millis_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
