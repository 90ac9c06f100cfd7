//! Step 12, on every exit: close what is open, say `done`, then fire what has to be fired.

use pintle::{
    Point,
    points::{AgentDone, ErrorRaised, SessionEnd},
};

use super::{Ending, Live, RunError, delegate, history, judge, tool_call};
use crate::{
    approver::ApprovalOutcome,
    event::{RunEventKind, RunOutcome},
};

pub(super) async fn close(live: &Live, mut ending: Ending) {
    let closed = close_what_is_open(live, ending.outcome).await;
    live.end_turn();
    if let (Err(error), None) = (closed, &ending.error) {
        ending = error.into();
    }
    if let Some(RunError { code, message }) = ending.error.clone() {
        live.emit(RunEventKind::Error { code, message });
    }
    live.emit(RunEventKind::Done { text: ending.text.clone(), outcome: ending.outcome });
    fire_last_points(live, ending).await;
    live.emitter.flush();
}

/// A body that was dropped leaves sub-agents, running calls and calls without a stored result behind (R6.5).
async fn close_what_is_open(live: &Live, outcome: RunOutcome) -> Result<(), RunError> {
    live.over.cancel();
    live.written().await;
    let open_approval = live.progress().open_approval.take();
    if let Some(approval) = open_approval {
        judge::resolved(live, approval, &ApprovalOutcome::Cancelled);
    }
    let children = std::mem::take(&mut live.progress().children);
    let mut first_problem = Ok(());
    for (child, run) in children {
        let (outcome, text) = delegate::stop(run).await;
        let told = delegate::end(live, &child, outcome, &text);
        let told = tool_call::not_for_ever(told).await.unwrap_or(Ok(()));
        first_problem = first_problem.and(told.map_err(|error| RunError::new("hook", error)));
    }
    first_problem = first_problem.and(tool_call::close_calls(live).await);
    // A body that came to its own end has stored every result: there is nothing to read the history for.
    match outcome {
        RunOutcome::Aborted | RunOutcome::MaxSeconds | RunOutcome::Error => {
            first_problem.and(history::repair(live).await)
        }
        _ => first_problem,
    }
}

/// Slow handlers here delay nothing the user sees: `done` was said.
async fn fire_last_points(live: &Live, ending: Ending) {
    let hooks = &live.agent().hooks;
    let done = || {
        let progress = live.progress();
        AgentDone {
            text: ending.text.clone(),
            turn_count: progress.rounds,
            successful_tool_calls: progress.successful_calls,
            total_tool_calls: progress.total_calls,
            tool_names: progress.tools_used.clone(),
            initial_prompt: live.ask.text.clone(),
            outcome: ending.outcome.as_str().to_string(),
        }
    };
    let mut error = ending.error.clone();
    if let Err(failed) = hooks.fire_void(&live.cx(), done).await {
        let failed = RunError::from(failed);
        live.emit(RunEventKind::Error {
            code: failed.code.clone(),
            message: failed.message.clone(),
        });
        error.get_or_insert(failed);
    }
    if let Some(RunError { code, message }) = error {
        let outcome = hooks.fire_gate(&live.cx(), || ErrorRaised { code, message }).await;
        live.heed(ErrorRaised::NAME, &outcome, None);
    }
    let reason = ending.outcome.as_str().to_string();
    let outcome = hooks.fire_gate(&live.cx(), || SessionEnd { reason }).await;
    live.heed(SessionEnd::NAME, &outcome, None);
}
