//! What every case here has in common, and compiles: a tool can be run by whoever was handed a permit.

use pintle_agent::{PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, permit: PermittedCall, cx: ToolCx) {
    let _ = permit.args().get("path");
    let _ = tool.run(permit, cx).await;
}
