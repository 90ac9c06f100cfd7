//! `pintle demo`: what a newcomer runs first.

use insta::assert_snapshot;

use crate::support::World;

#[test]
fn the_demo_shows_a_call_that_runs_one_that_never_does_and_one_that_is_asked_about() {
    let world = World::new();
    assert_snapshot!(world.run(&["demo", "--yes"]).to_string());
    assert!(!world.data().exists(), "the demo keeps nothing");
}

// R11.5
#[test]
fn without_a_terminal_the_demo_has_no_one_to_ask_and_says_so() {
    let world = World::new();
    let said = world.run(&["demo"]);
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("there is no one to ask"), "{said}");
    assert_snapshot!(said.to_string());
}

#[test]
fn the_demo_needs_no_home() {
    let world = World::new();
    let output = world.command(&["demo", "--yes"]).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
