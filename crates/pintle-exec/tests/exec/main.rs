//! Hooks outside the process, each with a real process or a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod answer_invariants;
mod answer_properties;
mod command_context;
mod command_exits;
mod command_output;
mod command_survival;
mod failure_table;
mod foreign_answers;
mod random;
mod support;
mod webhook_addresses;
mod webhook_delivery;
mod webhook_keeping;
mod webhook_leaving;
mod webhook_server;
mod worker_failures;
mod worker_noise;
mod worker_service;
