//! The examples run, and say what they promise.

use std::{env, process::Command};

/// What an example prints. `cargo nextest run` and `cargo test` build the examples beside the tests.
fn run(example: &str) -> String {
    let tests = env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(example);
    let done = Command::new(&program)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; build all targets", program.display()));
    assert!(done.status.success(), "{example}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn an_own_point_is_declared_bound_and_fired() {
    assert!(run("own_point").contains("blocked by"));
}

#[test]
fn a_handler_by_name_stops_what_its_config_forbids() {
    let said = run("by_name");
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("ls: ") && lines[0].contains(r#""continue":true"#), "{said}");
    assert!(lines[1].contains("the config forbids it"), "{said}");
}

#[test]
fn every_fire_of_every_thread_reaches_the_handler() {
    assert_eq!(run("threads"), "400 messages\n");
}

#[test]
fn the_tour_goes_to_its_end() {
    assert!(!run("tour").is_empty());
}
