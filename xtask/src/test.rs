//! `cargo xtask test`: the one command that says whether the repository is sound.

use crate::{
    install,
    step::{Failed, Step, Steps},
};

pub(crate) const HELP: &str = "\
Installs what the tests need, then checks everything; stops at the first failure

Usage: cargo xtask test

It runs, in this order:
  cargo run -p pintle-sandbox --example tiers  (says which tiers of the sandbox this machine has; fails without all of them)
  cargo fmt --all --check
  cargo clippy --workspace --all-targets -- -D warnings
  cargo nextest run --workspace
  cargo test --workspace --doc
  cargo doc --workspace --no-deps            (warnings denied)
  cargo run -p pintle --example tour         (and own_point)

Examples:
  cargo xtask test
  cargo nextest run -p pintle a_late_answer  one test, once everything is installed
";

pub(crate) fn run() -> Result<(), Failed> {
    let mut steps = Steps::default();
    install::for_tests(&mut steps)?;
    for step in [
        Step::cargo(&["run", "--quiet", "-p", "pintle-sandbox", "--example", "tiers"]),
        Step::cargo(&["fmt", "--all", "--check"]),
        Step::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        Step::cargo(&["nextest", "run", "--workspace"]),
        Step::cargo(&["test", "--workspace", "--doc"]),
        Step::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo(&["run", "--quiet", "-p", "pintle", "--example", "tour"]),
        Step::cargo(&["run", "--quiet", "-p", "pintle", "--example", "own_point"]),
    ] {
        steps.run(step)?;
    }
    steps.close();
    Ok(())
}
