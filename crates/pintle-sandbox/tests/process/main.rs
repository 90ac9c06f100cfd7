//! The supervisor, with real processes (R8.8).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod ending;
mod host;
mod start;
mod support;
