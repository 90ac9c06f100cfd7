//! Steps 9 to 11: what happens on a tool call, in this order: [`amend`](super::amend), which freezes it;
//! [`judge`](super::judge), which makes its permit; [`execute`](super::execute); [`after_call`](super::after_call).

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_util::future::join_all;
use pintle::{
    Advice, Point,
    points::{ToolOutcome, ToolPost, Untrusted},
};
use pintle_sandbox::Grant;
use tokio::sync::oneshot;

use super::{
    RunContext, RunError,
    after_call::{after_tool_call, emit_end, finish, tool_end_with_path, tool_post},
    amend::amend,
    execute::{Executed, execute},
    interrupted::Progress,
    judge::{Judgement, PermittedCall, Rejected, Rejection, judge, permit},
    ledger::{CallSlot, ClosedCall, EndedCall, PointAfterCall, millis_since},
};
use crate::{
    Message, ToolCall, ToolResult,
    call::{FinalCall, ProposedCall},
    event::{CallMade, RunEventKind},
    llm::{FinishReason, LlmResponse},
    store::{Begun, CallEnd},
};

/// How long observers may take over the end of a call when the run is being stopped.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// One result per call, in the calls' order, stored in one message (R6.1). `progress` is how far an earlier run of this
/// answer has come with each call.
pub(super) async fn handle_all(
    ctx: &RunContext,
    response: &LlmResponse,
    progress: Vec<Progress>,
) -> Result<Vec<ToolResult>, RunError> {
    if response.tool_calls.is_empty() {
        return Ok(Vec::new());
    }
    let slots = ctx.calls.open(&response.tool_calls);
    let calls = response.tool_calls.iter().map(CallMade::of).collect();
    ctx.emit(RunEventKind::ToolCalls { calls, text: response.text.clone() });
    let mut judgements = Vec::with_capacity(response.tool_calls.len());
    let mut progress = progress.into_iter();
    for call in &response.tool_calls {
        judgements.push(match progress.next() {
            Some(Progress::Ended(end, grants)) => Step::Over(end, grants),
            Some(Progress::NotRun) | None => {
                Step::Next(judge_call(ctx, call, response.finish).await)
            }
        });
    }
    // Every call is judged before the first question: a person sees all that need an answer together.
    let permits = judgements.into_iter().map(async |step| match step {
        Step::Next(Ok(judgement)) => Step::Next(permit(ctx, judgement).await),
        Step::Next(Err(rejected)) => Step::Next(Err(rejected)),
        Step::Over(end, grants) => Step::Over(end, grants),
    });
    let permits = join_all(permits).await;
    let is_parked = |step: &Step<_, _, _>| {
        matches!(step, Step::Next(Err(Rejected { why: Rejection::Parked, .. })))
    };
    if permits.iter().any(is_parked) {
        return Err(RunError::parked());
    }
    let mut judged = Vec::with_capacity(permits.len());
    let mut turn = StartTurn::default();
    for ((slot, asked), permit) in slots.into_iter().zip(&response.tool_calls).zip(permits) {
        if let Step::Next(permit) = &permit {
            slot.judged(&asked.name, permit.as_ref().err().map(|rejected| &rejected.why));
        }
        judged.push(match permit {
            Step::Next(Ok(permit)) => Step::Next((slot, permit, turn.take())),
            Step::Next(Err(rejected)) => Step::Over(reject(ctx, &slot, rejected).await, None),
            Step::Over(end, grants) => {
                let call = slot.done(end);
                let over =
                    Ended { call, observed: Ok(()), advice: Vec::new(), refused: Vec::new() };
                Step::Over(over, (!grants.is_empty()).then_some((slot, asked, grants)))
            }
        });
    }
    let running = judged.into_iter().map(async |step| match step {
        Step::Next((slot, permit, turn)) => run(ctx, slot, permit, turn).await,
        Step::Over(ended, None) => ended,
        Step::Over(ended, Some((slot, call, grants))) => match amend(ctx, call).await {
            Ok(call) => run_again(ctx, &slot, ended, call.with_grants(grants)).await,
            Err(rejected) => not_run_again(&slot, ended, &rejected),
        },
    });
    let ended = join_all(running).await;
    // Every result is stored before the first problem ends the run.
    let results: Vec<_> = ended.iter().map(Ended::result).collect();
    let read = results.iter().filter_map(|result| result.untrusted.clone());
    read.for_each(|read| ctx.outside.add(read));
    ctx.append(&ctx.run_id, Message::tool_results(results.clone())).await?;
    ctx.calls.stored();
    for Ended { observed, advice, .. } in ended {
        observed?;
        for (call_id, outcome) in advice {
            ctx.apply_verdicts(ToolPost::NAME, &outcome.verdicts, Some(&call_id));
        }
    }
    Ok(results)
}

