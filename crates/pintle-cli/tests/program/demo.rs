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

// §16: `--json` for machines.
#[test]
fn the_demo_for_machines_is_the_events_of_its_runs_and_what_fired() {
    let world = World::new();
    for (arguments, ran) in [(&["demo", "--json"][..], 1), (&["demo", "--yes", "--json"], 2)] {
        let said = world.run(arguments);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said}");
        let mut lines = said.lines();
        let fired = lines.pop().unwrap();
        let of = |kind: &str| lines.iter().filter(|event| event["type"] == kind).count();
        assert_eq!((of("run.start"), of("done"), of("tool.start")), (3, 3, ran), "{said}");
        let points = fired["fired"].as_array().unwrap();
        let gate = points.iter().find(|entry| entry["point"] == "tool.pre").unwrap();
        assert!(gate["fires"].as_u64() > Some(0), "{fired}");
    }
}
