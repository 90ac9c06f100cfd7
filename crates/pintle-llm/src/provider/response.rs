//! A response as the agent takes it, made from what the client library captured.

use std::collections::HashSet;

use genai::{
    ModelIden,
    adapter::AdapterKind,
    chat::{self, StopReason, StreamEnd},
};
use pintle_agent::{FinishReason, LlmError, LlmRequest, LlmResponse, LlmUsage, Message, ToolCall};
use serde_json::Value;

use super::{error::Failures, prices, tool_name};
use crate::input;

/// Whether our price list applies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Priced {
    ByTable,
    Unknown,
}

/// A response under way.
pub(super) struct Response {
    text: String,
    model: ModelIden,
    priced: Priced,
    /// Ids of earlier calls. Gemini gives none, and the client library then counts from 0 each time.
    taken_ids: HashSet<String>,
}

impl Response {
    pub(super) fn to(request: &LlmRequest, model: &ModelIden, priced: Priced) -> Self {
        let earlier = request.messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
            _ => &[],
        });
        let taken_ids = earlier.map(|call| call.id.clone()).collect();
        Self { text: String::new(), model: model.clone(), priced, taken_ids }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The complete response, if it is one.
    ///
    /// For some protocols the client library announces an end whenever the body ends. Only the provider's
    /// reason for stopping shows that the model was done; without one, a tool call may lack its half.
    pub(super) fn finish(
        mut self,
        end: StreamEnd,
        failures: &Failures,
    ) -> Result<LlmResponse, LlmError> {
        let Some(reason) = end.captured_stop_reason.clone() else {
            return Err(failures.cut());
        };
        if let StopReason::Other(reason) = &reason
            && let Some(error) = failures.failed_stop(reason)
        {
            return Err(error);
        }
        let usage = self.usage(end.captured_usage.clone().unwrap_or_default());
        let captured = end.captured_into_tool_calls().unwrap_or_default();
        let cut_short = reason.is_max_tokens();
        let tool_calls = match reason {
            // Whatever a refused answer asked for is part of what was refused.
            StopReason::ContentFilter(_) => Vec::new(),
            _ => self.tool_calls(captured, cut_short),
        };
        let finish = match reason {
            StopReason::MaxTokens(_) => FinishReason::MaxTokens,
            StopReason::ContentFilter(_) => FinishReason::Refusal,
            _ if !tool_calls.is_empty() => FinishReason::ToolUse,
            _ => FinishReason::EndTurn,
        };
        Ok(LlmResponse { text: self.text, tool_calls, usage, finish })
    }

    fn tool_calls(&mut self, captured: Vec<chat::ToolCall>, cut_short: bool) -> Vec<ToolCall> {
        without_phantoms(captured)
            .into_iter()
            .map(|call| {
                let cut_before_arguments =
                    cut_short && call.fn_arguments.as_str().is_some_and(str::is_empty);
                let (input, malformed) = if cut_before_arguments {
                    (
                        call.fn_arguments,
                        Some("the arguments were cut off by the token limit".to_owned()),
                    )
                } else {
                    input::from_value(call.fn_arguments)
                };
                ToolCall::default()
                    .id(self.own_id(call.call_id))
                    .name(tool_name::from_wire(call.fn_name))
                    .input(input)
                    .malformed(malformed)
            })
            .collect()
    }

    /// The id itself, or one like it that no other call of the conversation has.
    fn own_id(&mut self, id: String) -> String {
        // The client library sends back an id like `call#NAME#0` as none, which is right: it made it up.
        let (stem, first) = match id.rsplit_once('#') {
            Some((stem, count)) if id.starts_with("call#") => {
                (format!("{stem}#"), count.parse().unwrap_or(0))
            }
            _ if id.is_empty() => ("call-".to_owned(), 1_usize),
            _ => (format!("{id}-"), 2),
        };
        let mut own = if id.is_empty() { format!("{stem}{first}") } else { id };
        let mut count = first;
        while self.taken_ids.contains(&own) {
            own = format!("{stem}{count}");
            count += 1;
        }
        self.taken_ids.insert(own.clone());
        own
    }

    fn usage(&self, usage: chat::Usage) -> LlmUsage {
        let details = usage.prompt_tokens_details.unwrap_or_default();
        let mut usage = LlmUsage::default()
            .input_tokens(count(usage.prompt_tokens).unwrap_or(0))
            .output_tokens(count(usage.completion_tokens).unwrap_or(0))
            .cache_read_tokens(count(details.cached_tokens))
            .cache_creation_tokens(count(details.cache_creation_tokens));
        usage.cost_usd = match (self.model.adapter_kind, self.priced) {
            // It runs on the user's own machine.
            (AdapterKind::Ollama, _) => Some(0.0),
            (_, Priced::ByTable) => prices::cost(&self.model.model_name, &usage),
            (_, Priced::Unknown) => None,
        };
        usage
    }
}

/// Drops calls that the model did not make.
///
/// Some servers number the calls of a message from 1. The client library fills the gap before the first with
/// an unfinished copy of it, under the same id.
fn without_phantoms(calls: Vec<chat::ToolCall>) -> Vec<chat::ToolCall> {
    let mut kept: Vec<chat::ToolCall> = Vec::new();
    for call in calls {
        let made_up_id = call.call_id.starts_with("call#");
        kept.retain(|earlier| {
            let same =
                !made_up_id && earlier.call_id == call.call_id && earlier.fn_name == call.fn_name;
            let unfinished = matches!(earlier.fn_arguments, Value::String(_));
            !(same && (unfinished || earlier.fn_arguments == call.fn_arguments))
        });
        kept.push(call);
    }
    kept
}

fn count(tokens: Option<i32>) -> Option<u64> {
    tokens.and_then(|tokens| u64::try_from(tokens).ok())
}
