//! Step 11: the tool itself.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use pintle::{Envelope, now_ms, points::ToolOutcome};
use pintle_sandbox::Grant;

use super::{
    RunContext, amend::record_interceptors, delegate, judge::PermittedCall, ledger::OutputTail,
};
use crate::{
    call::FinalCall,
    event::{RunEvent, RunEventKind},
    tickets::TicketBoard,
    tool::{OutsideMark, Progress, SandboxLog, ToolCx, ToolError},
    toolbox::ToolKind,
};

/// What running a tool came to.
pub(super) struct Executed {
    pub(super) outcome: ToolOutcome,
    pub(super) text: String,
    /// What the kernel refused it.
    pub(super) grants: Vec<Grant>,
    /// Whether the text came from outside, though the call did not say that it reaches others.
    pub(super) from_outside: bool,
}

impl From<(ToolOutcome, String)> for Executed {
    fn from((outcome, text): (ToolOutcome, String)) -> Self {
        Self { outcome, text, grants: Vec::new(), from_outside: false }
    }
}

/// Runs the permit's tool, then the interceptors on its result.
pub(super) async fn execute(
    ctx: &RunContext,
    permit: PermittedCall,
    output: OutputTail,
) -> Executed {
    let call = FinalCall::clone(&permit);
    let mut executed = run_tool(ctx, permit, output).await;
    let mut records = Vec::new();
    executed.text = ctx.agent().interceptors.rewrite(&call, executed.text, &mut records).await;
    record_interceptors(ctx, call.id(), "interceptor.after", records);
    executed
}

async fn run_tool(ctx: &RunContext, permit: PermittedCall, output: OutputTail) -> Executed {
    let Some(opened) = ctx.opened() else {
        return (ToolOutcome::Error, "the session is not open".to_string()).into();
    };
    let tool = match permit.tool_kind() {
        ToolKind::Delegate => {
            let answered = delegate::delegate(ctx, &permit).await.into();
            // A sub-agent answers with what it has read.
            return Executed { from_outside: ctx.outside.so_far().is_some(), ..answered };
        }
        ToolKind::Tool(tool) => tool.clone(),
    };
    let outside = OutsideMark::default();
    let cx = ToolCx {
        workspace: Arc::new(ctx.agent().policy.workspace.clone()),
        session_id: opened.session.id.as_str().into(),
        run_id: ctx.run_id.as_str().into(),
        cancel: ctx.over.child_token(),
        progress: progress_of(ctx, permit.id(), output),
        sandbox: sandbox_log_of(ctx, permit.id()),
        tickets: TicketBoard::for_agent(
            ctx.agent().store.clone(),
            ctx.agent().hooks.clone(),
            ctx.call_cx(permit.id()),
        ),
        notes: ctx.notebook(opened, &outside),
        outside: outside.clone(),
    };
    let ran = AssertUnwindSafe(async move { tool.run(permit, cx).await }).catch_unwind().await;
    let from_outside = outside.is_set();
    let ended = match ran {
        Ok(Ok(text)) => (ToolOutcome::Ok, text),
        Ok(Err(ToolError::Refused { text, grants })) => {
            return Executed { outcome: ToolOutcome::Error, text, grants, from_outside };
        }
        Ok(Err(ToolError::Failed(text))) => (ToolOutcome::Error, text),
        Ok(Err(ToolError::TimedOut(text))) => (ToolOutcome::TimedOut, text),
        Ok(Err(ToolError::Cancelled(text))) => (ToolOutcome::Cancelled, text),
        Err(_) => (ToolOutcome::Panicked, "the tool panicked".into()),
    };
    Executed { from_outside, ..ended.into() }
}

/// Emits events of a running tool.
fn emitter_of(ctx: &RunContext) -> impl Fn(RunEventKind) + Send + Sync + 'static {
    let (emitter, envelope) = (ctx.emitter.clone(), ctx.envelope());
    move |kind| {
        let envelope = Arc::new(Envelope { ts: now_ms(), ..Envelope::clone(&envelope) });
        emitter.emit(RunEvent { kind, envelope });
    }
}

fn progress_of(ctx: &RunContext, call_id: &str, output: OutputTail) -> Progress {
    let (emit, tool_call_id) = (emitter_of(ctx), call_id.to_string());
    Progress::new(move |text| {
        output.push(text);
        let (tool_call_id, text) = (tool_call_id.clone(), text.to_string());
        emit(RunEventKind::ToolProgress { tool_call_id, text });
    })
}

fn sandbox_log_of(ctx: &RunContext, call_id: &str) -> SandboxLog {
    let (emit, tool_call_id) = (emitter_of(ctx), call_id.to_string());
    SandboxLog::new(move |held| {
        emit(RunEventKind::Sandbox { tool_call_id: tool_call_id.clone(), held });
    })
}
