//! P7: no handler, no cost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::process::Command;

#[test]
fn a_fire_that_reaches_nobody_allocates_nothing() {
    let counted = Command::new(env!("CARGO_BIN_EXE_allocations")).output().unwrap();
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
}
