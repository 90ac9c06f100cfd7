//! How do I fire from several threads? A clone of `Hooks` is another handle to the same registry, and firing takes no lock.
//!
//! `cargo run --example threads`
#![allow(clippy::print_stdout)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use pintle::{Cx, Event, Hooks, points::MessageReceived};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seen = Arc::new(AtomicU32::new(0));
    let count = seen.clone();
    let hooks = Hooks::new();
    hooks.named("count").register_void(move |_: Event<MessageReceived>| {
        count.fetch_add(1, Ordering::Relaxed);
    })?;

    let threads: Vec<_> = (0..4)
        .map(|_| {
            let hooks = hooks.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build()?;
                runtime.block_on(async {
                    for _ in 0..100 {
                        let fire = hooks.fire_void(&Cx::test(), MessageReceived::default);
                        fire.await.map_err(std::io::Error::other)?;
                    }
                    Ok::<_, std::io::Error>(())
                })
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    println!("{} messages", seen.load(Ordering::Relaxed));
    Ok(())
}
