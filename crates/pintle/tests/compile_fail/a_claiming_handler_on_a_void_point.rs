//! R3.1: `session_start` is Void.
use pintle::{Event, Hooks, points::{SessionOpened, Suppressed}};

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_claiming(|_: Event<SessionOpened>| async { None::<Suppressed> });
}
