//! A sub-agent: the same loop, the same gates, its parent's zones; less, never more (R6.3).

use std::sync::Arc;

use futures_util::StreamExt;
use pintle::points::{SubagentEnded, SubagentSpawned, SubagentSpawning, ToolOutcome};
use pintle_policy::{ToolSpec, Zone};
use serde_json::{Value, json};

use super::{Run, RunContext, RunRequest, SessionRef, context::SubAgent, judge::PermittedCall};
use crate::event::{RunEventKind, RunOutcome};

/// The tool that every agent has. What a sub-agent does is judged call by call.
pub fn delegate_spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "task": { "type": "string", "minLength": 1, "description": "What to do, with all it needs to know." },
            "personality": { "type": "string", "description": "Who the sub-agent is to be." }
        },
        "required": ["task"],
        "additionalProperties": false
    });
    ToolSpec::new("delegate", "Hands a task to a sub-agent and returns its answer.", schema)
        .in_zone(Zone::Safe)
        .with_paths([])
        .with_aliases(["task", "agent", "subagent", "spawnagent"])
}

pub(super) async fn delegate(ctx: &RunContext, call: &PermittedCall) -> (ToolOutcome, String) {
    let limit = ctx.agent().limits.max_depth;
    if ctx.depth() >= limit {
        return (
            ToolOutcome::Error,
            format!("sub-agents may be {limit} deep, and this one is: do it yourself"),
        );
    }
    match spawn(ctx, call).await {
        Ok(finished) => finished,
        Err(error) => (ToolOutcome::Error, error),
    }
}

async fn spawn(ctx: &RunContext, call: &PermittedCall) -> Result<(ToolOutcome, String), String> {
    let hooks = &ctx.agent().hooks;
    let text = |key: &str| call.args().get(key).and_then(Value::as_str).map(str::to_string);
    let task = text("task").unwrap_or_default();
    let spawning = || SubagentSpawning::default().prompt(task.clone());
    let patch = hooks
        .fire_modifying(&ctx.call_cx(call.id()), spawning)
        .await
        .map_err(|error| error.to_string())?
        .patch;
    let personality = patch.personality_id.or_else(|| text("personality"));
    if let Some(asked) = &personality {
        ctx.agent().personalities.get(asked).map_err(|error| error.to_string())?;
    }
    let own = || ctx.opened().map(|opened| opened.personality.id.clone());
    let lineage = ctx.lineage_for_child().ok_or("the session is not open")?;
    let key = format!("sub:{}:{}", lineage.parent_session, call.id());
    let mut run = ctx.handle().run(RunRequest {
        id: None,
        session: SessionRef::New(key),
        platform: ctx.request.platform.clone(),
        text: patch.prompt.unwrap_or(task),
        stranger: None,
        personality: personality.or_else(own),
        lineage: Some(lineage),
        resumes: false,
        compacts: false,
        claim: Arc::default(),
    });

    // The child says who it is in its first event; from then on it is ours to end.
    let mut child = String::new();
    let mut early = None;
    while let Some(event) = run.next().await {
        if let (Some(session), true) =
            (&event.envelope.session_id, event.envelope.run_id.as_deref() == Some(run.id()))
        {
            child.clone_from(session);
            early = Some(event.kind);
            break;
        }
        if let RunEventKind::Done { .. } = event.kind {
            early = Some(event.kind);
            break;
        }
    }
    if child.is_empty() {
        return Err(match early {
            Some(RunEventKind::Done { text, .. }) => format!("the sub-agent did not start: {text}"),
            _ => "the sub-agent did not start".into(),
        });
    }
    let (session_id, tool_call_id) = (child.clone(), call.id().to_string());
    ctx.state().children.push(SubAgent { session_id, tool_call_id, run });
    let spawned = || SubagentSpawned::default().child_session_id(child.clone());
    let told = hooks.fire_void(&ctx.call_cx(call.id()), spawned).await;
    let told = told.map_err(|error| error.to_string());
    let (outcome, text) = match told {
        Err(error) => (RunOutcome::Error, error),
        Ok(()) => wait(ctx, &child, early).await,
    };
    end(ctx, &child, call.id(), outcome, &text).await?;
    match outcome {
        RunOutcome::EndTurn => Ok((ToolOutcome::Ok, text)),
        RunOutcome::Aborted => Ok((ToolOutcome::Cancelled, text)),
        other => Ok((
            ToolOutcome::Error,
            format!("the sub-agent ended with `{}`: {text}", other.as_str()),
        )),
    }
}

/// Reads the child to its `done`. The run stays in the parent's progress meanwhile: if the parent is stopped here,
/// its ending stops the child too.
async fn wait(ctx: &RunContext, child: &str, early: Option<RunEventKind>) -> (RunOutcome, String) {
    let mut next = early;
    loop {
        match next {
            Some(RunEventKind::Done { text, outcome }) => return (outcome, text),
            Some(RunEventKind::Usage { usage, .. }) => {
                let mut state = ctx.state();
                state.unpriced |= usage.cost_usd.is_none();
                state.usage += usage;
            }
            _ => {}
        }
        let event = std::future::poll_fn(|cx| {
            let mut state = ctx.state();
            match state.children.iter_mut().find(|it| it.session_id == child) {
                Some(sub_agent) => sub_agent.run.poll_next_unpin(cx),
                None => std::task::Poll::Ready(None),
            }
        });
        match event.await {
            None => return (RunOutcome::Error, "the sub-agent is gone".into()),
            // A grandchild's `done` is not the child's.
            Some(event)
                if event.envelope.session_id.as_deref() != Some(child)
                    && matches!(event.kind, RunEventKind::Done { .. }) =>
            {
                next = None
            }
            Some(event) => next = Some(event.kind),
        }
    }
}

/// Stops a child and reads it to its `done`; its last handlers are not waited for.
pub(super) async fn stop(mut run: Run) -> (RunOutcome, String) {
    run.cancel();
    while let Some(event) = run.next().await {
        if let RunEventKind::Done { text, outcome } = event.kind
            && event.envelope.run_id.as_deref() == Some(run.id())
        {
            return (outcome, text);
        }
    }
    (RunOutcome::Error, "the sub-agent is gone".into())
}

/// However it ended, it is said that it ended.
pub(super) async fn end(
    ctx: &RunContext,
    child: &str,
    tool_call_id: &str,
    outcome: RunOutcome,
    result: &str,
) -> Result<(), String> {
    ctx.state().children.retain(|it| it.session_id != child);
    let ended = || {
        SubagentEnded::default()
            .child_session_id(child.to_string())
            .result(result.to_string())
            .outcome(outcome.as_str().to_string())
    };
    let told = ctx.agent().hooks.fire_void(&ctx.call_cx(tool_call_id), ended).await;
    told.map_err(|error| error.to_string())
}
