//! R4.4: payloads are shared and cannot be changed.
use pintle::{Event, Hooks, points::{BeforeToolCall, ToolCallPatch}};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_modifying(|mut e: Event<BeforeToolCall>| async move {
        e.tool_name = "something_else".into();
        None::<ToolCallPatch>
    });
}
