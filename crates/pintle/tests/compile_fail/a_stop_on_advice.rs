//! R3.4: a block at an advisory point changes nothing, so its outcome has no `blocked()`.
use pintle::{Cx, Hooks, points::ModelPre};

async fn fire(hooks: &Hooks) {
    let advice = hooks.fire_gate(&Cx::test(), || ModelPre::default().model("m").message_count(1)).await;
    if advice.blocked().is_some() {
        return;
    }
}

fn main() {
    let _ = fire(&Hooks::new());
}
