//! The output parser of command hooks, against anything. `cargo xtask fuzz --seconds 600` runs it.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/exec/answer_invariants.rs"]
mod answer_invariants;

fuzz_target!(|data: &[u8]| answer_invariants::hold(data));
