//! Steps 9 to 11: what happens on a tool call. Amend, freeze, judge, run; then tell everybody.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, future::join_all};
use pintle::{
    Envelope, GateOutcome, HandlerRecord, ModelKind, Point,
    points::{
        AfterToolCall, BeforeToolCall, ToolCallResult, ToolEndWithPath, ToolOutcome, ToolPost,
    },
};
use pintle_policy::PATH_FIELDS;
use pintle_sandbox::Grant;
use serde_json::Value;

use super::{
    Live, RunError, delegate,
    judge::{PermittedCall, judge},
    now_ms,
};
use crate::{
    call::{FinalCall, ProposedCall},
    event::{RunEvent, RunEventKind},
    llm::{FinishReason, LlmResponse},
    message::{Message, ToolCall, ToolResult},
    tool::{Progress, SandboxLog, ToolCx, ToolError},
    toolbox::Kind,
};

/// How long observers may take over the end of a call when the run is being stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call of the newest answer, and how far it has come. If the run's body is dropped, the ending takes it from there.
#[derive(Clone)]
pub(crate) struct Tracked {
    call: FinalCall,
    /// When the tool was started, if it was.
    started: Option<Instant>,
    /// What became of it, once that is known.
    done: Option<Arc<Done>>,
    /// Which point after a tool that ran comes next.
    next: Next,
}

#[derive(Clone, Copy, PartialEq)]
enum Next {
    ToolEndWithPath,
    ToolPost,
    Nothing,
}

/// What became of one call.
pub(crate) struct Done {
    call: FinalCall,
    outcome: ToolOutcome,
    text: String,
    duration_ms: u64,
}

impl Done {
    /// The model has to tell "it was not allowed" from "it did not work".
    fn for_the_model(&self) -> String {
        match self.outcome {
            ToolOutcome::Rejected if !self.text.starts_with("blocked") => {
                format!("Blocked: {}", self.text)
            }
            _ => self.text.clone(),
        }
    }

    fn result(&self) -> ToolResult {
        ToolResult {
            tool_call_id: self.call.model_id().to_string(),
            tool_name: self.call.tool().to_string(),
            content: self.for_the_model(),
            is_error: self.outcome != ToolOutcome::Ok,
        }
    }
}

/// One result per call, in the calls' order, stored in one message (R6.1).
pub(super) async fn handle_all(
    live: &Live,
    response: &LlmResponse,
) -> Result<Vec<ToolResult>, RunError> {
    if response.tool_calls.is_empty() {
        return Ok(Vec::new());
    }
    let waiting = |call: &ToolCall| Tracked {
        call: ProposedCall::from_model(call).freeze(),
        started: None,
        done: None,
        next: Next::ToolEndWithPath,
    };
    live.progress().calls = response.tool_calls.iter().map(waiting).collect();
    let mut permitted = Vec::with_capacity(response.tool_calls.len());
    let mut first_problem = Ok(());
    for (index, call) in response.tool_calls.iter().enumerate() {
        let verdict = match cut_off(response.finish) {
            Some(reason) => Err((ProposedCall::from_model(call).freeze(), reason.to_string())),
            None => amend_and_judge(live, call).await,
        };
        count(live, call, verdict.as_ref().err().map(|(_, reason)| reason));
        match verdict {
            Ok((call, kind)) => permitted.push((index, call, kind)),
            Err((call, reason)) => {
                first_problem = first_problem.and(reject(live, index, call, reason).await);
            }
        }
    }
    let running = permitted.into_iter().map(|(index, call, kind)| run(live, index, call, kind));
    let ran = join_all(running).await;
    // Every result is stored before the first problem ends the run.
    let results = results(live);
    live.append(&live.run_id, Message::ToolResults { results: results.clone() }).await?;
    live.progress().calls.clear();
    first_problem?;
    for outcomes in ran {
        for (call_id, outcome) in outcomes? {
            live.heed(ToolPost::NAME, &outcome, Some(&call_id));
        }
    }
    Ok(results)
}

