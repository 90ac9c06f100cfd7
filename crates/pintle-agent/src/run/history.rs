//! Step 4: the conversation so far, in which every call has its result.

use super::{
    RunContext, RunError,
    compaction::{outside_in_summary, summary_message},
    interrupted::{Interrupted, Progress, UNKNOWN},
};
use crate::{
    LlmUsage, Message, ToolCall, ToolResult,
    llm::{FinishReason, LlmResponse},
    store::StoredMessage,
};

/// A session whose process died has tool calls without results. They get one now, and none is run again (R6.5, R11.6).
/// `known` are the results that this run has of its own newest calls.
pub(super) async fn repair(ctx: &RunContext, known: Vec<ToolResult>) -> Result<(), RunError> {
    let Some(opened) = ctx.opened().filter(|_| ctx.claim().is_some()) else { return Ok(()) };
    let newest = ctx.agent().store.newest_message(&opened.session.id).await?;
    let Some(StoredMessage { message: Message::Assistant { tool_calls, .. }, run_id, .. }) =
        &newest
    else {
        return Ok(());
    };
    if tool_calls.is_empty() {
        return Ok(());
    }
    let results = match *run_id == ctx.run_id && known.len() == tool_calls.len() {
        true => known,
        false => {
            let interrupted = Interrupted::read(ctx).await?;
            let mut results = Vec::with_capacity(tool_calls.len());
            for call in tool_calls {
                results.push(interrupted.end(ctx, call).await?.result());
            }
            results
        }
    };
    ctx.append(run_id, Message::tool_results(results)).await
}

/// What can be said of a call whose result is in no message.
fn unknown(call: &ToolCall) -> ToolResult {
    ToolResult::default()
        .tool_call_id(call.id.clone())
        .tool_name(call.name.clone())
        .content(UNKNOWN)
        .is_error(true)
}

pub(super) async fn load(ctx: &RunContext) -> Result<Vec<Message>, RunError> {
    let Some(opened) = ctx.opened() else { return Ok(Vec::new()) };
    let stored = ctx.agent().store.conversation(&opened.session.id).await?;
    let summary = stored.summary.map(|summary| summary_of(ctx, &summary.text));
    let messages = paired(stored.messages.into_iter().map(|stored| stored.message));
    ctx.outside.add_messages(&messages);
    if ctx.request.lineage.is_none() {
        read_by_parents(ctx, opened.session.parent.clone()).await?;
    }
    Ok(summary.into_iter().chain(messages).collect())
}

fn summary_of(ctx: &RunContext, text: &str) -> Message {
    outside_in_summary(text).into_iter().for_each(|read| ctx.outside.add(read));
    summary_message(text)
}

/// The run of a sub-agent goes on without its parent's: what that had read from outside, its task may have been made of.
async fn read_by_parents(ctx: &RunContext, parent: Option<String>) -> Result<(), RunError> {
    let mut above = parent;
    while let Some(id) = above {
        let stored = ctx.agent().store.conversation(&id).await?;
        let messages: Vec<_> = stored.messages.into_iter().map(|it| it.message).collect();
        ctx.outside.add_messages(&messages);
        let summary = stored.summary.and_then(|summary| outside_in_summary(&summary.text));
        summary.into_iter().for_each(|read| ctx.outside.add(read));
        above = ctx.agent().store.session(&id).await?.and_then(|session| session.parent);
    }
    Ok(())
}

/// The conversation as a provider takes it: results right after their calls, one for each, and no others.
///
/// Runs take turns, across processes too where the store can see to it. Whatever was stored otherwise must not spoil
/// the session for good.
pub(super) fn paired(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut paired = Vec::new();
    let mut messages = messages.peekable();
    while let Some(message) = messages.next() {
        let Message::Assistant { text, tool_calls, .. } = message else {
            if !matches!(message, Message::ToolResults { .. }) {
                paired.push(message);
            }
            continue;
        };
        let mut given = match messages.next_if(|next| matches!(next, Message::ToolResults { .. })) {
            Some(Message::ToolResults { results, .. }) => results,
            _ => Vec::new(),
        };
        let mut result_of = |call: &ToolCall| match given
            .iter()
            .position(|result| result.tool_call_id == call.id)
        {
            Some(place) => given.remove(place),
            None => unknown(call),
        };
        let results: Vec<_> = tool_calls.iter().map(&mut result_of).collect();
        paired.push(Message::assistant(text, tool_calls));
        if !results.is_empty() {
            paired.push(Message::tool_results(results));
        }
    }
    paired
}

