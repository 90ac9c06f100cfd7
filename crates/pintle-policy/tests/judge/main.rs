//! The judge: what commands are found in a line, what guards refuse, and which zone a call is in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod fuzz;
mod guard_tables;
mod guards;
mod long_lines;
mod random;
mod shell_commands;
mod terminal_guard;
mod zones;

use pintle_policy::{ToolSpec, Zone};

/// Tools like those that every agent has; `own` is an embedder's that says its zone and no more.
fn spec(name: &str) -> ToolSpec {
    let spec = ToolSpec::new(name, "For a test.", serde_json::json!({}));
    match name {
        "terminal" => spec.in_zone(Zone::Build).running_commands(),
        "read_file" | "list_dir" => spec.in_zone(Zone::Safe).with_paths(["path"]),
        "write_file" | "edit_file" => spec.in_zone(Zone::Workspace).with_paths(["path"]),
        "delegate" => spec.in_zone(Zone::Safe).with_paths([]),
        "own" => spec.in_zone(Zone::Workspace),
        _ => spec,
    }
}
