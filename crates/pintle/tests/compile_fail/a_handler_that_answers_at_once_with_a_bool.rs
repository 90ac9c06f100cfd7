//! A handler that is not async returns the same as one that is.
use pintle::{Event, Hooks, points::ToolPre};

fn main() {
    let _ = Hooks::new().register_gate(|e: Event<ToolPre>| e.zone > 2);
}