/// The results of the newest answer's calls, as far as they are known.
pub(super) fn results(live: &Live) -> Vec<ToolResult> {
    live.progress().calls.iter().filter_map(|call| Some(call.done.as_ref()?.result())).collect()
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

type Verdict = Result<(PermittedCall, Kind), (FinalCall, String)>;

async fn amend_and_judge(live: &Live, call: &ToolCall) -> Verdict {
    let (proposed, refused) = amend(live, call).await;
    let frozen = proposed.freeze();
    match refused {
        Some(reason) => Err((frozen, reason)),
        None => judge(live, frozen.clone()).await.map_err(|reason| (frozen, reason)),
    }
}

/// Step 9: interceptors, then `before_tool_call`. The last moment at which arguments can change.
async fn amend(live: &Live, call: &ToolCall) -> (ProposedCall, Option<String>) {
    let mut proposed = ProposedCall::from_model(call);
    if let Some(problem) = &call.malformed {
        return (proposed, Some(format!("the arguments are not valid JSON: {problem}")));
    }
    let mut records = Vec::new();
    let intercepted = live.agent().interceptors.amend(&mut proposed, &mut records).await;
    record_interceptors(live, "interceptor.before", records);
    if let Err(reason) = intercepted {
        return (proposed, Some(reason));
    }
    let before = || BeforeToolCall {
        tool_call_id: proposed.id.clone(),
        tool_name: proposed.tool.clone(),
        args: proposed.args.clone(),
    };
    let merged = match live.agent().hooks.fire_modifying(&live.cx(), before).await {
        Ok(merged) => merged,
        Err(error) => return (proposed, Some(error.to_string())),
    };
    if let Some(reason) = merged.denial() {
        live.emit(RunEventKind::HookBlocked {
            point: BeforeToolCall::NAME,
            handler: merged.winner("error").unwrap_or_default().to_string(),
            reason: reason.clone(),
            tool_call_id: Some(proposed.id.clone()),
        });
        return (proposed, Some(reason));
    }
    if let Some(args) = merged.patch.args {
        proposed.args = args;
    }
    (proposed, None)
}

fn record_interceptors(live: &Live, point: &'static str, handlers: Vec<HandlerRecord>) {
    if !handlers.is_empty() {
        live.emit(RunEventKind::HookFired { point, model: ModelKind::Modifying, handlers });
    }
}

fn count(live: &Live, call: &ToolCall, denied: Option<&String>) {
    let mut progress = live.progress();
    progress.total_calls += 1;
    if !progress.tools_used.contains(&call.name) {
        progress.tools_used.push(call.name.clone());
    }
    match denied {
        Some(reason) => {
            progress.denials_in_a_row += 1;
            progress.last_denial.clone_from(reason);
        }
        None => progress.denials_in_a_row = 0,
    }
}

/// A rejected call has an end without a start.
async fn reject(
    live: &Live,
    index: usize,
    call: FinalCall,
    reason: String,
) -> Result<(), RunError> {
    let done = Done { call, outcome: ToolOutcome::Rejected, text: reason, duration_ms: 0 };
    let done = finish(live, index, done);
    after_tool_call(live, &done).await
}

/// What `tool.post` said of a call, to be heeded in the calls' order.
type Said = (String, GateOutcome);

/// Step 11 for one call. If the kernel refused it something, a person is asked once, and a second attempt may do that too
/// (R11.8). Nothing runs again without an answer.
async fn run(
    live: &Live,
    index: usize,
    call: PermittedCall,
    kind: Kind,
) -> Result<Vec<Said>, RunError> {
    let first = FinalCall::clone(&call);
    let (said, refused) = attempt(live, index, call, kind).await?;
    let Some(Refused { done, grants }) = refused else { return Ok(vec![said]) };
    match judge(live, first.with_grants(grants)).await {
        Ok((call, kind)) => {
            let (again, _) = attempt(live, index, call, kind).await?;
            Ok(vec![said, again])
        }
        Err(reason) => {
            let text = format!("{}\n[it was not run again: {reason}]", done.text);
            let call = done.call.clone();
            let failed = Done { call, outcome: done.outcome, text, duration_ms: done.duration_ms };
            keep(live, index, Arc::new(failed));
            Ok(vec![said])
        }
    }
}

/// A call that failed because the kernel refused it something.
struct Refused {
    done: Arc<Done>,
    grants: Vec<Grant>,
}

async fn attempt(
    live: &Live,
    index: usize,
    call: PermittedCall,
    kind: Kind,
) -> Result<(Said, Option<Refused>), RunError> {
    let frozen = FinalCall::clone(&call);
    if !call.use_approval(live).await {
        let reason = "the approval of this call was used already".to_string();
        let id = frozen.id().to_string();
        let said = (id, GateOutcome::default());
        return reject(live, index, frozen, reason).await.map(|()| (said, None));
    }
    let started = Instant::now();
    if let Some(tracked) = live.progress().calls.get_mut(index) {
        tracked.call = frozen.clone();
        tracked.started = Some(started);
    }
    live.emit(RunEventKind::ToolStart {
        tool_call_id: frozen.id().to_string(),
        tool_name: frozen.tool().to_string(),
        args: frozen.args().clone(),
    });
    let Executed { outcome, text, grants } = execute(live, call, kind).await;
    let text = rewrite(live, &frozen, text).await;
    let duration_ms = millis_since(started);
    let done = finish(live, index, Done { call: frozen, outcome, text, duration_ms });
    after_tool_call(live, &done).await?;
    tool_end_with_path(live, index, &done).await?;
    let said = (done.call.id().to_string(), tool_post(live, index, &done).await);
    // One question for each call: what a second attempt still lacks, the model has to ask for.
    let is_first = done.call.grants().is_empty() && !grants.is_empty();
    Ok((said, is_first.then_some(Refused { done, grants })))
}

fn comes_next(live: &Live, index: usize, next: Next) {
    if let Some(tracked) = live.progress().calls.get_mut(index) {
        tracked.next = next;
    }
}

async fn tool_end_with_path(live: &Live, index: usize, done: &Done) -> Result<(), RunError> {
    comes_next(live, index, Next::ToolPost);
    let Some(path) = path_in(done.call.args()) else { return Ok(()) };
    let end = || ToolEndWithPath {
        tool_name: done.call.tool().to_string(),
        file_path: path.to_string(),
        working_dir: live.agent().policy.workspace.display().to_string(),
    };
    Ok(live.agent().hooks.fire_void(&live.cx(), end).await?)
}

async fn tool_post(live: &Live, index: usize, done: &Done) -> GateOutcome {
    comes_next(live, index, Next::Nothing);
    let post = || ToolPost {
        tool_call_id: done.call.id().to_string(),
        tool_name: done.call.tool().to_string(),
        tool_input: done.call.args().clone(),
        result: done.text.clone(),
        is_error: done.outcome != ToolOutcome::Ok,
        duration_ms: done.duration_ms,
    };
    live.agent().hooks.fire_gate(&live.cx(), post).await
}

/// What running a tool came to.
struct Executed {
    outcome: ToolOutcome,
    text: String,
    /// What the kernel refused it.
    grants: Vec<Grant>,
}

impl From<(ToolOutcome, String)> for Executed {
    fn from((outcome, text): (ToolOutcome, String)) -> Self {
        Self { outcome, text, grants: Vec::new() }
    }
}

async fn execute(live: &Live, call: PermittedCall, kind: Kind) -> Executed {
    let Some(opened) = live.opened() else {
        return (ToolOutcome::Error, "the session is not open".to_string()).into();
    };
    let tool = match kind {
        Kind::Delegate => return delegate::delegate(live, &call).await.into(),
        Kind::Tool(tool) => tool,
    };
    let cx = ToolCx {
        workspace: Arc::new(live.agent().policy.workspace.clone()),
        session_id: opened.session.id.as_str().into(),
        run_id: live.run_id.as_str().into(),
        cancel: live.over.child_token(),
        progress: progress_of(live, call.id()),
        sandbox: sandbox_log_of(live, call.id()),
    };
    let ran = AssertUnwindSafe(async move { tool.run(call, cx).await }).catch_unwind().await;
    let ended = match ran {
        Ok(Ok(text)) => (ToolOutcome::Ok, text),
        Ok(Err(ToolError::Refused { text, grants })) => {
            return Executed { outcome: ToolOutcome::Error, text, grants };
        }
        Ok(Err(ToolError::Failed(text))) => (ToolOutcome::Error, text),
        Ok(Err(ToolError::TimedOut(text))) => (ToolOutcome::TimedOut, text),
        Ok(Err(ToolError::Cancelled(text))) => (ToolOutcome::Cancelled, text),
        Err(_) => (ToolOutcome::Panicked, "the tool panicked".into()),
    };
    ended.into()
}

/// Emits events of a running tool.
fn emitter_of(live: &Live) -> impl Fn(RunEventKind) + Send + Sync + 'static {
    let (emitter, envelope) = (live.emitter.clone(), live.envelope());
    move |kind| {
        let envelope = Arc::new(Envelope { ts: now_ms(), ..Envelope::clone(&envelope) });
        emitter.emit(RunEvent { kind, envelope });
    }
}

