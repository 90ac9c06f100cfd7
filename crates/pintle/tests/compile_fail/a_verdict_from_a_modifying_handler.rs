//! §3: a Modifying handler answers with a patch. What stops a call is a gate.
use pintle::{Event, Hooks, Verdict, points::BeforeToolCall};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_modifying(|_: Event<BeforeToolCall>| async { Verdict::block("no") });
}
