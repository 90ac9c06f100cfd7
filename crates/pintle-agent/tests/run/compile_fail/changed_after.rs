//! What was judged cannot be changed afterwards.

use pintle_agent::{PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, mut permit: PermittedCall, cx: ToolCx) {
    permit.args()["path"] = "elsewhere".into();
    let _ = tool.run(permit, cx).await;
}
