//! R3.1: `tool.pre` is a Gate, so what firing it gives is asked for with `fire_gate`.
use pintle::{Cx, Envelope, Hooks, PluginGate, points::ToolPre};

fn main() {
    let hooks = Hooks::new();
    let cx = Cx::new(Envelope::default(), PluginGate::All);
    let _ = hooks.fire_void(&cx, || ToolPre {
        tool_call_id: "t1".into(),
        tool_name: "terminal".into(),
        tool_input: "ls".into(),
        zone: 0,
    });
}