/// An answer whose calls were not all done when its run died.
pub(super) struct Unfinished {
    pub(super) response: LlmResponse,
    /// What is known of each call.
    pub(super) calls: Vec<Progress>,
}

/// The answer that a run goes on with, if there is one: a call of it was begun, or a person was asked about it. Every call
/// of an answer is judged before the first one runs.
pub(super) async fn unfinished(ctx: &RunContext) -> Result<Option<Unfinished>, RunError> {
    let Some(opened) = ctx.opened() else { return Ok(None) };
    let stored = ctx.agent().store.newest_message(&opened.session.id).await?;
    let Some(StoredMessage { message: Message::Assistant { text, tool_calls, .. }, .. }) = stored
    else {
        return Ok(None);
    };
    let interrupted = Interrupted::read(ctx).await?;
    if !tool_calls.iter().any(|call| interrupted.was_judged(call)) {
        repair(ctx, Vec::new()).await?;
        return Ok(None);
    }
    go_on_with(ctx, &interrupted, text, tool_calls).await.map(Some)
}

async fn go_on_with(
    ctx: &RunContext,
    interrupted: &Interrupted,
    text: String,
    tool_calls: Vec<ToolCall>,
) -> Result<Unfinished, RunError> {
    let mut calls = Vec::with_capacity(tool_calls.len());
    for call in &tool_calls {
        calls.push(interrupted.progress(ctx, call).await?);
    }
    let (usage, finish) = (LlmUsage::default(), FinishReason::ToolUse);
    let response = LlmResponse { text, tool_calls, usage, finish };
    Ok(Unfinished { response, calls })
}

/// How far a run with this id came before it was parked or its process ended.
pub(super) enum Before {
    /// The model is to be asked next.
    Asked,
    /// Its newest calls are not all done. Those that have begun do not run again.
    Calls(Unfinished),
    /// It is done but for its ending.
    Answered(String),
}

/// What the conversation says about an earlier part of this very run; `None` when it has not begun.
pub(super) async fn begun_before(ctx: &RunContext) -> Result<Option<Before>, RunError> {
    let Some(opened) = ctx.opened().filter(|_| ctx.request.id.is_some()) else { return Ok(None) };
    let store = &ctx.agent().store;
    if !store.has_messages_of(&opened.session.id, &ctx.run_id).await? {
        return Ok(None);
    }
    let Some(newest) = store.newest_message(&opened.session.id).await? else { return Ok(None) };
    if newest.run_id != ctx.run_id {
        // Another process went on with it under another id: what it said is the answer.
        let text = match newest.message {
            Message::Assistant { text, .. } => text,
            _ => "The conversation has gone on elsewhere.".into(),
        };
        return Ok(Some(Before::Answered(text)));
    }
    Ok(Some(match newest.message {
        Message::User { .. } | Message::ToolResults { .. } => Before::Asked,
        Message::Assistant { text, tool_calls, .. } if tool_calls.is_empty() => {
            Before::Answered(text)
        }
        Message::Assistant { text, tool_calls, .. } => {
            let interrupted = Interrupted::read(ctx).await?;
            Before::Calls(go_on_with(ctx, &interrupted, text, tool_calls).await?)
        }
    }))
}

/// A new message was said while a question from before a crash was still open: the question is called off.
pub(super) async fn withdraw_questions(ctx: &RunContext) -> Result<(), RunError> {
    let Some(claim) = ctx.claim() else { return Ok(()) };
    let withdrawn = ctx.agent().store.withdraw_approvals(&claim, "the conversation went on").await;
    ctx.written_under_claim(withdrawn)
}
