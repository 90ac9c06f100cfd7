//! The gateway through its public face: real store, real queues, a channel that the test drives.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod api;
mod approvals;
mod crashes;
mod inbound;
mod lanes;
mod outbound;
mod page;
mod points;
mod safety;
#[allow(dead_code, reason = "the example `soak` reads the rest")]
mod soak;
mod support;
mod telegram;
mod telegram_server;
mod webhook;
