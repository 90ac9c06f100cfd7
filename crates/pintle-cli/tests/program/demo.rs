//! `pintle demo`: what a newcomer runs first.

use insta::assert_snapshot;

use crate::{
    chat::without_times,
    support::{World, settled},
    terminal::{keys, play_at, wait, wait_for_question},
};

/// The steps without the times, and the waterfall of step 6 without the bars.
fn steps(rendered: &str, world: &World) -> String {
    let (steps, last) = rendered.split_once("6/6").unwrap();
    let row = |line: &str| -> String {
        let mut words: Vec<&str> =
            line.split(['█', '▏', ' ']).filter(|word| !word.is_empty()).collect();
        if words.last().is_some_and(|unit| ["ms", "s", "µs"].contains(unit)) {
            words.truncate(words.len() - 2);
            words.push("TIME");
        }
        words.join(" ")
    };
    let last: Vec<_> = settled(last, &world.root()).lines().map(row).collect();
    // The hook has three seconds; a busy machine notices later that they are over.
    let steps = (1..10).fold(without_times(steps, world), |steps, tenth| {
        steps.replace(&format!("within 3.{tenth}"), "within 3.0")
    });
    format!("{steps}6/6 {}", last.join("\n").trim_end())
}

#[test]
fn the_demo_shows_six_steps_and_leaves_a_run_that_can_be_traced() {
    let world = World::new();
    for columns in [80, 50] {
        let screen = play_at(&world, columns, &["demo", "--yes"], &[wait("your own rules")]);
        assert_eq!(screen.code, 0, "{}", screen.text);
        assert_snapshot!(format!("demo_{columns}"), steps(&screen.rendered, &world));
        for words in [
            "3 calls blocked, 1 write refused by the kernel, 1 approved, 0 ran unjudged.",
            "scan crashed",
            "scan timed out",
        ] {
            let seen = screen.rendered.split_whitespace().collect::<Vec<_>>().join(" ");
            // A narrow terminal has no room for the whole label.
            let is_cut = columns == 50 && words.starts_with("scan");
            assert!(seen.contains(words) || is_cut, "{}", screen.rendered);
        }
    }
    let trace = world.run(&["trace"]);
    assert_eq!(trace.code, Some(0), "{trace}");
    assert!(trace.out.contains("deploy.sh") || trace.out.contains("terminal"), "{trace}");
    // Nothing of the person's own is changed.
    for file in ["trust.json", "pintle.toml", "accepted.json", "trust.lock"] {
        assert!(!world.data().join(file).exists(), "{file}");
    }
    assert_eq!(world.run(&["approvals", "rules", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn a_reader_goes_through_the_demo_step_by_step_and_answers_its_question() {
    let world = World::new();
    let next = |title: &str| [wait("Enter next"), keys("\r"), wait(title)];
    let mut steps = vec![wait("A guard says no")];
    for title in
        ["A guard crashes", "A guard hangs", "write outside the folder", "A person is asked"]
    {
        steps.extend(next(title));
    }
    steps.extend([
        wait("Edit config.toml?"),
        wait_for_question(),
        keys("n"),
        wait("denied by you"),
    ]);
    steps.extend(next("pintle trace"));
    let screen = play_at(&world, 80, &["demo"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(screen.rendered.contains("4 calls blocked"), "{}", screen.rendered);
    assert!(screen.reads_lines, "{}", screen.text);
}

#[test]
fn a_reader_may_leave_the_demo_at_any_step() {
    let world = World::new();
    let steps = [wait("Enter next"), keys("q")];
    let screen = play_at(&world, 80, &["demo"], &steps);
    assert_eq!(screen.code, 0, "{}", screen.text);
    assert!(!screen.text.contains("A guard hangs"), "{}", screen.text);
}

// R11.5
#[test]
fn without_a_terminal_the_demo_has_no_one_to_ask_and_says_so() {
    let world = World::new();
    let said = world.run(&["demo"]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.err.contains("there is no one to ask"), "{said}");
    assert!(said.err.contains("`pintle demo --yes` answers with yes"), "{said}");
}

#[test]
fn the_demo_needs_no_home() {
    let world = World::new();
    let output = world.command(&["demo", "--yes"]).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

// §16: `--json` for machines.
#[test]
fn the_demo_for_machines_is_the_events_of_its_run_and_that_the_proofs_hold() {
    let world = World::new();
    for (arguments, ran) in [(&["demo", "--json"][..], 2), (&["demo", "--yes", "--json"], 3)] {
        let said = world.run(arguments);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said}");
        let mut lines = said.lines();
        assert_eq!(lines.pop().unwrap()["proofs"], "hold", "{said}");
        let of = |kind: &str| lines.iter().filter(|event| event["type"] == kind).count();
        assert_eq!((of("run.start"), of("done"), of("tool.start")), (1, 1, ran), "{said}");
    }
}
