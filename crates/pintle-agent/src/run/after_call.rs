//! The end of step 11: the event `tool.end`, then the points that observe a call.

use std::sync::Arc;

use pintle::{
    Advice,
    points::{AfterToolCall, ToolCallResult, ToolEndWithPath, ToolPost, Untrusted},
};

use super::{
    RunContext, RunError,
    ledger::{CallSlot, EndedCall, PointAfterCall},
};
use crate::{call::FinalCall, event::RunEventKind};

/// Records the end of a call and emits it.
pub(super) fn finish(ctx: &RunContext, slot: &CallSlot<'_>, ended: EndedCall) -> Arc<EndedCall> {
    let ended = slot.done(ended);
    emit_end(ctx, &ended);
    ended
}

pub(super) fn emit_end(ctx: &RunContext, ended: &EndedCall) {
    let ok = ended.is_ok();
    ctx.emit(RunEventKind::ToolEnd {
        tool_call_id: ended.call.id().to_string(),
        tool_name: ended.call.tool().to_string(),
        ok,
        outcome: ended.end.outcome,
        content: ok.then(|| ended.end.text.clone()),
        error: (!ok).then(|| ended.end.text.clone()),
        duration_ms: ended.end.duration_ms,
        untrusted: ended.outside().map(str::to_owned),
    });
}

pub(super) async fn after_tool_call(ctx: &RunContext, ended: &EndedCall) -> Result<(), RunError> {
    let ok = ended.is_ok();
    let after = || {
        AfterToolCall::default()
            .tool_call_id(ended.call.id().to_string())
            .tool_name(ended.call.tool().to_string())
            .args(ended.call.args().clone())
            .result(
                ToolCallResult::default()
                    .ok(ok)
                    .content(ended.end.text.clone())
                    .error((!ok).then(|| ended.end.text.clone())),
            )
            .duration_ms(ended.end.duration_ms)
            .outcome(ended.end.outcome)
    };
    Ok(ctx.agent().hooks.fire_void(&ctx.call_cx(ended.call.id()), after).await?)
}

pub(super) async fn tool_end_with_path(
    ctx: &RunContext,
    slot: &CallSlot<'_>,
    ended: &EndedCall,
) -> Result<(), RunError> {
    slot.comes_next(PointAfterCall::ToolPost);
    let Some(path) = path_in(ctx, &ended.call) else { return Ok(()) };
    let payload = || {
        ToolEndWithPath::default()
            .tool_name(ended.call.tool().to_string())
            .file_path(path.to_string())
            .working_dir(ctx.agent().policy.workspace.display().to_string())
    };
    Ok(ctx.agent().hooks.fire_void(&ctx.call_cx(ended.call.id()), payload).await?)
}

pub(super) async fn tool_post(ctx: &RunContext, slot: &CallSlot<'_>, ended: &EndedCall) -> Advice {
    slot.comes_next(PointAfterCall::None);
    let post = || {
        ToolPost::default()
            .tool_call_id(ended.call.id().to_string())
            .tool_name(ended.call.tool().to_string())
            .tool_input(ended.call.args().clone())
            .result(ended.end.text.clone())
            .is_error(!ended.is_ok())
            .duration_ms(ended.end.duration_ms)
            .untrusted(ended.outside().map(|from| Untrusted::default().from(from)))
    };
    ctx.agent().hooks.fire_gate(&ctx.call_cx(ended.call.id()), post).await
}

/// The first path that the call names.
fn path_in<'c>(ctx: &RunContext, call: &'c FinalCall) -> Option<&'c str> {
    let tool = ctx.agent().tools.get(call.tool())?;
    let named = |field| call.args().get(field)?.as_str().filter(|path| !path.is_empty());
    tool.spec.path_fields().find_map(named)
}
