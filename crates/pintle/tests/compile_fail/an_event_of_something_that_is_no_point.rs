//! R5.1: the payload is the point, and it has to be declared as one.
use pintle::{Event, Hooks};

struct Deployed;

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_void(|_: Event<Deployed>| async {});
}
