//! One round of the engine's benchmarks. Prints `{"sample": NAME, "ns": TIME}` lines for `cargo xtask bench`.

use std::{
    error::Error,
    future::Future,
    hint::black_box,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::join_all;
use pintle::{Hooks, PluginFilter};
use pintle_bench::{
    registered::{
        Amended, Claimable, Guarded, Observed, amenders, claimers, guards, observers, observers_of,
        plugin, reaching,
    },
    timing::{Shape, side_by_side},
};
use tokio::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    // With an argument, that group alone: for profiling.
    let only = std::env::args().nth(1);
    type Group = fn(&Runtime) -> Result<(), Box<dyn Error>>;
    let groups: [(&str, Group); 5] = [
        ("empty", empty_fire),
        ("void10", against_plain_rust),
        ("models", four_models),
        ("plugins", plugin_filter),
        ("many", many_handlers),
    ];
    for (name, run) in groups {
        if only.as_deref().is_none_or(|only| only == name) {
            run(&runtime)?;
        }
    }
    Ok(())
}

fn empty_fire(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let hooks = Hooks::new();
    let cx = reaching(PluginFilter::All);
    let counter = AtomicU64::new(7);
    side_by_side([
        Shape::new("empty/pintle", |times| fire_void(runtime, &hooks, &cx, times)),
        Shape::new("empty/atomic", |times| {
            for _ in 0..times {
                black_box(black_box(&counter).load(Ordering::Acquire));
            }
        }),
    ]);
    Ok(())
}

type BoxedHandler = Box<dyn Fn(Arc<Observed>) -> Pin<Box<dyn Future<Output = ()> + Send>>>;

/// What somebody would write by hand: boxed handlers, a shared payload, no panic shield, no deadlines, no names.
fn by_hand(count: u64) -> Vec<BoxedHandler> {
    (0..count)
        .map(|n| {
            Box::new(move |e: Arc<Observed>| {
                Box::pin(async move {
                    black_box(e.turn + n);
                }) as Pin<Box<dyn Future<Output = ()> + Send>>
            }) as BoxedHandler
        })
        .collect()
}

fn against_plain_rust(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let hooks = observers(10)?;
    let cx = reaching(PluginFilter::All);
    let handlers = by_hand(10);
    side_by_side([
        Shape::new("void10/pintle", |times| fire_void(runtime, &hooks, &cx, times)),
        Shape::new("void10/loop", |times| {
            runtime.block_on(async {
                for turn in 0..times {
                    let event = Arc::new(Observed::default().turn(turn.into()));
                    for handler in black_box(&handlers) {
                        handler(event.clone()).await;
                    }
                }
            });
        }),
        Shape::new("void10/join_all", |times| {
            runtime.block_on(async {
                for turn in 0..times {
                    let event = Arc::new(Observed::default().turn(turn.into()));
                    let calls = black_box(&handlers).iter().map(|handler| handler(event.clone()));
                    black_box(join_all(calls).await);
                }
            });
        }),
    ]);
    Ok(())
}

fn four_models(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let (observing, amending, claiming, guarding) =
        (observers(10)?, amenders(10)?, claimers(10)?, guards(10)?);
    let cx = &reaching(PluginFilter::All);
    side_by_side([
        Shape::new("models/void/pintle", |times| fire_void(runtime, &observing, cx, times)),
        Shape::new("models/modifying/pintle", |times| {
            runtime.block_on(async {
                for turn in 0..times {
                    let fire = black_box(&amending)
                        .fire_modifying(cx, || Amended::default().turn(turn.into()));
                    let _ = black_box(fire.await);
                }
            });
        }),
        Shape::new("models/claiming/pintle", |times| {
            runtime.block_on(async {
                for turn in 0..times {
                    let fire = black_box(&claiming)
                        .fire_claiming(cx, || Claimable::default().turn(turn.into()));
                    let _ = black_box(fire.await);
                }
            });
        }),
        Shape::new("models/gate/pintle", |times| {
            runtime.block_on(async {
                for turn in 0..times {
                    let fire =
                        black_box(&guarding).fire_gate(cx, || Guarded::default().turn(turn.into()));
                    let _ = black_box(fire.await);
                }
            });
        }),
    ]);
    Ok(())
}

/// The gate's price alone: the same 32 handlers run either way.
fn plugin_filter(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let half = || (0..64).filter(|n| n % 2 == 0);
    let all = observers_of(0..64)?;
    let only_half = observers_of(half())?;
    let gated = reaching(PluginFilter::only(half().map(plugin)));
    let ungated = reaching(PluginFilter::All);
    side_by_side([
        Shape::new("plugins/half-of-64", |times| fire_void(runtime, &all, &gated, times)),
        Shape::new("plugins/the-same-32", |times| fire_void(runtime, &only_half, &ungated, times)),
        Shape::new("plugins/all-64", |times| fire_void(runtime, &all, &ungated, times)),
    ]);
    Ok(())
}

fn many_handlers(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let (ten, thousand) = (observers(10)?, observers(1_000)?);
    let cx = reaching(PluginFilter::All);
    side_by_side([
        Shape::new("many/10", |times| fire_void(runtime, &ten, &cx, times)),
        Shape::new("many/1000", |times| fire_void(runtime, &thousand, &cx, times)),
    ]);
    Ok(())
}

fn fire_void(runtime: &Runtime, hooks: &Hooks, cx: &pintle::Cx, times: u32) {
    runtime.block_on(async {
        for turn in 0..times {
            let fire =
                black_box(hooks).fire_void(black_box(cx), || Observed::default().turn(turn.into()));
            black_box(fire.await.is_ok());
        }
    });
}