fn progress_of(live: &Live, call_id: &str) -> Progress {
    let (emit, tool_call_id) = (emitter_of(live), call_id.to_string());
    Progress::new(move |text| {
        let (tool_call_id, text) = (tool_call_id.clone(), text.to_string());
        emit(RunEventKind::ToolProgress { tool_call_id, text });
    })
}

fn sandbox_log_of(live: &Live, call_id: &str) -> SandboxLog {
    let (emit, tool_call_id) = (emitter_of(live), call_id.to_string());
    SandboxLog::new(move |held| {
        emit(RunEventKind::Sandbox { tool_call_id: tool_call_id.clone(), held });
    })
}

async fn rewrite(live: &Live, call: &FinalCall, text: String) -> String {
    let proposed = ProposedCall {
        id: call.id().to_string(),
        tool: call.tool().to_string(),
        args: call.args().clone(),
    };
    let mut records = Vec::new();
    let text = live.agent().interceptors.rewrite(&proposed, text, &mut records).await;
    record_interceptors(live, "interceptor.after", records);
    text
}

/// Keeps what is to be stored as the call's result.
fn keep(live: &Live, index: usize, done: Arc<Done>) {
    if let Some(tracked) = live.progress().calls.get_mut(index) {
        tracked.done = Some(done);
    }
}

