//! The steps that a judgement took, and the one that decided.

use std::sync::{Arc, Mutex, PoisonError};

use pintle::{
    Decision, FireRecord, HandlerOutcome, HandlerVerdict, Hooks, Point, RecordSink, points::ToolPre,
};
use serde::Serialize;

use super::static_checks::{Finding, JudgedStep};

/// What the judge says of a call before a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallVerdict {
    /// It runs.
    Run,
    /// It runs if a person agrees.
    Ask,
    /// It does not run.
    Refuse,
}

impl CallVerdict {
    /// What the steps of a judgement come to.
    pub fn of(steps: &[JudgedStep]) -> Self {
        let found = |finding| steps.iter().any(|step| step.finding == finding && !step.shadow);
        match (found(Finding::Stops), found(Finding::Asks)) {
            (true, _) => Self::Refuse,
            (false, true) => Self::Ask,
            (false, false) => Self::Run,
        }
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}

/// A call that was judged: the verdict, and the rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedCall {
    /// What the judge says.
    pub verdict: CallVerdict,
    /// The step that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<JudgedStep>,
    /// The other steps that did not just pass, and those in shadow mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<JudgedStep>,
}

impl JudgedCall {
    /// What the steps of a judgement come to.
    pub fn of(steps: &[JudgedStep]) -> Self {
        let verdict = CallVerdict::of(steps);
        let wanted = match verdict {
            CallVerdict::Run => Finding::Passes,
            CallVerdict::Ask => Finding::Asks,
            CallVerdict::Refuse => Finding::Stops,
        };
        let fits = |step: &&JudgedStep| step.finding == wanted && !step.shadow;
        // A call runs because its zone does, or because a rule covers it, which is looked for last.
        let decided_by = match verdict {
            CallVerdict::Run => steps
                .iter()
                .filter(fits)
                .rfind(|step| matches!(step.step, "zone" | RULE) && step.detail != NO_QUESTION),
            _ => steps.iter().find(fits),
        };
        let is_told = |step: &&JudgedStep| step.shadow || step.finding != Finding::Passes;
        let is_other = |step: &&JudgedStep| !decided_by.is_some_and(|it| std::ptr::eq(it, *step));
        let also = steps.iter().filter(is_told).filter(is_other).cloned().collect();
        Self { verdict, decided_by: decided_by.cloned(), also }
    }
}

/// The step at which standing rules are looked at.
pub(super) const RULE: &str = "approval";
/// What that step says where there is nothing to approve.
pub(super) const NO_QUESTION: &str = "no question";

/// The steps so far. With a witness, also what every hook said that let the call pass.
#[derive(Default)]
pub(super) struct Trail {
    pub(super) steps: Vec<JudgedStep>,
    witness: Option<Arc<Fires>>,
}

impl Trail {
    pub(super) fn witnessed(witness: Arc<Fires>) -> Self {
        Self { steps: Vec::new(), witness: Some(witness) }
    }

    /// Adds what the hooks of a fire said, and where each is written down.
    pub(super) fn hooks_said(
        &mut self,
        hooks: &Hooks,
        point: &'static str,
        said: &[HandlerVerdict],
    ) {
        let mut steps = match &self.witness {
            Some(witness) => witness.steps(),
            None => said.iter().filter_map(|said| step(point, said)).collect(),
        };
        if !steps.is_empty() {
            let sources = hooks.list();
            for step in &mut steps {
                let is_it = |it: &&pintle::HandlerInfo| {
                    it.point == step.step && Some(&*it.name) == step.hook.as_deref()
                };
                step.source = sources.iter().find(is_it).map(|it| it.source.to_string());
            }
        }
        self.steps.append(&mut steps);
    }
}

fn step(point: &'static str, said: &HandlerVerdict) -> Option<JudgedStep> {
    let finding = match said.decision {
        Decision::Allow => return None,
        Decision::Ask => Finding::Asks,
        Decision::Block => Finding::Stops,
    };
    let hook = Some(said.handler.to_string());
    Some(JudgedStep { hook, ..JudgedStep::new(point, finding, said.reason.clone(), None) })
}

/// Keeps the records of fires.
#[derive(Default)]
pub(super) struct Fires(Mutex<Vec<Arc<FireRecord>>>);

impl RecordSink for Fires {
    fn record(&self, record: Arc<FireRecord>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

impl Fires {
    /// What each handler said in the fires since the last look.
    fn steps(&self) -> Vec<JudgedStep> {
        let records = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut steps = Vec::new();
        for record in records {
            for handler in &record.handlers {
                let binds = record.point == ToolPre::NAME;
                let (finding, said) = match &handler.outcome {
                    HandlerOutcome::Blocked(reason) => {
                        (Finding::Stops, format!("blocks: {reason}"))
                    }
                    HandlerOutcome::Asked(reason) => (Finding::Asks, format!("asks: {reason}")),
                    HandlerOutcome::Failed(failure) if binds => {
                        (Finding::Stops, failure.to_string())
                    }
                    HandlerOutcome::Failed(failure) => (Finding::Passes, failure.to_string()),
                    other => (Finding::Passes, other.name().to_string()),
                };
                let ignored = match handler.notes.as_slice() {
                    [] => String::new(),
                    notes => format!(" ({})", notes.join("; ")),
                };
                let took = handler.duration.as_millis();
                let took = if took == 0 { "<1 ms".to_owned() } else { format!("{took} ms") };
                let shadow = if handler.shadow { " in shadow mode" } else { "" };
                let detail = format!("`{}`{shadow} {said}{ignored} ({took})", handler.name);
                let hook = Some(handler.name.to_string());
                let step = JudgedStep::new(record.point, finding, detail, None);
                steps.push(JudgedStep { hook, shadow: handler.shadow, ..step });
            }
        }
        steps
    }
}
