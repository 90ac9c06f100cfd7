//! A final call is not a permit.

use pintle_agent::{ProposedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, call: ProposedCall, cx: ToolCx) {
    let _ = tool.run(call.freeze(), cx).await;
}
