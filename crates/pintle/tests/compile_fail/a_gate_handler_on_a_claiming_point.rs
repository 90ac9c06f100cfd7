//! R3.1: `before_dispatch` is Claiming.
use pintle::{Event, Hooks, Verdict, points::BeforeDispatch};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.named("guard").register_gate(|_: Event<BeforeDispatch>| async { Verdict::allow() });
}
