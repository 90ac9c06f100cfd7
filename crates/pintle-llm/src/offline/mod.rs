//! The model that needs no key: a set of rules.

mod answer;
mod command;

use futures_util::stream::BoxStream;
use pintle_agent::{
    FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, LlmUsage, Message, ToolCall,
    ToolResult, unfenced,
};

use self::command::Command;
use crate::text_stream;

/// Understands "run COMMAND", "read FILE", "write FILE: TEXT", "list DIR" and "delegate: TASK", so that hooks can be
/// felt without a key or a network.
///
/// Steps joined by "then", or on lines of their own, are done one after the other; the first that fails ends
/// it. The answer quotes what the tools said or, when a hook blocked a call, says so and why. It remembers
/// nothing: the same request always gets the same response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Llm for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        text_stream::stream(respond(&request))
    }
}

fn respond(request: &LlmRequest) -> LlmResponse {
    let (commands, results) = where_we_are(&request.messages);
    let next =
        commands.get(results.len()).filter(|_| results.iter().all(|result| !result.is_error));
    let (text, tool_calls) = match next {
        Some(command) if request.tools.iter().any(|tool| tool.name == command.tool()) => {
            (String::new(), vec![call(command, &request.messages)])
        }
        Some(command) => (answer::no_such_tool(command, &commands, &results), Vec::new()),
        None if commands.is_empty() => (answer::HELP.to_owned(), Vec::new()),
        None => (answer::report(&commands, &results), Vec::new()),
    };
    let finish = if tool_calls.is_empty() { FinishReason::EndTurn } else { FinishReason::ToolUse };
    let usage = usage(request, &text, &tool_calls);
    LlmResponse { text, tool_calls, usage, finish }
}

/// What the person asked for last, and what has come of it so far.
fn where_we_are(messages: &[Message]) -> (Vec<Command>, Vec<&ToolResult>) {
    let mut results = Vec::new();
    for message in messages.iter().rev() {
        match message {
            Message::User { text, .. } => {
                let said = command::without_reminders(&unfenced(text));
                // A message that holds only reminders is not something a person said.
                if !said.trim().is_empty() {
                    results.reverse();
                    return (command::parse(&said), results);
                }
            }
            Message::ToolResults { results: answered, .. } => results.extend(answered.iter().rev()),
            Message::Assistant { .. } => {}
        }
    }
    (Vec::new(), Vec::new())
}

/// The ids count the conversation's calls, so that each has its own and a replay gives the same ones.
fn call(command: &Command, messages: &[Message]) -> ToolCall {
    let calls_so_far: usize = messages
        .iter()
        .map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.len(),
            _ => 0,
        })
        .sum();
    ToolCall::default()
        .id(format!("offline-{}", calls_so_far + 1))
        .name(command.tool().to_owned())
        .input(command.input())
}

fn usage(request: &LlmRequest, text: &str, calls: &[ToolCall]) -> LlmUsage {
    let call_bytes = |call: &ToolCall| call.name.len() + call.input.to_string().len();
    let message_bytes = |message: &Message| match message {
        Message::User { text, .. } => text.len(),
        Message::Assistant { text, tool_calls, .. } => {
            text.len() + tool_calls.iter().map(call_bytes).sum::<usize>()
        }
        Message::ToolResults { results, .. } => {
            results.iter().map(|result| result.content.len()).sum()
        }
    };
    let tools: usize =
        request.tools.iter().map(|tool| tool.name.len() + tool.description.len()).sum();
    let read =
        request.system.len() + tools + request.messages.iter().map(message_bytes).sum::<usize>();
    let written = text.len() + calls.iter().map(call_bytes).sum::<usize>();
    LlmUsage::default()
        .input_tokens(text_stream::tokens(read))
        .output_tokens(text_stream::tokens(written))
        .cost_usd(0.0)
}
