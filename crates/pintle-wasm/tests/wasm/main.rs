//! WASM plugins: the suite that every kind passes, and guests that mean harm.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod built;
mod conformance;
mod guest;
mod hostile;
mod languages;
