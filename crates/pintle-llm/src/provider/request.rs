//! A request in the client library's terms.

use genai::{
    ModelIden,
    chat::{
        CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool,
        ToolCall, ToolName, ToolResponse,
    },
};
use pintle_agent::{LlmRequest, Message, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

use super::{catalogue, tool_name};

/// Everything but the limits, which are options of the call.
pub(super) fn convert(request: LlmRequest, model: &ModelIden) -> ChatRequest {
    let mut messages: Vec<ChatMessage> =
        request.messages.into_iter().flat_map(|message| convert_message(message, model)).collect();
    let tools: Vec<Tool> = request.tools.into_iter().map(convert_tool).collect();

    let mut system = (!request.system.is_empty()).then_some(request.system);
    if catalogue::speaks_anthropic(model.adapter_kind) {
        // Anthropic caches only what is marked. An agent sends the same beginning over and over: the tools and
        // the prompt, then a conversation that only grows.
        if let Some(text) = system.take() {
            messages.insert(0, ChatMessage::system(text).with_options(CacheControl::Ephemeral));
        }
        if let Some(last) = messages.pop() {
            messages.push(last.with_options(CacheControl::Ephemeral));
        }
    }

    let mut chat = ChatRequest::from_messages(messages);
    chat.system = system;
    chat.tools = (!tools.is_empty()).then_some(tools);
    chat
}

fn convert_tool(spec: ToolSpec) -> Tool {
    Tool::new(ToolName::Custom(tool_name::to_wire(spec.name)))
        .with_description(spec.description)
        .with_schema(spec.input_schema)
}

fn convert_message(message: Message, model: &ModelIden) -> Vec<ChatMessage> {
    match message {
        Message::User { text, .. } => vec![ChatMessage::user(text)],
        Message::Assistant { text, tool_calls, .. } => {
            let text = (!text.is_empty()).then_some(ContentPart::Text(text));
            let calls =
                tool_calls.into_iter().map(|call| ContentPart::ToolCall(convert_call(call)));
            let content: MessageContent = text.into_iter().chain(calls).collect();
            // Providers refuse a message that says nothing.
            if content.is_empty() { Vec::new() } else { vec![ChatMessage::assistant(content)] }
        }
        Message::ToolResults { results, .. } => {
            let parts = results.into_iter().map(|result| convert_result(result, model));
            if catalogue::speaks_ollama(model.adapter_kind) {
                parts.map(|part| ChatMessage::tool(MessageContent::from(part))).collect()
            } else {
                vec![ChatMessage::tool(parts.collect::<MessageContent>())]
            }
        }
    }
}

/// Providers refuse arguments that are no object, so a malformed call is replayed without its arguments; its
/// result says what was wrong with them.
fn convert_call(call: pintle_agent::ToolCall) -> ToolCall {
    let fn_arguments = match (call.malformed, call.input) {
        (None, input @ Value::Object(_)) => input,
        _ => Value::Object(Map::new()),
    };
    ToolCall {
        call_id: call.id,
        fn_name: tool_name::to_wire(call.name),
        fn_arguments,
        thought_signatures: None,
    }
}

/// An error stays an error (R6.1): marked as one where the protocol can, in words where it cannot.
fn convert_result(result: ToolResult, model: &ModelIden) -> ContentPart {
    if result.is_error && catalogue::speaks_anthropic(model.adapter_kind) {
        let data = json!({
            "type": "tool_result",
            "tool_use_id": result.tool_call_id,
            "content": result.content,
            "is_error": true,
        });
        return ContentPart::Custom(CustomPart { model_iden: Some(model.clone()), data });
    }
    let content =
        if result.is_error { format!("Error: {}", result.content) } else { result.content };
    ContentPart::ToolResponse(
        ToolResponse::new(result.tool_call_id, content)
            .with_fn_name(tool_name::to_wire(result.tool_name)),
    )
}
