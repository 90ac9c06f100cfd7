//! Counts what a fire allocates, and fails if a fire that reaches no handler allocates at all.

#![allow(clippy::print_stdout, reason = "it talks to `cargo xtask bench` in JSON lines")]

use std::error::Error;

use futures_util::FutureExt;
use pintle::{Cx, Hooks, PluginFilter};
use pintle_bench::registered::{
    Amended, Claimable, Guarded, Observed, claimers, observers, reaching,
};

const FIRES: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let empty = Hooks::new();
    let others = claimers(3)?;
    let all = reaching(PluginFilter::All);
    for hooks in [&empty, &others] {
        for (model, allocated) in [
            (
                "Void",
                count(|| {
                    drop(hooks.fire_void(&all, || Observed::default().turn(1)).now_or_never())
                }),
            ),
            (
                "Modifying",
                count(|| {
                    drop(hooks.fire_modifying(&all, || Amended::default().turn(1)).now_or_never())
                }),
            ),
            (
                "Gate",
                count(|| drop(hooks.fire_gate(&all, || Guarded::default().turn(1)).now_or_never())),
            ),
        ] {
            assert_eq!(allocated, 0, "{FIRES} fires of a {model} point with no handler");
        }
    }
    let claiming =
        count(|| drop(empty.fire_claiming(&all, || Claimable::default().turn(1)).now_or_never()));
    assert_eq!(claiming, 0, "{FIRES} fires of a Claiming point with no handler");
    row("empty fire", 0, ", \"hold\": \"≤ 0\"");

    let ten = observers(10)?;
    let busy = count(|| fire(&ten, &all)) / FIRES;
    row("Void ×10, handlers that finish at once", busy, "");
    Ok(())
}

fn row(work: &str, allocations: u64, hold: &str) {
    println!("{{\"row\": \"{work}\", \"value\": {allocations}, \"unit\": \"allocations\"{hold}}}");
}

fn fire(hooks: &Hooks, cx: &Cx) {
    drop(hooks.fire_void(cx, || Observed::default().turn(1)).now_or_never());
}

/// How many allocations a thousand calls make, after a first one that may set things up.
fn count(mut call: impl FnMut()) -> u64 {
    call();
    allocation_counter::measure(|| (0..FIRES).for_each(|_| call())).count_total
}
