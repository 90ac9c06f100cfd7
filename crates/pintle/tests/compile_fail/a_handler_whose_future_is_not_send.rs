//! R4.16: fires happen on any thread, so what a handler holds across an await has to be `Send`.
use std::rc::Rc;

use pintle::{Event, Hooks, points::SessionOpened};

async fn something() {}

fn main() {
    let hooks = Hooks::new();
    let _ = hooks.register_void(|_: Event<SessionOpened>| async {
        let counter = Rc::new(1);
        something().await;
        drop(counter);
    });
}
