//! R3.1: `before_prompt_build` is Modifying.
use pintle::{Event, Hooks, points::BeforePromptBuild};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_void(|_: Event<BeforePromptBuild>| async {});
}