/// A call on its way through the steps, or one that needs no more of them.
enum Step<N, O, M> {
    Next(N),
    Over(O, M),
}

/// The turn of one call to start. The calls of a message start in the order of the message and then run at the same time:
/// tools that use the same file queue for it in that order.
///
/// Dropping the turn lets the next call start.
#[derive(Default)]
struct StartTurn {
    /// Closed when the call before this one has started, or was dropped. `None` for a call that waits for no other.
    previous: Option<oneshot::Receiver<()>>,
    _next: Option<oneshot::Sender<()>>,
}

impl StartTurn {
    /// The turn of the next call. `self` stays the one after it.
    fn take(&mut self) -> Self {
        let (next, previous) = oneshot::channel();
        Self { previous: self.previous.replace(previous), _next: Some(next) }
    }

    /// Waits until every call before this one has started.
    async fn comes(&mut self) {
        if let Some(previous) = self.previous.take() {
            // Nothing is sent: the receiver wakes when the sender is dropped.
            let _ = previous.await;
        }
    }

    /// Runs `tool`, and lets the next call start once `tool` was polled: by then it has queued for what it uses.
    async fn start<T>(self, tool: impl Future<Output = T>) -> T {
        let mut tool = pin!(tool);
        let first = poll_fn(|cx| Poll::Ready(tool.as_mut().poll(cx))).await;
        drop(self);
        match first {
            Poll::Ready(done) => done,
            Poll::Pending => tool.await,
        }
    }
}

/// How a call ended, and what its observers said.
struct Ended {
    call: Arc<EndedCall>,
    /// A handler that is registered fail-closed may end the run.
    observed: Result<(), RunError>,
    /// What `tool.post` said of each attempt. It is applied in the calls' order.
    advice: Vec<(String, Advice)>,
    /// What the kernel refused a first attempt.
    refused: Vec<Grant>,
}

impl Ended {
    fn result(&self) -> ToolResult {
        if self.advice.is_empty() {
            return self.call.result();
        }
        let mut blocks = self.advice.iter().flat_map(|(_, advice)| advice.objections());
        self.call.screened_result(blocks.next().map(|block| block.reason.clone()))
    }
}

async fn judge_call<'c>(
    ctx: &'c RunContext,
    call: &ToolCall,
    finish: FinishReason,
) -> Result<Judgement<'c>, Rejected> {
    let admitted = match cut_off(finish) {
        Some(reason) => Err(reason.to_string()),
        None => ctx.calls.admit(call, &ctx.agent().limits),
    };
    if let Err(reason) = admitted {
        let call = ProposedCall::from_model(call).freeze();
        return Err(Rejected { call, why: Rejection::Invalid(reason) });
    }
    judge(ctx, amend(ctx, call).await?).await
}

/// Calls of an answer that was cut or refused are not what the model meant.
fn cut_off(finish: FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::MaxTokens => {
            Some("the answer was cut by the token limit, so this call may be incomplete")
        }
        FinishReason::Refusal => Some("the model refused to go on"),
        FinishReason::EndTurn | FinishReason::ToolUse => None,
    }
}

/// A rejected call has an end without a start.
async fn reject(ctx: &RunContext, slot: &CallSlot<'_>, rejected: Rejected) -> Ended {
    let Rejected { call, why } = rejected;
    let (outcome, text) = (ToolOutcome::Rejected, why.into_reason());
    let end = CallEnd { outcome, text, duration_ms: 0 };
    let call = finish(ctx, slot, EndedCall { call, end });
    let observed = after_tool_call(ctx, &call).await;
    Ended { call, observed, advice: Vec::new(), refused: Vec::new() }
}

/// Step 11 for one call. If the kernel refused it something, a person is asked once, and a second attempt may do that too
/// (R11.8). Nothing runs again without an answer.
async fn run(
    ctx: &RunContext,
    slot: CallSlot<'_>,
    permitted: PermittedCall,
    turn: StartTurn,
) -> Ended {
    let call = FinalCall::clone(&permitted);
    let mut first = attempt(ctx, &slot, permitted, turn).await;
    // One question for each call: what a second attempt still lacks, the model has to ask for.
    if first.refused.is_empty() || first.observed.is_err() {
        return first;
    }
    let wider = call.with_grants(std::mem::take(&mut first.refused));
    run_again(ctx, &slot, first, wider).await
}

