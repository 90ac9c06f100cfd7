//! The rules of the contract, as tests of the engine's public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod allocations;
mod asking;
mod bad_registrations;
mod breaker;
mod claiming;
mod common;
mod concurrency;
mod deadlines_and_cancellation;
mod dynamic;
mod examples;
mod failure_table;
mod gate;
mod generated;
mod handlers;
mod modifying;
mod own_points;
mod panics;
mod plugin_filter;
mod points_page;
mod properties;
mod records;
mod reentrancy;
mod registration;
mod replacement;
mod schemas;
mod snapshot;
mod void;
