//! The events of a run as spans.

use std::collections::HashMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use crate::{
    Ended, Event, names,
    span::{Open, span_id, trace_id},
};

/// The spans of a run that have ended, in the order they ended. With `content`, also what people, models and tools said.
pub fn spans(events: &[Event], content: bool) -> Vec<Ended> {
    let mut reader = Reader { content, ..Reader::default() };
    for event in events {
        reader.event(event);
    }
    reader.ended
}

/// What is known while events are read.
#[derive(Default)]
struct Reader {
    content: bool,
    seq: u64,
    trace: Vec<u8>,
    /// What ids of this run are computed from: its trace and its session.
    about: [String; 2],
    root: Option<Open>,
    model: String,
    /// Model requests so far.
    requests: u64,
    tokens: (u64, u64),
    calls: HashMap<String, Call>,
    questions: HashMap<String, Open>,
    /// Hooks that were called before the request that they belong to is numbered.
    early: Vec<Open>,
    error: Option<String>,
    ended: Vec<Ended>,
}

/// A call while its events are read.
#[derive(Default)]
struct Call {
    started: Option<f64>,
    args: Option<Value>,
    judged: Option<(f64, Value)>,
    sandbox: Option<Value>,
}

/// What a hook at this point belongs to, if it is not about a call.
enum Owner {
    Run,
    NextRequest,
    LastRequest,
}

