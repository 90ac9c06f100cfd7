#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
//! The store through its public interface, on real files, with real processes.

mod answering;
mod approvals;
mod canonical;
mod child;
mod claims;
mod crash;
mod group_commit;
mod migrations;
mod opening;
mod processes;
mod records;
mod rules;
mod sessions;
mod support;
