//! R3.1: `tool.pre` is a Gate.
use pintle::{Event, Hooks, points::{ToolCallPatch, ToolPre}};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_modifying(|_: Event<ToolPre>| async { None::<ToolCallPatch> });
}
