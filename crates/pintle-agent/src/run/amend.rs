//! Step 9: interceptors, then `before_tool_call`. The last moment at which arguments can change.

use pintle::{HandlerRecord, ModelKind, Point, points::BeforeToolCall};

use super::{
    RunContext,
    explain::refusal,
    judge::{Rejected, Rejection, record},
};
use crate::{
    ToolCall,
    call::{FinalCall, ProposedCall},
    event::RunEventKind,
};

/// The call with its final arguments.
pub(super) async fn amend(ctx: &RunContext, call: &ToolCall) -> Result<FinalCall, Rejected> {
    let mut proposed = ProposedCall::from_model(call);
    match amended(ctx, call, &mut proposed).await {
        Ok(()) => Ok(proposed.freeze()),
        Err(why) => Err(Rejected { call: proposed.freeze(), why }),
    }
}

/// A hook refuses the call before it is frozen: that is a judgement too.
fn refused(ctx: &RunContext, proposed: &ProposedCall, reason: String, hook: &str) -> Rejection {
    let hook = Some(hook).filter(|hook| !hook.is_empty());
    record(ctx, &proposed.clone().freeze(), &[refusal(reason.clone(), hook)], None);
    Rejection::Denied(reason)
}

async fn amended(
    ctx: &RunContext,
    call: &ToolCall,
    proposed: &mut ProposedCall,
) -> Result<(), Rejection> {
    if let Some(problem) = &call.malformed {
        return Err(Rejection::Invalid(problem.clone()));
    }
    let mut records = Vec::new();
    let intercepted = ctx.agent().interceptors.amend(proposed, &mut records).await;
    record_interceptors(ctx, &call.id, "interceptor.before", records);
    intercepted.map_err(Rejection::Denied)?;
    let before = || {
        BeforeToolCall::default()
            .tool_call_id(proposed.id.clone())
            .tool_name(proposed.tool.clone())
            .args(proposed.args.clone())
    };
    let merged = ctx.agent().hooks.fire_modifying(&ctx.call_cx(&call.id), before).await;
    let merged = merged.map_err(|error| refused(ctx, proposed, error.to_string(), ""))?;
    if let Some(reason) = merged.denial() {
        ctx.emit(RunEventKind::HookBlocked {
            point: BeforeToolCall::NAME,
            handler: merged.winner("error").unwrap_or_default().to_string(),
            reason: reason.clone(),
            tool_call_id: Some(proposed.id.clone()),
        });
        return Err(refused(ctx, proposed, reason, merged.winner("error").unwrap_or_default()));
    }
    if let Some(args) = merged.patch.args {
        proposed.args = args;
    }
    Ok(())
}

/// Interceptors are recorded like the handlers of a point.
pub(super) fn record_interceptors(
    ctx: &RunContext,
    call_id: &str,
    point: &'static str,
    handlers: Vec<HandlerRecord>,
) {
    if !handlers.is_empty() {
        let (model, tool_call_id) = (ModelKind::Modifying, Some(call_id.to_string()));
        ctx.emit(RunEventKind::HookFired { point, model, handlers, tool_call_id });
    }
}