async fn run_again(
    ctx: &RunContext,
    slot: &CallSlot<'_>,
    mut first: Ended,
    wider: FinalCall,
) -> Ended {
    let permit = match judge(ctx, wider).await {
        Ok(judgement) => permit(ctx, judgement).await,
        Err(rejected) => Err(rejected),
    };
    match permit {
        Ok(permit) => {
            let second = attempt(ctx, slot, permit, StartTurn::default()).await;
            first.advice.extend(second.advice);
            Ended { advice: first.advice, ..second }
        }
        Err(rejected) => not_run_again(slot, first, &rejected),
    }
}

fn not_run_again(slot: &CallSlot<'_>, first: Ended, rejected: &Rejected) -> Ended {
    let mut call = EndedCall::clone(&first.call);
    call.end.text.push_str(&format!("\n[it was not run again: {}]", rejected.why.reason()));
    Ended { call: slot.done(call), ..first }
}

async fn attempt(
    ctx: &RunContext,
    slot: &CallSlot<'_>,
    permit: PermittedCall,
    mut turn: StartTurn,
) -> Ended {
    let call = FinalCall::clone(&permit);
    let intent = permit.intent(&ctx.run_id);
    let intent_id = intent.id.clone();
    slot.intends(&intent_id);
    // The intents of one message are stored together, and a store may confirm them in any order.
    let begun = ctx.begin_call(intent).await;
    turn.comes().await;
    match begun {
        Ok(Begun::Started) => {}
        Ok(Begun::ApprovalUsed) => {
            let why = Rejection::Denied("the approval of this call was used already".into());
            return reject(ctx, slot, Rejected { call, why }).await;
        }
        Err(error) => {
            let why = Rejection::Denied(error.message.clone());
            let rejected = reject(ctx, slot, Rejected { call, why }).await;
            return Ended { observed: Err(error), ..rejected };
        }
    }
    let started = slot.started(&call);
    ctx.emit(RunEventKind::ToolStart {
        tool_call_id: call.id().to_string(),
        tool_name: call.tool().to_string(),
        args: call.args().clone(),
    });
    let executed = turn.start(execute(ctx, permit, slot.output())).await;
    let Executed { outcome, text, grants: refused, from_outside } = executed;
    let call = if from_outside { call.marked_outside() } else { call };
    if let Some(from) = call.outside() {
        ctx.outside.add(Untrusted::default().from(from));
    }
    let duration_ms = millis_since(started);
    let end = CallEnd { outcome, text, duration_ms };
    let stored = ctx.end_call(&intent_id, end.clone()).await;
    let call = finish(ctx, slot, EndedCall { call, end });
    let (observed, advice) = observe(ctx, slot, &call).await;
    Ended { call, observed: stored.and(observed), advice, refused }
}

/// Fires the points after a call that ran. A failing one ends the run, and the later ones are not fired.
async fn observe(
    ctx: &RunContext,
    slot: &CallSlot<'_>,
    ended: &EndedCall,
) -> (Result<(), RunError>, Vec<(String, Advice)>) {
    let observed = match after_tool_call(ctx, ended).await {
        Ok(()) => tool_end_with_path(ctx, slot, ended).await,
        failed => failed,
    };
    match observed {
        Ok(()) => {
            let advice = tool_post(ctx, slot, ended).await;
            (Ok(()), vec![(ended.call.id().to_string(), advice)])
        }
        failed => (failed, Vec::new()),
    }
}

/// Brings the calls that the run's body left behind to their end, and gives the result of each.
pub(super) async fn close_calls(ctx: &RunContext) -> (Vec<ToolResult>, Result<(), RunError>) {
    let (mut results, mut first_problem) = (Vec::new(), Ok(()));
    for ClosedCall { slot, ended, was_open, intent_id, next_point } in ctx.calls.close_open() {
        if let Some(intent_id) = intent_id.filter(|_| was_open) {
            // It may not have been begun. A store that fails is noticed when the results are stored.
            let _ = ctx.end_call(&intent_id, ended.end.clone()).await;
        }
        if was_open {
            emit_end(ctx, &ended);
            let after = within_grace(after_tool_call(ctx, &ended)).await;
            first_problem = first_problem.and(after.unwrap_or(Ok(())));
        }
        if next_point == PointAfterCall::ToolEndWithPath {
            let told = within_grace(tool_end_with_path(ctx, &slot, &ended)).await;
            first_problem = first_problem.and(told.unwrap_or(Ok(())));
        }
        if next_point != PointAfterCall::None {
            let outcome = tool_post(ctx, &slot, &ended).await;
            ctx.apply_verdicts(ToolPost::NAME, &outcome.verdicts, Some(ended.call.id()));
        }
        results.push(ended.result());
    }
    (results, first_problem)
}

/// A handler that hangs may be the very reason why the run was stopped: it cannot hold up its end as well.
pub(super) async fn within_grace<T>(fire: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(STOP_GRACE, fire).await.ok()
}
