//! The judge: what commands are found in a line, what guards refuse, and which zone a call is in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod destructive;
mod fuzz;
mod guard_tables;
mod guards;
mod long_lines;
mod shell_commands;
mod zones;
