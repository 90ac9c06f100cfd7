//! What would happen to a call, without running it: one that somebody thinks of, or one that was recorded.

use std::sync::Arc;

use pintle::{
    Cx, Envelope, Hooks, PluginFilter, Point, now_ms,
    points::{BeforeToolCall, Untrusted},
};
use pintle_sandbox::Grant;
use serde::Deserialize;
use serde_json::Value;

use super::{
    judge::{Bench, weigh},
    new_id,
    opening::union,
    static_checks::{Finding, JudgedStep},
    trail::{CallVerdict, Fires, JudgedCall, Trail},
};
use crate::{
    Agent,
    call::{FinalCall, ProposedCall},
    personality::{Personality, UnknownPersonality},
};

/// A call as a run judged it, from its event `judged`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCall {
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its frozen arguments.
    pub args: Value,
    /// What a person was asked to grant to a second attempt.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// The personalities of the agents that delegated to this one, outermost first.
    #[serde(default)]
    pub ancestors: Vec<String>,
    /// What the conversation had read from outside.
    #[serde(default)]
    pub untrusted: Option<Untrusted>,
    /// Where and when.
    #[serde(flatten)]
    pub envelope: Envelope,
}

impl Agent {
    /// Judges a call step by step as a run would, and runs nothing. Hooks are fired if `with_hooks`: their answer is a part of
    /// the judgement. `untrusted` is what the conversation is to have read from outside before.
    ///
    /// # Errors
    /// When there is no such personality.
    pub async fn explain(
        &self,
        personality: Option<&str>,
        tool: &str,
        args: Value,
        with_hooks: bool,
        untrusted: Option<Untrusted>,
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
        let fires = Arc::new(Fires::default());
        let cx = Cx::new(envelope, personality.plugin_filter()).observed_by(fires.clone());
        let mut trail = Trail::witnessed(fires);
        // Without hooks an empty registry answers.
        let none = Hooks::new();
        let hooks = if with_hooks { &agent.hooks } else { &none };
        let lineage = [personality];
        let bench = Bench { agent, hooks, cx: &cx, lineage: &lineage, session: None, untrusted };

        let mut call = ProposedCall { id: "explain".into(), tool: tool.to_string(), args };
        match before_tool_call(&bench, &call, &mut trail).await {
            Some(args) => call.args = args,
            None => return Ok(trail.steps),
        }
        let call = call.freeze();
        let (_, weighed) = weigh(&bench, &call, &mut trail).await;
        let mut steps = trail.steps;
        if let Ok((cleared, need)) = weighed
            && CallVerdict::of(&steps) == CallVerdict::Ask
            && need.by_zone_alone
            && let Some(rule) = cleared.offered_rule(&call)
        {
            steps.push(JudgedStep::new("rule", Finding::Passes, rule.to_string(), None));
        }
        Ok(steps)
    }

    /// Judges a call that a run has judged before, with the rules of this agent. The arguments are those that were frozen
    /// then: `before_tool_call` is fired and may refuse them, and what it would rewrite now is left out.
    ///
    /// # Errors
    /// When there is no such personality.
    pub async fn judge_again(&self, call: &RecordedCall) -> Result<JudgedCall, UnknownPersonality> {
        let agent = &self.inner;
        let known = |id: &str| agent.personalities.get(id);
        let own = call.envelope.personality_id.as_deref();
        let own = known(own.unwrap_or(agent.personalities.default_id()))?;
        let mut lineage =
            call.ancestors.iter().map(|id| known(id)).collect::<Result<Vec<_>, _>>()?;
        lineage.push(own);
        let plugins = lineage.iter().copied().map(Personality::plugin_filter);
        let plugins = plugins.fold(PluginFilter::BuiltinsOnly, |all, its| union(&all, &its));
        let cx = Cx::new(call.envelope.clone(), plugins);
        let session = call.envelope.session_id.as_deref();
        let (hooks, untrusted) = (&agent.hooks, call.untrusted.clone());
        let bench = Bench { agent, hooks, cx: &cx, lineage: &lineage, session, untrusted };
        let mut trail = Trail::default();
        let (id, tool) = (call.tool_call_id.clone(), call.tool_name.clone());
        let proposed = ProposedCall { id, tool, args: call.args.clone() };
        if before_tool_call(&bench, &proposed, &mut trail).await.is_some() {
            let call = FinalCall::recorded(proposed, call.grants.clone());
            let _ = weigh(&bench, &call, &mut trail).await;
        }
        Ok(JudgedCall::of(&trail.steps))
    }
}

/// The arguments as `before_tool_call` leaves them; `None` when it refuses the call.
async fn before_tool_call(
    bench: &Bench<'_, '_>,
    call: &ProposedCall,
    trail: &mut Trail,
) -> Option<Value> {
    let before = || {
        BeforeToolCall::default()
            .tool_call_id(call.id.clone())
            .tool_name(call.tool.clone())
            .args(call.args.clone())
    };
    let merged = bench.hooks.fire_modifying(bench.cx, before).await;
    trail.hooks_said(bench.hooks, BeforeToolCall::NAME, &[]);
    let refused = match merged {
        Ok(merged) => match merged.denial() {
            None => return Some(merged.patch.args.unwrap_or_else(|| call.args.clone())),
            Some(reason) => refusal(reason, merged.winner("error")),
        },
        Err(error) => refusal(error.to_string(), None),
    };
    trail.steps.push(refused);
    None
}

/// The step of a call that `before_tool_call` refuses.
pub(super) fn refusal(reason: String, hook: Option<&str>) -> JudgedStep {
    let step = JudgedStep::new(BeforeToolCall::NAME, Finding::Stops, reason, None);
    JudgedStep { hook: hook.map(str::to_owned), ..step }
}
