//! Takes the place of rustdoc in `cargo test --doc`: renders the crate's docs, then runs its doc tests.
//!
//! `cargo doc` would check every dependency once more; here the docs use what the tests have built.

use std::{
    env,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// Options of the doc tests that have a value.
const OF_TESTS: [&str; 4] =
    ["--test-args", "--test-run-directory", "--test-runtool", "--test-runtool-arg"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let is_test = arguments.iter().any(|it| it == "--test");
    match (!is_test || rustdoc(&without_tests(&arguments))) && rustdoc(&arguments) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn without_tests(arguments: &[String]) -> Vec<String> {
    let mut rendering = Vec::new();
    let mut all = arguments.iter();
    while let Some(argument) = all.next() {
        if OF_TESTS.contains(&argument.as_str()) {
            all.next();
        } else if argument != "--test" {
            rendering.push(argument.clone());
        }
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    rendering.extend(["-o".into(), target.join("doc").display().to_string()]);
    rendering
}

fn rustdoc(arguments: &[String]) -> bool {
    Command::new("rustdoc").args(arguments).status().is_ok_and(|status| status.success())
}
