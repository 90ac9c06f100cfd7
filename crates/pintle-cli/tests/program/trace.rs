//! `pintle trace`: a run as a waterfall.

use insta::assert_snapshot;

use crate::support::{Said, World};

/// What happened, without when.
fn what(said: &Said) -> String {
    let text = said.to_string();
    let label = |line: &str| {
        line.split(['█', '▒', '░', '▏', '┊']).next().unwrap_or_default().trim_end().to_string()
    };
    // The axis has as many marks as the run took time.
    let is_axis =
        |line: &str| line.trim_start().starts_with("N ms") || line.trim_start().starts_with("0 ");
    text.lines().filter(|line| !is_axis(line)).map(label).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_last_run_is_shown_event_by_event() {
    let world = World::new();
    world.run(&["chat", "-q", "list ."]);
    world.run(&["chat", "-q", "run rm -rf / then list ."]);
    assert_snapshot!(what(&world.run(&["trace"])));
}

#[test]
fn a_call_that_waits_for_nobody_is_shown_with_the_guard_that_let_it_pass() {
    let world = World::strict();
    world.run(&["chat", "-q", "run ls"]);
    assert_snapshot!(what(&world.run(&["trace"])));
}

#[test]
fn a_given_run_is_shown_for_machines_too() {
    let world = World::new();
    world.run(&["chat", "-q", "list ."]);
    let first = world.run(&["trace", "--json"]).json();
    world.run(&["chat", "-q", "hello"]);
    let id = first["run"]["runId"].as_str().unwrap();
    for part in [id, &id[20..]] {
        assert_eq!(world.run(&["trace", part, "--json"]).json(), first);
    }
    assert_eq!(first["run"]["outcome"], "end_turn");
    let types = first["events"].as_array().unwrap().iter().map(|e| &e["type"]);
    let types: Vec<_> = types.filter(|kind| *kind != "hook.fired").collect();
    let call = ["tool.calls", "judged", "tool.start", "tool.end"];
    assert_eq!(
        types,
        [&["run.start", "prompt", "usage"], call.as_slice(), &["usage", "done"]].concat()
    );
}

#[test]
fn a_run_that_is_not_there_is_said_not_to_be() {
    let world = World::new();
    assert_snapshot!(world.transcript(&[&["trace"], &["trace", "nobody"]]));
    world.run(&["chat", "-q", "hello"]);
    world.run(&["chat", "-q", "hello"]);
    let begin_alike = world.run(&["runs", "--json"]).out;
    let start = begin_alike.split_once("\"runId\":\"").unwrap().1.get(..8).unwrap();
    let both = world.run(&["trace", start]);
    assert!(both.err.contains("matches 2 runs"), "{both}");
    let nothing = world.run(&["trace", ""]);
    assert_eq!(nothing.code, Some(1), "{nothing}");
}
