//! What the benchmark programs share: shapes of work, and how they are timed side by side.

#![allow(
    clippy::print_stdout,
    reason = "benchmark programs talk to `cargo xtask bench` in JSON lines"
)]

pub mod registered;
pub mod timing;

/// The Rust programs in docs/ are doc tests here: a packaged crate has no files of other folders.
#[cfg(doctest)]
pub mod pages {
    #[doc = include_str!("../../../docs/embedding.md")]
    pub mod embedding {}
    #[doc = include_str!("../../../docs/why-does-my-handler-not-compile.md")]
    pub mod why_does_my_handler_not_compile {}
}
