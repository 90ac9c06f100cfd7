//! Runs, end to end: a real store, real tools, a scripted model; every step of the loop and every way out of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod approvals;
mod cancellation;
mod concurrency;
mod cost;
mod coverage;
mod crash;
mod delegation;
mod endings;
mod events;
mod frozen;
mod gates;
mod golden;
mod interceptors;
mod judging;
mod mcp;
mod opening;
mod outside;
mod permit;
mod reminders;
mod results;
mod retries;
mod rules;
mod sharing;
mod slow_store;
mod support;
mod swapped;
