//! Where the events of a run go.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pintle::{FireRecord, RecordSink};
use tokio::sync::mpsc;

use super::context::Lineage;
use crate::{
    agent::{Inner, Observer},
    event::{RunEvent, RunEventKind},
};

/// Where a run's events go: to its caller, the agent's observer, and for a sub-agent the parent's caller.
pub(crate) struct Emitter {
    caller: mpsc::UnboundedSender<Vec<RunEvent>>,
    observer: Option<Observer>,
    parent: Option<Arc<Emitter>>,
    /// Fires come in bursts, and waking the caller for each would cost more than the handlers do: they are sent
    /// together, with the next event of another kind.
    held: Mutex<Vec<RunEvent>>,
}

impl Emitter {
    pub(crate) fn new(
        caller: mpsc::UnboundedSender<Vec<RunEvent>>,
        agent: &Inner,
        lineage: Option<&Lineage>,
    ) -> Self {
        let observer = agent.observer.clone();
        let parent = lineage.map(|lineage| lineage.emitter.clone());
        Self { caller, observer, parent, held: Mutex::default() }
    }

    pub(crate) fn emit(&self, event: RunEvent) {
        self.hold(event);
        self.flush();
    }

    /// Sends what was held back. To be called before the run waits for anything but a handler.
    pub(crate) fn flush(&self) {
        let held = std::mem::take(&mut *self.held());
        if held.is_empty() {
            return;
        }
        let mut above = self.parent.as_ref();
        while let Some(parent) = above {
            parent.flush();
            let _ = parent.caller.send(held.clone());
            above = parent.parent.as_ref();
        }
        // The caller may have stopped listening; the run ends in order all the same.
        let _ = self.caller.send(held);
    }

    fn hold(&self, event: RunEvent) {
        if let Some(observer) = &self.observer {
            // Who only watches cannot bring a run down.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(&event)));
        }
        self.held().push(event);
    }

    /// Holds the event of a fire, and the call that the fire is about.
    pub(super) fn fired(&self, record: Arc<FireRecord>, tool_call_id: Option<&str>) {
        let FireRecord { point, model, envelope, handlers, .. } = Arc::unwrap_or_clone(record);
        if !handlers.is_empty() {
            let tool_call_id = tool_call_id.map(str::to_string);
            let kind = RunEventKind::HookFired { point, model, handlers, tool_call_id };
            self.hold(RunEvent { kind, envelope });
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<RunEvent>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        self.flush();
    }
}

impl RecordSink for Emitter {
    fn record(&self, record: Arc<FireRecord>) {
        self.fired(record, None);
    }
}
