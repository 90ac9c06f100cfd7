//! §3: a gate answers with a `Verdict`; a bool would not say why.
use pintle::{Event, Hooks, points::ToolPre};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_gate(|e: Event<ToolPre>| async move { e.zone < 3 });
}
