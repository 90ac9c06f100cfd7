//! Step 4: the conversation so far, in which every call has its result.

use super::{Live, RunError, tool_call};
use crate::{
    llm::{FinishReason, LlmResponse, Usage},
    message::{Message, ToolCall, ToolResult},
    store::StoredMessage,
};

/// A session whose process died has tool calls without results. They get one now: the tool may have run, so none
/// is run again (R6.5).
pub(super) async fn repair(live: &Live) -> Result<(), RunError> {
    let Some(opened) = live.opened().filter(|_| live.has_turn()) else { return Ok(()) };
    let history = live.agent().store.history(&opened.session.id).await?;
    let Some(StoredMessage { message: Message::Assistant { tool_calls, .. }, run_id, .. }) =
        history.last()
    else {
        return Ok(());
    };
    if tool_calls.is_empty() {
        return Ok(());
    }
    let known = tool_call::results(live);
    let results = match *run_id == live.run_id && known.len() == tool_calls.len() {
        true => known,
        false => tool_calls.iter().map(unknown).collect(),
    };
    live.append(run_id, Message::ToolResults { results }).await
}

/// What can be said of a call whose run nobody saw the end of.
fn unknown(call: &ToolCall) -> ToolResult {
    ToolResult {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: "The run was interrupted before this call's result was known. It may have taken effect: check \
                  before trying again."
            .into(),
        is_error: true,
    }
}

pub(super) async fn load(live: &Live) -> Result<Vec<Message>, RunError> {
    let Some(opened) = live.opened() else { return Ok(Vec::new()) };
    let stored = live.agent().store.history(&opened.session.id).await?;
    Ok(whole(stored.into_iter().map(|stored| stored.message)))
}

/// The conversation as a provider takes it: results right after their calls, one for each, and no others.
///
/// Runs take turns, across processes too where the store can see to it. Whatever was stored otherwise must not spoil
/// the session for good.
fn whole(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut whole = Vec::new();
    let mut messages = messages.peekable();
    while let Some(message) = messages.next() {
        let Message::Assistant { text, tool_calls } = message else {
            if !matches!(message, Message::ToolResults { .. }) {
                whole.push(message);
            }
            continue;
        };
        let mut given = match messages.next_if(|next| matches!(next, Message::ToolResults { .. })) {
            Some(Message::ToolResults { results }) => results,
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
        whole.push(Message::Assistant { text, tool_calls });
        if !results.is_empty() {
            whole.push(Message::ToolResults { results });
        }
    }
    whole
}

/// The answer whose calls a run waited for a person to judge when its process died. None of them has run: every call
/// of an answer is judged before the first one runs, and a yes is used up only right before its tool does.
pub(super) async fn unfinished(live: &Live) -> Result<Option<LlmResponse>, RunError> {
    let Some(opened) = live.opened() else { return Ok(None) };
    let stored = live.agent().store.history(&opened.session.id).await?.pop();
    let Some(StoredMessage { message: Message::Assistant { text, tool_calls }, .. }) = stored
    else {
        return Ok(None);
    };
    let open = live.agent().approver.open_calls(&opened.session.id).await;
    if !tool_calls.iter().any(|call| open.contains(&call.id)) {
        repair(live).await?;
        return Ok(None);
    }
    let (usage, finish) = (Usage::default(), FinishReason::ToolUse);
    Ok(Some(LlmResponse { text, tool_calls, usage, finish }))
}

/// A new message was said while a question from before a crash was still open: the question is called off.
pub(super) async fn give_up_waiting(live: &Live) {
    if let Some(opened) = live.opened() {
        live.agent().approver.withdraw(&opened.session.id).await;
    }
}
