//! Step 12, on every exit: close what is open, say `done`, then fire what has to be fired.

use pintle::{
    Point,
    points::{AgentDone, ErrorRaised, SessionEnd},
};

use super::{
    Ending, RunContext, RunError, approval, context::SubAgent, delegate, history, tool_call,
};
use crate::{
    approver::ApprovalOutcome,
    event::{RunEventKind, RunOutcome},
};

pub(super) async fn close(ctx: &RunContext, mut ending: Ending) {
    let closed = close_what_is_open(ctx, ending.outcome).await;
    ctx.end_turn();
    if let (Err(error), None) = (closed, &ending.error) {
        ending = error.into();
    }
    if let Some(RunError { code, message }) = ending.error.clone() {
        ctx.emit(RunEventKind::Error { code, message });
    }
    ctx.emit(RunEventKind::Done { text: ending.text.clone(), outcome: ending.outcome });
    fire_last_points(ctx, ending).await;
    ctx.emitter.flush();
}

/// The run waits for a person: the session is given back as it is, and no last point fires.
pub(super) async fn park(ctx: &RunContext) {
    ctx.over.cancel();
    ctx.written().await;
    ctx.calls.stored();
    ctx.end_turn();
    ctx.emitter.flush();
}

/// A body that was dropped leaves sub-agents, running calls and calls without a stored result behind (R6.5).
async fn close_what_is_open(ctx: &RunContext, outcome: RunOutcome) -> Result<(), RunError> {
    ctx.over.cancel();
    ctx.written().await;
    let open_approvals = std::mem::take(&mut ctx.state().open_approvals);
    for approval in open_approvals {
        if let Some(claim) = ctx.claim() {
            // It expires by itself when the store cannot be reached.
            let reason = "the run was stopped";
            let _ = ctx.agent().store.cancel_approval(&claim, &approval, reason).await;
        }
        approval::resolved(ctx, approval, &ApprovalOutcome::Cancelled);
    }
    let children = std::mem::take(&mut ctx.state().children);
    let mut first_problem = Ok(());
    for SubAgent { session_id, tool_call_id, run } in children {
        let (outcome, text) = delegate::stop(run).await;
        let told = delegate::end(ctx, &session_id, &tool_call_id, outcome, &text);
        let told = tool_call::within_grace(told).await.unwrap_or(Ok(()));
        first_problem = first_problem.and(told.map_err(|error| RunError::new("hook", error)));
    }
    let (results, closed) = tool_call::close_calls(ctx).await;
    first_problem = first_problem.and(closed);
    // A body that came to its own end has stored every result: there is nothing to read the history for.
    match outcome {
        RunOutcome::Aborted | RunOutcome::MaxSeconds | RunOutcome::Error => {
            first_problem.and(history::repair(ctx, results).await)
        }
        _ => first_problem,
    }
}

/// Slow handlers here delay nothing the user sees: `done` was said.
async fn fire_last_points(ctx: &RunContext, ending: Ending) {
    let hooks = &ctx.agent().hooks;
    let done = || {
        let (rounds, calls) = (ctx.state().rounds, ctx.calls.totals());
        AgentDone::default()
            .text(ending.text.clone())
            .turn_count(rounds)
            .successful_tool_calls(calls.successful)
            .total_tool_calls(calls.total)
            .tool_names(calls.tools_used)
            .initial_prompt(ctx.request.text.clone())
            .outcome(ending.outcome.as_str().to_string())
    };
    let mut error = ending.error.clone();
    if let Err(failed) = hooks.fire_void(&ctx.hook_cx(), done).await {
        let failed = RunError::from(failed);
        ctx.emit(RunEventKind::Error {
            code: failed.code.clone(),
            message: failed.message.clone(),
        });
        error.get_or_insert(failed);
    }
    if let Some(RunError { code, message }) = error {
        let outcome = hooks
            .fire_gate(&ctx.hook_cx(), || ErrorRaised::default().code(code).message(message))
            .await;
        ctx.apply_verdicts(ErrorRaised::NAME, &outcome.verdicts, None);
    }
    let reason = ending.outcome.as_str().to_string();
    let outcome = hooks.fire_gate(&ctx.hook_cx(), || SessionEnd::default().reason(reason)).await;
    ctx.apply_verdicts(SessionEnd::NAME, &outcome.verdicts, None);
}
