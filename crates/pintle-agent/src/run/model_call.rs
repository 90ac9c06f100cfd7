//! Steps 6 to 8: one model round, with its retries.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use pintle::{
    Point,
    points::{AfterLlmCall, BeforeLlmCall, CompactionReason, ModelPost, ModelPre},
};

use super::{RunContext, RunError, compaction, new_id};
use crate::{
    LlmUsage, Message,
    event::RunEventKind,
    llm::{LlmError, LlmEvent, LlmRequest, LlmResponse},
    reminders,
    untrusted::fence_results,
};

const MAX_ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How often a request that the provider finds too long is made shorter.
const MAX_COMPACTIONS: u32 = 3;

/// What is sent, and what for.
struct Ask<'a> {
    system: &'a str,
    messages: &'a [Message],
    /// A summary, not a part of the conversation: no tools are offered, no reminders attached, and nothing is shown.
    is_aside: bool,
}

/// One answer of the model, stored; or why there is none. Older messages are summarised when the request does not fit.
pub(super) async fn ask(
    ctx: &RunContext,
    system: &str,
    messages: &mut Vec<Message>,
) -> Result<LlmResponse, RunError> {
    compaction::if_needed(ctx, system, messages).await?;
    let mut shown = Shown::default();
    let mut compactions = 0;
    let response = loop {
        let ask = Ask { system, messages, is_aside: false };
        let error = match attempts(ctx, &ask, &mut shown).await? {
            Ok(response) => break response,
            Err(error) => error,
        };
        if error.code == LlmError::TOO_LONG && compactions < MAX_COMPACTIONS {
            let reason = CompactionReason::Overflow;
            let compacted = compaction::compact(ctx, system, messages, reason, compactions).await?;
            compactions += 1;
            if compacted.is_some() {
                continue;
            }
        }
        return Err(RunError::new(error.code, error.message));
    };
    store(ctx, &response).await?;
    Ok(response)
}

/// An answer that is no part of the conversation.
pub(super) async fn ask_aside(
    ctx: &RunContext,
    system: &str,
    messages: Vec<Message>,
) -> Result<Result<LlmResponse, LlmError>, RunError> {
    let ask = Ask { system, messages: &messages, is_aside: true };
    attempts(ctx, &ask, &mut Shown::default()).await
}

/// An answer, after as many attempts as it takes; or the last error.
async fn attempts(
    ctx: &RunContext,
    ask: &Ask<'_>,
    shown: &mut Shown,
) -> Result<Result<LlmResponse, LlmError>, RunError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match attempt_once(ctx, ask, shown).await? {
            Err(error) if error.retryable && attempt < MAX_ATTEMPTS => {
                wait(ctx, &error, attempt).await;
            }
            ended => return Ok(ended),
        }
    }
}

async fn wait(ctx: &RunContext, error: &LlmError, attempt: u32) {
    let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt - 1));
    let wait = error.retry_after.unwrap_or(doubled).min(LONGEST_WAIT);
    ctx.emit(RunEventKind::Retry {
        code: error.code.clone(),
        message: error.message.clone(),
        attempt: attempt + 1,
        attempts: MAX_ATTEMPTS,
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    });
    tokio::time::sleep(wait).await;
}

