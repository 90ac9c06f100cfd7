//! Trust by content (R10.9): which files are hashed, and what shows that one of them changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod content;
