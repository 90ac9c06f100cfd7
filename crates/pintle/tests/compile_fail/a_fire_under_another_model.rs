//! R3.1: `tool.pre` is a Gate, so what firing it gives is asked for with `fire_gate`.
use pintle::{Cx, Envelope, Hooks, PluginFilter, points::ToolPre};

fn main() {
    let hooks = Hooks::new();
    let cx = Cx::new(Envelope::default(), PluginFilter::All);
    let _ = hooks.fire_void(&cx, || ToolPre::default().tool_call_id("t1").tool_name("terminal").tool_input("ls".into()).zone(0));
}
