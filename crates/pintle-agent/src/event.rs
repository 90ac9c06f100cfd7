//! What a run tells the world while it goes on (R6.6).

use std::{borrow::Cow, sync::Arc};

use pintle::{
    Envelope, HandlerOutcome, HandlerRecord, ModelKind,
    points::{CompactionReason, LlmUsage, ToolOutcome, Untrusted},
};
use pintle_sandbox::{Grant, HostUse, ProtectedChange, Refused};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{JudgedCall, ToolCall, prompt::PromptPart};

/// One event of a run: on the wire one JSON object with `type`, `ts` and the envelope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: RunEventKind,
    /// Where and when.
    #[serde(flatten)]
    pub envelope: Arc<Envelope>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RunEventKind {
    /// A run began.
    #[serde(rename = "run.start")]
    RunStart {
        /// What its requests go to.
        model: String,
        /// The message that began it.
        prompt: String,
    },
    /// The system prompt that the run's requests have.
    #[serde(rename = "prompt")]
    Prompt {
        /// Its parts, in the order they are sent, and who wrote each.
        parts: Vec<PromptPart>,
    },
    /// More text of the answer.
    #[serde(rename = "text.delta")]
    TextDelta {
        /// The text.
        text: String,
    },
    /// The model asks for tools: all calls of one message, in its order, before anything is judged.
    #[serde(rename = "tool.calls")]
    ToolCalls {
        /// The calls.
        calls: Vec<CallMade>,
        /// What it says before them.
        #[serde(skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// A call with its final arguments was judged; a person may still be asked. What is needed to judge it again.
    #[serde(rename = "judged")]
    Judged {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its final arguments.
        args: Value,
        /// What a person is asked to grant to a second attempt.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        grants: Vec<Grant>,
        /// The personalities of the agents that delegated to this one, outermost first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ancestors: Vec<String>,
        /// What the conversation had read from outside.
        #[serde(skip_serializing_if = "Option::is_none")]
        untrusted: Option<Untrusted>,
        /// The verdict, and the rule that decided.
        #[serde(flatten)]
        judged: JudgedCall,
    },
    /// A tool starts. It has its [`RunEventKind::ToolEnd`].
    #[serde(rename = "tool.start")]
    ToolStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its final arguments.
        args: Value,
    },
    /// A running tool wrote something.
    #[serde(rename = "tool.progress")]
    ToolProgress {
        /// The call.
        tool_call_id: String,
        /// What it wrote.
        text: String,
    },
    /// A tool ended, or a call was rejected (then it had no start).
    #[serde(rename = "tool.end")]
    ToolEnd {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Whether it succeeded.
        ok: bool,
        /// What became of it.
        outcome: ToolOutcome,
        /// What it said.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How long it took.
        duration_ms: u64,
        /// Where the result came from, if that is outside.
        #[serde(skip_serializing_if = "Option::is_none")]
        untrusted: Option<String>,
    },
    /// How the process of a call was held.
    #[serde(rename = "sandbox")]
    Sandbox {
        /// The call.
        tool_call_id: String,
        /// How.
        #[serde(flatten)]
        held: SandboxUse,
    },
    /// A point was fired and somebody listened.
    #[serde(rename = "hook.fired")]
    HookFired {
        /// The point.
        point: &'static str,
        /// Its execution model.
        model: ModelKind,
        /// Who was reached, in order. On the wire, what each said is its outcome's name.
        #[serde(serialize_with = "on_the_wire")]
        handlers: Vec<HandlerRecord>,
        /// The call, at a point about a tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
    },
    /// A handler blocked.
    #[serde(rename = "hook.blocked")]
    HookBlocked {
        /// The point.
        point: &'static str,
        /// Who.
        handler: String,
        /// Why.
        reason: String,
        /// The call, at a point about a tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
    },
    /// A person is asked.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The question.
        approval_id: String,
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its final arguments.
        args: Value,
        /// Their hash.
        args_hash: String,
        /// The zone that the call would run in.
        zone: &'static str,
        /// When the question lapses.
        expires_at: u64,
    },
    /// The question has an answer, or lapsed.
    #[serde(rename = "approval.resolved")]
    ApprovalResolved {
        /// The question.
        approval_id: String,
        /// What became of it.
        outcome: String,
        /// Who answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Their words.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Words of a hook were attached to a model request.
    #[serde(rename = "reminder")]
    Reminder {
        /// The words.
        text: String,
    },
    /// A model request completed.
    #[serde(rename = "usage")]
    Usage {
        /// Its tokens and its cost.
        #[serde(flatten)]
        usage: LlmUsage,
        /// How long it took.
        duration_ms: u64,
    },
    /// The older part of the conversation was replaced by a summary, or left out (R6.7).
    #[serde(rename = "compaction")]
    Compaction {
        /// Why.
        reason: CompactionReason,
        /// How many messages stay as they are.
        kept_messages: u32,
        /// How many tokens the request had before, estimated.
        tokens_before: u64,
        /// How many it has now.
        tokens_after: u64,
        /// How many messages were left out because no summary could be written.
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u32>,
        /// Why no summary could be written.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A model request failed in a way that may pass, and is made again after a wait.
    #[serde(rename = "retry")]
    Retry {
        /// A short code.
        code: String,
        /// What happened.
        message: String,
        /// Which attempt comes next, counted from 1.
        attempt: u32,
        /// How many there are at most.
        attempts: u32,
        /// How long it waits before.
        wait_ms: u64,
    },
    /// Something failed for good.
    #[serde(rename = "error")]
    Error {
        /// A short code.
        code: String,
        /// What happened.
        message: String,
    },
    /// The answer is complete. What follows is only bookkeeping.
    #[serde(rename = "done")]
    Done {
        /// The final text, or why there is none.
        text: String,
        /// How the run ended.
        outcome: RunOutcome,
    },
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallMade {
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its arguments, which hooks may still change.
    pub args: Value,
}

impl CallMade {
    pub(crate) fn of(call: &ToolCall) -> Self {
        let (tool_call_id, tool_name) = (call.id.clone(), call.name.clone());
        Self { tool_call_id, tool_name, args: call.input.clone() }
    }
}

/// How a process was held, and what the sandbox saw of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxUse {
    /// The zone that it ran in.
    pub zone: &'static str,
    /// The tier that held it: `full`, `view`, `floor` or `none`.
    pub tier: &'static str,
    /// The hosts that it reached, or wanted to reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostUse>,
    /// What the kernel refused, as far as it is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Protected paths that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ProtectedChange>,
}

impl SandboxUse {
    /// The protected paths that changed, in words for the model and the person.
    pub fn changed_in_words(&self) -> Option<String> {
        let changed: Vec<String> = self.changed.iter().map(ToString::to_string).collect();
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}

fn on_the_wire<S: Serializer>(handlers: &[HandlerRecord], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(handlers.iter().map(|record| FiredHandler {
        name: &record.name,
        plugin: record.plugin.as_deref(),
        outcome: record.outcome.name(),
        duration_ms: (record.duration.as_secs_f64() * 1e6).round() / 1e3,
        won: &record.won,
        lost: &record.lost,
        notes: &record.notes,
        shadow: record.shadow,
        reason: record.outcome.reason().filter(|_| {
            record.shadow || !HandlerOutcome::NO_FAILURE.contains(&record.outcome.name())
        }),
    }))
}

/// One handler of a fire, on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FiredHandler<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    outcome: &'static str,
    duration_ms: f64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    won: &'a [&'static str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    lost: &'a [&'static str],
    /// What was ignored of its answer (R8.2), and the hosts that it asked for (R17.7).
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    /// What it said had no effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shadow: bool,
    /// Of a failure, and of what had no effect: there may be no other event that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model had said what it had to say.
    EndTurn,
    /// Somebody stopped it, or just dropped it.
    Aborted,
    /// It took too many model rounds.
    MaxTurns,
    /// It cost too much.
    BudgetExceeded,
    /// It took too long.
    MaxSeconds,
    /// It made too many tool calls.
    MaxToolCalls,
    /// It made the same tool call again and again.
    RepeatedCalls,
    /// The model ran into its token limit.
    MaxTokens,
    /// The model refused, a gate blocked the prompt, or call after call was denied.
    Refusal,
    /// Something failed for good.
    Error,
}

impl RunOutcome {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::Aborted => "aborted",
            Self::MaxTurns => "max_turns",
            Self::BudgetExceeded => "budget_exceeded",
            Self::MaxSeconds => "max_seconds",
            Self::MaxToolCalls => "max_tool_calls",
            Self::RepeatedCalls => "repeated_calls",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Error => "error",
        }
    }
}
