//! The examples run, and say what they promise.

use std::process::Command;

/// What an example prints. `cargo nextest run` and `cargo test` build the examples beside the tests.
fn run(example: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(example);
    let done = Command::new(&program)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; build all targets", program.display()));
    assert!(done.status.success(), "{example}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn an_agent_with_a_guard_is_kept_from_production() {
    assert_eq!(run("guarded_agent"), "deployed to \"staging\"\nDeployed.\n");
}

#[test]
fn a_custom_tool_is_guarded_like_a_built_in_one() {
    let said = run("custom_tool");
    assert!(said.contains("2 lines") && said.contains("keys.txt"), "{said}");
}
