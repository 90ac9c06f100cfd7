//! The built-in consumers in real runs, on the doubles of `pintle_agent::testing`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod context_files;
mod injection_safety;
mod removal;
mod skill_queue;
mod world;
