#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]
//! The store through its public interface, on real files, with real processes.

mod canonical;
mod child;
mod claims;
mod conformance;
mod crash;
mod group_commit;
mod migrations;
mod opening;
mod processes;
mod random;
mod records;
mod sessions;
mod support;
