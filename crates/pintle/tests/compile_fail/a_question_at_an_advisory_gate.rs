//! A person is asked before a tool runs: `tool.post` comes after it.
use pintle::{Event, Hooks, Verdict, points::ToolPost};

fn main() {
    let _ = Hooks::new().register_gate(|e: Event<ToolPost>| Verdict::ask(&e, "may I?"));
}
