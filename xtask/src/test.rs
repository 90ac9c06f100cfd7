//! `cargo xtask test`: the one command that says whether the repository is sound.

use std::time::SystemTime;

use crate::{
    dist, install,
    step::{Failed, Step, Steps, root},
};

pub(crate) const HELP: &str = "\
Installs what the tests need, then checks everything; stops at the first failure

Usage: cargo xtask test

It runs, in this order:
  cargo fmt --all --check
  cargo clippy --workspace --all-targets --features pintle-cli/wasm -- -D warnings
  cargo nextest run --workspace --features pintle-cli/wasm --no-run
  pintle-sandbox-launcher --tiers            (the tiers of the sandbox that this machine has)
  cargo nextest run --workspace --features pintle-cli/wasm
  cargo test --workspace --doc
  cargo doc --workspace --no-deps            (warnings denied)
  the examples tour, own_point and custom_channel
  cargo package                              (every public crate)
  cargo xtask dist --program target/debug/pintle

Where a tier is missing, the tests of the sandbox cannot run: they are left out, named, and the whole fails at its end.

Examples:
  cargo xtask test
  cargo nextest run -p pintle a_late_answer  one test, once everything is installed
";

/// The tests that need every tier of the sandbox.
const SANDBOX_TESTS: &str = "package(pintle-sandbox) and binary(held)";

/// Every crate, with what the program leaves out of a first build.
const ALL: [&str; 3] = ["--workspace", "--features", "pintle-cli/wasm"];

/// Every public crate as a registry would get it. That each builds is what the other steps show.
const PACKAGE: [&str; 11] = [
    "package",
    "--quiet",
    "--locked",
    "--no-verify",
    "--allow-dirty",
    "--workspace",
    "--exclude",
    "pintle-bench",
    "--exclude",
    "xtask",
    "--offline",
];

pub(crate) fn run() -> Result<(), Failed> {
    let mut steps = Steps::default();
    install::for_tests(&mut steps)?;
    for step in [
        Step::cargo(&["fmt", "--all", "--check"]),
        Step::cargo(&[&["clippy", "--all-targets"], &ALL[..], &["--", "-D", "warnings"]].concat()),
        Step::cargo(&[&["nextest", "run", "--no-run"], &ALL[..]].concat()),
    ] {
        steps.run(step)?;
    }
    // What the tests have built is started as it is: `cargo run -p` would build it again, with fewer features.
    let built = |name: &str, arguments: &[&str]| {
        Step::new(root().join("target/debug").join(name).display().to_string(), arguments)
    };
    let tiers = built("pintle-sandbox-launcher", &["--tiers"]).read()?;
    println!("Tiers of the sandbox on this machine:\n{tiers}");
    let missing: Vec<&str> = tiers.lines().filter(|line| !line.ends_with(": yes")).collect();
    let without = format!("not ({SANDBOX_TESTS})");
    let mut tests = [&["nextest", "run"], &ALL[..]].concat();
    if !missing.is_empty() {
        tests.extend(["-E", &without]);
    }
    // Shown with the command: the same seed makes every random test try the same things again.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    for step in [
        Step::cargo(&tests).env("PROPTEST_RNG_SEED", since.as_millis().to_string()),
        Step::cargo(&["test", "--workspace", "--doc"]),
        Step::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
        built("examples/tour", &[]),
        built("examples/own_point", &[]),
        built("examples/custom_channel", &[]),
        Step::cargo(&PACKAGE),
    ] {
        steps.run(step)?;
    }
    steps.close();
    dist::run(Some("target/debug/pintle"))?;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failed(format!(
            "these tests were not run: {SANDBOX_TESTS}. They need every tier of the sandbox, and this machine lacks\n{}",
            missing.join("\n")
        ))),
    }
}
