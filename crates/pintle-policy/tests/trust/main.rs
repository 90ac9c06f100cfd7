//! Trust by content (R10.9): which files count, and what tells that one of them changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod calls;
mod company;
mod content;
mod data;
mod git;
mod linked;
mod listed;
mod loaded;
mod reached;
mod read;
mod steered;
mod support;
