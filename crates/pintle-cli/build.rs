//! Links the program at fixed addresses on Linux.
//!
//! Every confined command starts this program twice. A position-independent program has 80,000 addresses for the dynamic
//! linker to adjust at each start, which takes longer than the rest of it. docs/build-times.md has the figures. The stack,
//! the heap and the libraries stay at random addresses.

#![allow(clippy::print_stdout, reason = "Cargo reads it there")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
