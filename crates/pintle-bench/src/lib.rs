//! What the benchmark programs share: shapes of work, and how they are timed side by side.

#![allow(
    clippy::print_stdout,
    reason = "benchmark programs talk to `cargo xtask bench` in JSON lines"
)]

pub mod registered;
pub mod timing;
