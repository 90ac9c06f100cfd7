//! A permit cannot be made from a call that nobody judged.

use pintle_agent::{FinalCall, PermittedCall, Tool, ToolCx};

pub async fn run(tool: &dyn Tool, call: FinalCall, other: &PermittedCall, cx: ToolCx) {
    let reach = other.reach().clone();
    let (zone, confinement) = (other.zone(), None);
    let permit = PermittedCall { call, reach, zone, confinement, approval: None };
    let _ = tool.run(permit, cx).await;
}
