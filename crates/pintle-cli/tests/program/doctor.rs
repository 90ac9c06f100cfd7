//! `pintle doctor`: is everything in place?

use insta::assert_snapshot;

use crate::support::{World, holds};

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

// Opening a database looks at its first page only: damage further in shows only to whoever looks there.
#[test]
fn damage_beyond_the_first_page_is_found_and_left_as_it_is() {
    let world = World::new();
    for _ in 0..3 {
        assert_eq!(world.run(&["chat", "-q", "list ."]).code, Some(0));
    }
    assert_eq!(world.run(&["doctor"]).code, Some(0));
    let database = world.data().join("pintle.db");
    let whole = std::fs::read(&database).unwrap();
    let pages = whole.len() / 4096;
    assert!(pages > 8, "{pages}");
    let mut found = 0;
    for page in 1..pages {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0x5a);
        std::fs::write(&database, &damaged).unwrap();
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, Some(1), "page {page}: {said}");
        let told = format!("{}{}", said.out, said.err);
        assert!(
            told.contains("is damaged") && told.contains("left as it is"),
            "page {page}: {said}"
        );
        assert!(!told.contains("all is well"), "page {page}: {said}");
        assert!(holds(&database, &damaged), "page {page}");
        found += 1;
    }
    assert_eq!(found, pages - 1);
}
