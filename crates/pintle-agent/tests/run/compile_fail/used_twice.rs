//! A permit is for one call: it is used up, and cannot be copied.

use pintle_agent::{PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, permit: PermittedCall, cx: ToolCx) {
    let _ = tool.run(permit, cx.clone()).await;
    let _ = tool.run(permit, cx).await;
}
