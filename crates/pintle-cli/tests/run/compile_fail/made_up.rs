//! A permit cannot be made from a call that nobody judged.

use pintle_agent::{FinalCall, PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, call: FinalCall, cx: ToolCx) {
    let _ = tool.run(PermittedCall { call, approval: None }, cx).await;
}
