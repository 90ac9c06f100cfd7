//! `pintle doctor`: is everything in place?

use insta::assert_snapshot;

use crate::support::World;

#[test]
fn a_set_up_that_works_is_told_point_by_point() {
    let world = World::new();
    world.run(&["chat", "-q", "list ."]);
    assert_snapshot!(world.transcript(&[&["doctor"], &["doctor", "--json"]]));
}

#[test]
fn what_does_not_work_is_told_with_the_way_out() {
    let world = World::new();
    let model = ["doctor", "--model", "anthropic/claude-sonnet-4-5"];
    assert_snapshot!(world.transcript(&[&model, &[&model[..], &["--json"]].concat()]));
}

#[test]
fn the_prompt_is_shown_part_by_part_with_who_contributed_it() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let show = ["doctor", "--show-prompt", "--profile", "my-agent"];
    let as_reader = [&show[..], &["--personality", "reader"]].concat();
    assert_snapshot!(world.transcript(&[&show, &as_reader]));
    let parts = world.run(&[&show[..], &["--json"]].concat()).json();
    assert_eq!(parts["parts"][0]["part"], "safety prelude");
    assert_eq!(parts["parts"][1]["by"], "guide");
}
