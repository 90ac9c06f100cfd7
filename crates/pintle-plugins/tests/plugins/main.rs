//! Plugins that are native and plugins that are processes, against one suite and alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod installed;
mod manifests;
mod native;
mod process;