/// The call's end: the result to be stored, and the event.
fn finish(live: &Live, index: usize, done: Done) -> Arc<Done> {
    let done = Arc::new(done);
    let ok = done.outcome == ToolOutcome::Ok;
    live.progress().successful_calls += u32::from(ok);
    keep(live, index, done.clone());
    live.emit(RunEventKind::ToolEnd {
        tool_call_id: done.call.id().to_string(),
        tool_name: done.call.tool().to_string(),
        ok,
        outcome: done.outcome,
        content: ok.then(|| done.text.clone()),
        error: (!ok).then(|| done.text.clone()),
        duration_ms: done.duration_ms,
    });
    done
}

async fn after_tool_call(live: &Live, done: &Done) -> Result<(), RunError> {
    let ok = done.outcome == ToolOutcome::Ok;
    let after = || AfterToolCall {
        tool_call_id: done.call.id().to_string(),
        tool_name: done.call.tool().to_string(),
        args: done.call.args().clone(),
        result: ToolCallResult {
            ok,
            content: done.text.clone(),
            error: (!ok).then(|| done.text.clone()),
        },
        duration_ms: done.duration_ms,
        outcome: done.outcome,
    };
    Ok(live.agent().hooks.fire_void(&live.cx(), after).await?)
}

/// Brings the calls that the run's body left behind to their end: none stays without one.
pub(super) async fn close_calls(live: &Live) -> Result<(), RunError> {
    let left = live.progress().calls.clone();
    let mut first_problem = Ok(());
    for (index, Tracked { call, started, done, next }) in left.into_iter().enumerate() {
        let (done, after) = match done {
            Some(done) => (done, Ok(())),
            None => {
                let done = finish(live, index, stopped(call, started));
                let after = not_for_ever(after_tool_call(live, &done)).await;
                (done, after.unwrap_or(Ok(())))
            }
        };
        first_problem = first_problem.and(after);
        if started.is_some() && next == Next::ToolEndWithPath {
            let told = not_for_ever(tool_end_with_path(live, index, &done)).await;
            first_problem = first_problem.and(told.unwrap_or(Ok(())));
        }
        if started.is_some() && next != Next::Nothing {
            let outcome = tool_post(live, index, &done).await;
            live.heed(ToolPost::NAME, &outcome, Some(done.call.id()));
        }
    }
    first_problem
}

/// A handler that hangs may be the very reason why the run was stopped: it cannot hold up its end as well.
pub(super) async fn not_for_ever<T>(fire: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, fire).await.ok()
}

fn stopped(call: FinalCall, started: Option<Instant>) -> Done {
    let text = match started {
        Some(_) => {
            "The run was stopped while this call was running. It may have taken effect in part."
        }
        None => "The run was stopped before this call ran. It had no effect.",
    };
    let duration_ms = started.map_or(0, millis_since);
    Done { call, outcome: ToolOutcome::Cancelled, text: text.into(), duration_ms }
}

fn millis_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn path_in(args: &Value) -> Option<&str> {
    let named = |key: &&str| args.get(*key).and_then(Value::as_str).filter(|path| !path.is_empty());
    PATH_FIELDS.iter().find_map(named)
}
