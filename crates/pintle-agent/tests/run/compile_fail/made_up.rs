//! A permit cannot be made from a call that nobody judged, nor from another call's permit.

use pintle_agent::{FinalCall, PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, call: FinalCall, other: PermittedCall, cx: ToolCx) {
    let _ = tool.run(PermittedCall { call, ..other }, cx).await;
}
