//! A person is asked about a tool call: `user.prompt.submit` is not about a tool.
use pintle::{Event, Hooks, Verdict, points::UserPromptSubmit};

fn main() {
    let _ = Hooks::new().register_gate(|e: Event<UserPromptSubmit>| Verdict::ask(&e, "may I?"));
}
