//! `cargo xtask test`: the one command that says whether the repository is sound.

use std::{thread, time::SystemTime};

use crate::{
    dist, install,
    step::{Failed, Step, Steps, target_folder},
};

pub(crate) const HELP: &str = "\
Installs what the tests need, then checks everything; stops at the first failure

Usage: cargo xtask test

It runs, in this order:
  pintle-sandbox-launcher --tiers            (the tiers of the sandbox that this machine has)
  cargo fmt --all --check
  cargo nextest run --workspace --no-run     (built by clippy's compiler: a warning is an error)
  cargo nextest run --workspace
  cargo test --workspace --doc               (renders the docs too: a warning is an error)
  the examples tour, own_point and custom_channel
  cargo deny check licenses bans
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

/// Compiles this workspace with clippy's compiler, which lints what it builds: `cargo clippy` would check every dependency
/// once more, for minutes.
const LINTED: [&str; 2] = ["--config", "build.rustc-workspace-wrapper=\"clippy-driver\""];

pub(crate) fn run() -> Result<(), Failed> {
    install::for_builds(&mut Steps::default())?;
    let mut steps = Steps::default();
    // Installing waits for the network, and building for the processor.
    thread::scope(|scope| {
        let installed = scope.spawn(|| {
            let mut steps = Steps::in_background();
            install::for_tests(&mut steps).map(|()| steps)
        });
        check(&mut steps, || match installed.join() {
            Ok(installed) => installed,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Checks everything. What only the tests need is there when `installed` returns.
fn check(
    steps: &mut Steps,
    installed: impl FnOnce() -> Result<Steps, Failed>,
) -> Result<(), Failed> {
    let cargo = |arguments: &[&str], more: &[&str]| {
        Step::cargo(&[arguments, &ALL[..], &LINTED[..], more].concat())
            .env("CLIPPY_ARGS", "-Dwarnings")
    };
    steps.run(cargo(&["build"], &["--bin", "pintle-sandbox-launcher"]))?;
    // What the tests have built is started as it is: `cargo run -p` would build it again, with fewer features.
    let target = target_folder();
    let built = |name: &str, arguments: &[&str]| {
        Step::new(target.join("debug").join(name).display().to_string(), arguments)
    };
    let tiers = built("pintle-sandbox-launcher", &["--tiers"]).read()?;
    println!("Tiers of the sandbox on this machine:\n{tiers}");
    let missing: Vec<&str> = tiers.lines().filter(|line| !line.ends_with(": yes")).collect();
    let without = format!("not ({SANDBOX_TESTS})");
    let filter = if missing.is_empty() { vec![] } else { vec!["-E", without.as_str()] };

    steps.run(Step::cargo(&["fmt", "--all", "--check"]))?;
    steps.run(cargo(&["nextest", "run", "--no-run"], &[]))?;
    steps.include(installed()?);
    // Shown with the command: the same seed makes every random test try the same things again.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let tests = cargo(&["nextest", "run"], &filter);
    steps.run(tests.env("PROPTEST_RNG_SEED", since.as_millis().to_string()))?;
    let rustdoc = format!("build.rustdoc={:?}", target.join("debug/rustdoc-twice"));
    let docs = cargo(&["test", "--doc"], &["--config", &rustdoc]);
    for step in [
        docs.env("RUSTDOCFLAGS", "-D warnings"),
        built("examples/tour", &[]),
        built("examples/own_point", &[]),
        built("examples/custom_channel", &[]),
        Step::cargo(&["deny", "check", "licenses", "bans"]),
        Step::cargo(&PACKAGE),
    ] {
        steps.run(step)?;
    }
    steps.close();
    dist::run(Some(&target.join("debug/pintle").display().to_string()))?;
    if missing.is_empty() {
        return Ok(());
    }
    let left_out = cargo(&["nextest", "list"], &["-T", "oneline", "-E", SANDBOX_TESTS]).read()?;
    Err(Failed(format!(
        "this machine lacks\n{}\nand these tests, which need every tier of the sandbox, were not run:\n{left_out}",
        missing.join("\n")
    )))
}
