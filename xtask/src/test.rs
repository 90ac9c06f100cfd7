//! `cargo xtask test`: the one command that says whether the repository is sound.

use crate::{
    install,
    step::{Failed, Step, Steps},
};

pub(crate) const HELP: &str = "\
Installs what the tests need, then checks everything; stops at the first failure

Usage: cargo xtask test

It begins with the tiers of the sandbox that this machine has. Where one is missing, the tests of the sandbox cannot run:
they are left out, named, and the whole fails at its end. Then it runs, in this order:
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

/// The tests that need every tier of the sandbox.
const SANDBOX_TESTS: &str = "package(pintle-sandbox) and binary(held)";

pub(crate) fn run() -> Result<(), Failed> {
    let mut steps = Steps::default();
    install::for_tests(&mut steps)?;
    let tiers = Step::cargo(&["run", "--quiet", "--package", "pintle-sandbox", "--", "--tiers"]);
    let tiers = tiers.read()?;
    println!("Tiers of the sandbox on this machine:\n{tiers}");
    let missing: Vec<&str> = tiers.lines().filter(|line| !line.ends_with(": yes")).collect();
    let without = format!("not ({SANDBOX_TESTS})");
    let mut tests = vec!["nextest", "run", "--workspace"];
    if !missing.is_empty() {
        tests.extend(["-E", &without]);
    }
    for step in [
        Step::cargo(&["fmt", "--all", "--check"]),
        Step::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        Step::cargo(&tests),
        Step::cargo(&["test", "--workspace", "--doc"]),
        Step::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo(&["run", "--quiet", "-p", "pintle", "--example", "tour"]),
        Step::cargo(&["run", "--quiet", "-p", "pintle", "--example", "own_point"]),
    ] {
        steps.run(step)?;
    }
    steps.close();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failed(format!(
            "these tests were not run: {SANDBOX_TESTS}. They need every tier of the sandbox, and this machine lacks\n{}",
            missing.join("\n")
        ))),
    }
}