impl Owner {
    fn of(point: &str) -> Self {
        match point {
            "model.pre" | "before_llm_call" => Self::NextRequest,
            "model.post" | "after_llm_call" => Self::LastRequest,
            _ => Self::Run,
        }
    }
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl Reader {
    fn event(&mut self, Event { seq, at, json }: &Event) {
        let at = *at as f64;
        self.seq = *seq;
        match text(json, "type") {
            "run.start" => self.started(at, json),
            "usage" => self.answered(at, json),
            "retry" => self.retried(at, json),
            "hook.fired" => self.fired(at, json),
            "judged" => self.call(json).judged = Some((at, json.clone())),
            "tool.start" => {
                let call = self.call(json);
                call.started = Some(at);
                call.args = json.get("args").cloned();
            }
            "sandbox" => self.call(json).sandbox = Some(json.clone()),
            "tool.end" => self.called(at, json),
            "approval.requested" => self.asked(at, json),
            "approval.resolved" => self.resolved(at, json),
            "error" => self.error = Some(text(json, "code").to_owned()),
            "done" => self.done(at, json),
            _ => {}
        }
    }

    fn push(&mut self, span: Span) {
        self.ended.push(Ended { seq: self.seq, span });
    }

    fn id(&self, kind: &str, name: &str) -> Vec<u8> {
        let [trace, session] = &self.about;
        span_id(&[trace, session, kind, name])
    }

    fn of_run(&self) -> Vec<u8> {
        self.id("run", "")
    }

    fn of_call(&self, id: &str) -> Vec<u8> {
        self.id("call", id)
    }

    fn of_request(&self, number: u64) -> Vec<u8> {
        self.id("request", &number.to_string())
    }

    fn open(&self, name: String, id: Vec<u8>, start: f64) -> Open {
        Open::new(name, id, &self.trace, start)
    }

    fn call(&mut self, event: &Value) -> &mut Call {
        self.calls.entry(text(event, "toolCallId").to_owned()).or_default()
    }

    /// Hooks that waited for their owner get it.
    fn adopt(&mut self, owner: &[u8]) {
        for hook in std::mem::take(&mut self.early) {
            let (open, end) = (hook.clone(), hook.ends());
            self.push(open.below(owner.to_vec()).end(end));
        }
    }

    fn started(&mut self, at: f64, event: &Value) {
        // A run that was parked goes on under its id, in a trace of its own.
        let trace = text(event, "traceId");
        self.about = [trace.to_owned(), text(event, "sessionId").to_owned()];
        self.trace = trace_id(trace);
        self.model = text(event, "model").to_owned();
        let agent = text(event, "personalityId");
        let mut root = self
            .open(format!("invoke_agent {agent}"), self.of_run(), at)
            .with(names::OPERATION, "invoke_agent")
            .with(names::PROVIDER, provider(&self.model))
            .with(names::MODEL, self.model.as_str())
            .with_text(names::AGENT, event, "personalityId")
            .with_text(names::CONVERSATION, event, "sessionId")
            .with_text(names::RUN, event, "runId")
            .with_text(names::PLATFORM, event, "platform");
        if let Some(parent) = event.get("parentSessionId").and_then(Value::as_str) {
            root = root.below(span_id(&[trace, parent, "run", ""]));
        }
        if self.content {
            root = root.with(names::INPUT_MESSAGES, &*message("user", text(event, "prompt")));
        }
        self.root = Some(root);
    }

    fn done(&mut self, at: f64, event: &Value) {
        let Some(root) = self.root.take() else { return };
        let outcome = text(event, "outcome");
        let mut root = root
            .with(names::RUN_OUTCOME, outcome)
            .with(names::INPUT_TOKENS, self.tokens.0)
            .with(names::OUTPUT_TOKENS, self.tokens.1);
        if self.content {
            root = root.with(names::OUTPUT_MESSAGES, &*message("assistant", text(event, "text")));
        }
        if outcome != "end_turn" {
            let kind = self.error.take().unwrap_or_else(|| outcome.to_owned());
            root = root.with(names::ERROR_TYPE, kind.as_str()).failed(&kind);
        }
        self.push(root.end(at));
    }

    fn request(&self, start: f64) -> Open {
        self.open(format!("chat {}", self.model), self.of_request(self.requests), start)
            .client()
            .below(self.of_run())
            .with(names::OPERATION, "chat")
            .with(names::PROVIDER, provider(&self.model))
            .with(names::MODEL, self.model.as_str())
            .with(names::CONVERSATION, self.about[1].as_str())
    }

    fn answered(&mut self, at: f64, event: &Value) {
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or_default();
        let mut span = self
            .request(at - number("durationMs") as f64)
            .with_number(names::INPUT_TOKENS, event, "inputTokens")
            .with_number(names::OUTPUT_TOKENS, event, "outputTokens")
            .with_number(names::CACHED_TOKENS, event, "cacheReadTokens");
        if let Some(cost) = event.get("costUsd").and_then(Value::as_f64) {
            span = span.with(names::COST, cost);
        }
        self.tokens.0 += number("inputTokens");
        self.tokens.1 += number("outputTokens");
        self.next_request(span.end(at));
    }

    fn retried(&mut self, at: f64, event: &Value) {
        let code = text(event, "code");
        let span = self.request(at).with(names::ERROR_TYPE, code).failed(text(event, "message"));
        self.next_request(span.end(at));
    }

    fn next_request(&mut self, span: Span) {
        self.adopt(&self.of_request(self.requests));
        self.requests += 1;
        self.push(span);
    }

    fn called(&mut self, at: f64, event: &Value) {
        let id = text(event, "toolCallId");
        let Call { started, args, judged, sandbox } = self.calls.remove(id).unwrap_or_default();
        let begun = started.or(judged.as_ref().map(|(at, _)| *at)).unwrap_or(at);
        let mut span = self
            .open(format!("execute_tool {}", text(event, "toolName")), self.of_call(id), begun)
            .below(self.of_run())
            .with(names::OPERATION, "execute_tool")
            .with_text(names::TOOL, event, "toolName")
            .with(names::TOOL_TYPE, "function")
            .with(names::TOOL_CALL, id);
        if let Some((_, judged)) = &judged {
            let by = judged.get("decidedBy").unwrap_or(&Value::Null);
            let decided_by = match text(by, "hook") {
                "" => text(by, "step").to_owned(),
                hook => format!("hook {hook}"),
            };
            span = span
                .with_text(names::VERDICT, judged, "verdict")
                .with(names::DECIDED_BY, decided_by.as_str())
                .with_text(names::DECIDED_AT, by, "source");
        }
        if let Some(sandbox) = &sandbox {
            span = span.with_text(names::ZONE, sandbox, "zone").with_text(
                names::TIER,
                sandbox,
                "tier",
            );
        }
        if self.content {
            let args = args.or_else(|| judged.and_then(|(_, judged)| judged.get("args").cloned()));
            let result = match text(event, "content") {
                "" => text(event, "error"),
                said => said,
            };
            span = span
                .with(names::TOOL_ARGUMENTS, &*args.unwrap_or_default().to_string())
                .with(names::TOOL_RESULT, result);
        }
        if event.get("ok") != Some(&Value::Bool(true)) {
            let outcome = text(event, "outcome");
            // Why is content: it may quote what a tool read.
            let why = if self.content { text(event, "error") } else { outcome };
            span = span.with(names::ERROR_TYPE, outcome).failed(why);
        }
        self.push(span.end(at));
    }

    fn asked(&mut self, at: f64, event: &Value) {
        let id = text(event, "approvalId");
        let span = self
            .open("pintle.approval".to_owned(), self.id("approval", id), at)
            .below(self.of_call(text(event, "toolCallId")))
            .with(names::APPROVAL, id)
            .with_text(names::TOOL, event, "toolName");
        self.questions.insert(id.to_owned(), span);
    }

    fn resolved(&mut self, at: f64, event: &Value) {
        let Some(span) = self.questions.remove(text(event, "approvalId")) else { return };
        let outcome = text(event, "outcome");
        let mut span =
            span.with(names::APPROVAL_OUTCOME, outcome).with_text(names::APPROVAL_BY, event, "by");
        if outcome != "approved" {
            span = span.failed(outcome);
        }
        self.push(span.end(at));
    }

    fn fired(&mut self, at: f64, event: &Value) {
        let handlers = event.get("handlers").and_then(Value::as_array).cloned().unwrap_or_default();
        let took = |it: &Value| it.get("durationMs").and_then(Value::as_f64).unwrap_or_default();
        let (point, call) = (text(event, "point"), text(event, "toolCallId"));
        let is_void = text(event, "model") == "void";
        // One after another, up to now; at a void point all at once.
        let mut from = at - handlers.iter().map(took).sum::<f64>();
        for (nth, handler) in handlers.iter().enumerate() {
            let start = if is_void { at - took(handler) } else { from };
            from += took(handler);
            let name = text(handler, "name");
            let id = self.id("hook", &format!("{}.{nth}", self.seq));
            let keys = |key: &str| -> Vec<&str> {
                let keys = handler.get(key).and_then(Value::as_array).into_iter().flatten();
                keys.filter_map(Value::as_str).collect()
            };
            let outcome = text(handler, "outcome");
            let mut span = self
                .open(format!("pintle.hook {name}"), id, start)
                .with(names::HOOK_POINT, point)
                .with_text(names::HOOK_MODEL, event, "model")
                .with(names::HOOK_HANDLER, name)
                .with_text(names::HOOK_PLUGIN, handler, "plugin")
                .with(names::HOOK_OUTCOME, outcome);
            for (name, keys) in [(names::HOOK_WON, keys("won")), (names::HOOK_LOST, keys("lost"))] {
                if !keys.is_empty() {
                    span = span.with(name, keys);
                }
            }
            if handler.get("shadow") == Some(&Value::Bool(true)) {
                span = span.with(names::HOOK_SHADOW, true);
            }
            if !["finished", "patched", "passed", "claimed", "allowed", "asked", "removed"]
                .contains(&outcome)
            {
                span = span.with(names::ERROR_TYPE, outcome).failed(outcome);
            }
            let end = if is_void { at } else { from };
            let parent = match Owner::of(point) {
                _ if !call.is_empty() => self.of_call(call),
                Owner::NextRequest => {
                    self.early.push(span.ending(end));
                    continue;
                }
                Owner::LastRequest => self.of_request(self.requests.saturating_sub(1)),
                Owner::Run => self.of_run(),
            };
            self.push(span.below(parent).end(end));
        }
    }
}

/// Who answers for a model like `anthropic/claude`.
fn provider(model: &str) -> &str {
    match model.split_once('/') {
        Some((provider, _)) => provider,
        None => model.split(':').next().unwrap_or(model),
    }
}

/// A message in the shape of the conventions.
fn message(role: &str, text: &str) -> String {
    json!([{ "role": role, "parts": [{ "type": "text", "content": text }] }]).to_string()
}
