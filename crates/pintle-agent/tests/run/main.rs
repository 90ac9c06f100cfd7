//! Runs, end to end, on the doubles of `pintle_agent::testing`: every step of the loop and every way out of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod approvals;
mod cancellation;
mod compaction;
mod concurrency;
mod cost;
mod coverage;
mod delegation;
mod endings;
mod events;
mod examples;
mod frozen;
mod gates;
mod golden;
mod interceptors;
mod interrupted;
mod judging;
mod loop_budgets;
mod memory;
mod opening;
mod permit;
mod random;
mod reminders;
mod replay;
mod results;
mod retries;
mod rules;
mod sharing;
mod slow_store;
mod support;
mod tickets;
mod untrusted;
