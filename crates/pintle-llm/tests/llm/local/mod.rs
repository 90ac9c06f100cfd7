//! The models that need no network, and how models are opened.

mod offline;
mod opening;
mod scripted;

use futures_util::StreamExt;
use pintle_agent::{Llm, LlmError, LlmEvent, LlmRequest, Message, ToolSpec};
use serde_json::json;

/// Everything a stream yields.
pub(crate) async fn events(llm: &dyn Llm, request: LlmRequest) -> Vec<Result<LlmEvent, LlmError>> {
    llm.stream(request).collect().await
}

/// A request with all the tools that every agent has.
pub(crate) fn request(messages: Vec<Message>) -> LlmRequest {
    let tool = |name: &str| ToolSpec::new(name, "", json!({"type": "object"}));
    let tools = ["terminal", "read_file", "write_file", "edit_file", "list_dir", "delegate"]
        .map(tool)
        .into();
    LlmRequest { system: String::new(), messages, tools, max_tokens: None }
}

pub(crate) fn user(text: &str) -> Message {
    Message::user(text)
}
