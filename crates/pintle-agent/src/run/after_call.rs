//! The end of step 11: the event `tool.end`, then the points that observe a call.

use std::sync::Arc;

use pintle::{
    Advice,
    points::{AfterToolCall, ToolCallResult, ToolEndWithPath, ToolPost, Untrusted},
};

use super::{
    RunContext, RunError,
    ledger::{CallEnd, CallSlot, PointAfterCall},
};
use crate::{call::FinalCall, event::RunEventKind};

/// Records the end of a call and emits it.
pub(super) fn finish(ctx: &RunContext, slot: &CallSlot<'_>, end: CallEnd) -> Arc<CallEnd> {
    let end = slot.done(end);
    emit_end(ctx, &end);
    end
}

pub(super) fn emit_end(ctx: &RunContext, end: &CallEnd) {
    let ok = end.is_ok();
    ctx.emit(RunEventKind::ToolEnd {
        tool_call_id: end.call.id().to_string(),
        tool_name: end.call.tool().to_string(),
        ok,
        outcome: end.outcome,
        content: ok.then(|| end.text.clone()),
        error: (!ok).then(|| end.text.clone()),
        duration_ms: end.duration_ms,
        untrusted: end.outside().map(str::to_owned),
    });
}

pub(super) async fn after_tool_call(ctx: &RunContext, end: &CallEnd) -> Result<(), RunError> {
    let ok = end.is_ok();
    let after = || {
        AfterToolCall::default()
            .tool_call_id(end.call.id().to_string())
            .tool_name(end.call.tool().to_string())
            .args(end.call.args().clone())
            .result(
                ToolCallResult::default()
                    .ok(ok)
                    .content(end.text.clone())
                    .error((!ok).then(|| end.text.clone())),
            )
            .duration_ms(end.duration_ms)
            .outcome(end.outcome)
    };
    Ok(ctx.agent().hooks.fire_void(&ctx.call_cx(end.call.id()), after).await?)
}

pub(super) async fn tool_end_with_path(
    ctx: &RunContext,
    slot: &CallSlot<'_>,
    end: &CallEnd,
) -> Result<(), RunError> {
    slot.comes_next(PointAfterCall::ToolPost);
    let Some(path) = path_in(ctx, &end.call) else { return Ok(()) };
    let payload = || {
        ToolEndWithPath::default()
            .tool_name(end.call.tool().to_string())
            .file_path(path.to_string())
            .working_dir(ctx.agent().policy.workspace.display().to_string())
    };
    Ok(ctx.agent().hooks.fire_void(&ctx.call_cx(end.call.id()), payload).await?)
}

pub(super) async fn tool_post(ctx: &RunContext, slot: &CallSlot<'_>, end: &CallEnd) -> Advice {
    slot.comes_next(PointAfterCall::None);
    let post = || {
        ToolPost::default()
            .tool_call_id(end.call.id().to_string())
            .tool_name(end.call.tool().to_string())
            .tool_input(end.call.args().clone())
            .result(end.text.clone())
            .is_error(!end.is_ok())
            .duration_ms(end.duration_ms)
            .untrusted(end.outside().map(|from| Untrusted::default().from(from)))
    };
    ctx.agent().hooks.fire_gate(&ctx.call_cx(end.call.id()), post).await
}

/// The first path that the call names.
fn path_in<'c>(ctx: &RunContext, call: &'c FinalCall) -> Option<&'c str> {
    let tool = ctx.agent().tools.get(call.tool())?;
    let named = |field| call.args().get(field)?.as_str().filter(|path| !path.is_empty());
    tool.spec.path_fields().find_map(named)
}
