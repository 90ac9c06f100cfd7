//! What would happen to a call, without running it.

use std::sync::{Arc, Mutex, PoisonError};

use pintle::{
    Cx, Envelope, FireRecord, HandlerOutcome, Point, RecordSink,
    points::{BeforeToolCall, ToolPre},
};
use serde_json::Value;

use super::{
    new_id, now_ms,
    static_checks::{Finding, JudgedStep, static_checks},
};
use crate::{Agent, call::ProposedCall, personality::UnknownPersonality};

impl Agent {
    /// Judges a call step by step as a run would, and runs nothing. Hooks are fired if `with_hooks`: their answer is a part of
    /// the judgement.
    ///
    /// # Errors
    /// When there is no such personality.
    pub async fn explain(
        &self,
        personality: Option<&str>,
        tool: &str,
        args: Value,
        with_hooks: bool,
    ) -> Result<Vec<JudgedStep>, UnknownPersonality> {
        let agent = &self.inner;
        let personality =
            agent.personalities.get(personality.unwrap_or(agent.personalities.default_id()))?;
        let envelope = Envelope {
            personality_id: Some(personality.id.clone()),
            platform: "cli".into(),
            trace_id: new_id(),
            ts: now_ms(),
            ..Envelope::default()
        };
        let records = Arc::new(Records::default());
        let cx = Cx::new(envelope, personality.plugin_filter()).observed_by(records.clone());
        let mut trail = Vec::new();

        let mut call = ProposedCall { id: "explain".into(), tool: tool.to_string(), args };
        let before = || {
            BeforeToolCall::default()
                .tool_call_id(call.id.clone())
                .tool_name(call.tool.clone())
                .args(call.args.clone())
        };
        // Without hooks an empty registry answers.
        let none = pintle::Hooks::new();
        let hooks = if with_hooks { &agent.hooks } else { &none };
        let merged = hooks.fire_modifying(&cx, before).await;
        self.tell(&records, &mut trail);
        let denial = match &merged {
            Ok(merged) => merged.denial(),
            Err(error) => Some(error.to_string()),
        };
        if let Some(detail) = denial {
            trail.push(JudgedStep {
                step: BeforeToolCall::NAME,
                finding: Finding::Stops,
                detail,
                source: None,
            });
            return Ok(trail);
        }
        if let Some(args) = merged.ok().and_then(|merged| merged.patch.args) {
            call.args = args;
        }

        let call = call.freeze();
        let Ok(cleared) = static_checks(agent, &[personality], &call, &mut trail) else {
            return Ok(trail);
        };
        let mut outcome = hooks.fire_gate(&cx, || cleared.tool_pre(&call)).await;
        let questions = outcome.take_questions();
        self.tell(&records, &mut trail);
        if outcome.blocked().is_none() {
            let need = cleared.approval_need(questions);
            let covered = match need.by_zone_alone {
                true => cleared.covered_by(&call, agent.approver.rules(None).await),
                false => None,
            };
            let (finding, detail) = match &covered {
                Some(rule) => (Finding::Passes, format!("covered by {rule}")),
                None if need.reasons.is_empty() => (Finding::Passes, "no question".to_string()),
                None => (Finding::Asks, need.reasons.join("; ")),
            };
            // Nothing but the zone asked, and the rule answers.
            for step in trail.iter_mut().filter(|_| covered.is_some()) {
                step.finding = Finding::Passes;
            }
            let source = covered.and_then(|rule| rule.written);
            trail.push(JudgedStep { step: "approval", finding, detail, source });
            let offered = cleared.offered_rule(&call).filter(|_| finding == Finding::Asks);
            if let Some(rule) = offered.filter(|_| need.by_zone_alone) {
                let detail = rule.to_string();
                trail.push(JudgedStep {
                    step: "rule",
                    finding: Finding::Passes,
                    detail,
                    source: None,
                });
            }
        }
        Ok(trail)
    }

    /// What each handler said, and where it is written down.
    fn tell(&self, records: &Records, trail: &mut Vec<JudgedStep>) {
        let sources = self.inner.hooks.list();
        for record in std::mem::take(&mut *records.0.lock().unwrap_or_else(PoisonError::into_inner))
        {
            for handler in &record.handlers {
                let source = sources
                    .iter()
                    .find(|info| info.point == record.point && info.name == handler.name)
                    .map(|info| info.source.to_string());
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
                let detail = format!("`{}` {said}{ignored} ({took})", handler.name);
                trail.push(JudgedStep { step: record.point, finding, detail, source });
            }
        }
    }
}

#[derive(Default)]
struct Records(Mutex<Vec<Arc<FireRecord>>>);

impl RecordSink for Records {
    fn record(&self, record: Arc<FireRecord>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