async fn attempt_once(
    ctx: &RunContext,
    ask: &Ask<'_>,
    shown: &mut Shown,
) -> Result<Result<LlmResponse, LlmError>, RunError> {
    let agent = ctx.agent();
    let model = agent.llm.name().to_string();
    let count = u32::try_from(ask.messages.len()).unwrap_or(u32::MAX);
    let pre = || ModelPre::default().model(model.clone()).message_count(count);
    let outcome = agent.hooks.fire_gate(&ctx.hook_cx(), pre).await;
    ctx.apply_verdicts(ModelPre::NAME, &outcome.verdicts, None);

    let fragments = match ask.is_aside {
        true => Vec::new(),
        false => ctx.state().reminders.for_request(),
    };
    let request_id = new_id();
    let turn_number = ctx.state().turn + 1;
    let before = || {
        BeforeLlmCall::default()
            .model(model.clone())
            .turn_number(turn_number)
            .request_id(request_id.clone())
    };
    agent.hooks.fire_void(&ctx.hook_cx(), before).await?;

    let started = Instant::now();
    let request = request(ctx, ask, &fragments);
    let response = match stream(ctx, request, shown, ask.is_aside).await {
        Ok(response) => response,
        Err(error) => return Ok(Err(error)),
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    delivered(ctx, &fragments);
    count_usage(ctx, response.usage, duration_ms);
    if !ask.is_aside {
        calibrate(ctx, ask, response.usage.input_tokens);
    }
    let after = || {
        AfterLlmCall::default()
            .text(response.text.clone())
            .usage(response.usage)
            .request_id(request_id)
            .finish_reason(response.finish.to_string())
            .duration_ms(duration_ms)
    };
    agent.hooks.fire_void(&ctx.hook_cx(), after).await?;
    let post = || {
        ModelPost::default()
            .model(model)
            .stop_reason(response.finish.to_string())
            .input_tokens(response.usage.input_tokens)
            .output_tokens(response.usage.output_tokens)
            .cost_usd(response.usage.cost_usd)
            .tool_call_count(u32::try_from(response.tool_calls.len()).unwrap_or(u32::MAX))
    };
    let outcome = agent.hooks.fire_gate(&ctx.hook_cx(), post).await;
    ctx.apply_verdicts(ModelPost::NAME, &outcome.verdicts, None);
    Ok(Ok(response))
}

fn request(ctx: &RunContext, ask: &Ask<'_>, fragments: &[String]) -> LlmRequest {
    let mut messages = ask.messages.to_vec();
    fence_results(&mut messages);
    reminders::attach(&mut messages, fragments);
    let tools = match ask.is_aside {
        true => Vec::new(),
        false => ctx.offered_tools().cloned().collect(),
    };
    LlmRequest { system: ask.system.to_string(), messages, tools, max_tokens: None }
}

/// What the provider counted sets the next estimates right.
fn calibrate(ctx: &RunContext, ask: &Ask<'_>, counted: u64) {
    if ctx.window().is_none() || counted == 0 {
        return;
    }
    let estimated = compaction::estimate(ask.system, ask.messages, ctx.offered_tools()).max(1);
    ctx.state().token_ratio = Some((counted as f64 / estimated as f64).clamp(0.5, 4.0));
}

async fn stream(
    ctx: &RunContext,
    request: LlmRequest,
    shown: &mut Shown,
    is_aside: bool,
) -> Result<LlmResponse, LlmError> {
    ctx.emitter.flush();
    let mut stream = ctx.agent().llm.stream(request);
    shown.restart();
    while let Some(event) = stream.next().await {
        match event? {
            LlmEvent::TextDelta(text) => {
                if let Some(text) = shown.more(&text).filter(|_| !is_aside) {
                    ctx.emit(RunEventKind::TextDelta { text });
                }
            }
            LlmEvent::End(response) => return Ok(response),
        }
    }
    Err(LlmError {
        code: "cut".into(),
        message: "the model's answer stopped before its end".into(),
        retryable: true,
        retry_after: None,
    })
}

/// Reminders are delivered only now: the model did not read those of a failed request.
fn delivered(ctx: &RunContext, fragments: &[String]) {
    ctx.state().reminders.delivered(fragments.len());
    for text in fragments {
        ctx.emit(RunEventKind::Reminder { text: text.clone() });
    }
}

fn count_usage(ctx: &RunContext, usage: LlmUsage, duration_ms: u64) {
    {
        let mut state = ctx.state();
        state.rounds += 1;
        state.unpriced |= usage.cost_usd.is_none();
        state.usage += usage;
    }
    ctx.emit(RunEventKind::Usage { usage, duration_ms });
}

async fn store(ctx: &RunContext, response: &LlmResponse) -> Result<(), RunError> {
    let (text, tool_calls) = (response.text.clone(), response.tool_calls.clone());
    ctx.append(&ctx.run_id, Message::assistant(text, tool_calls)).await
}

/// What the user has seen of an answer already: a retry does not show it again.
#[derive(Default)]
struct Shown {
    /// What earlier attempts have shown.
    before: String,
    /// What this attempt has written.
    now: String,
}

impl Shown {
    fn restart(&mut self) {
        if self.now.len() > self.before.len() {
            self.before.clone_from(&self.now);
        }
        self.now.clear();
    }

    fn more(&mut self, text: &str) -> Option<String> {
        let from = self.now.len();
        self.now.push_str(text);
        if self.before.is_empty() {
            return Some(text.to_string());
        }
        if self.before.starts_with(&self.now) {
            return None;
        }
        if self.now.starts_with(&self.before) {
            let fresh = self.now.get(from.max(self.before.len())..).unwrap_or_default().to_string();
            return Some(fresh);
        }
        // The new attempt says something else: it is shown whole, on a line of its own.
        self.before.clear();
        Some(format!("\n{}", self.now))
    }
}
