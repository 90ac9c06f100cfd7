//! What the sandbox holds, tried: attacks in each tier, holes that were found once, set-up that fails, how processes end, and
//! the everyday work that goes on inside.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod attacks;
mod confined;
mod holes;
mod host;
mod lifetimes;
mod random;
mod setup_failures;
mod users;
mod work;
mod world;
