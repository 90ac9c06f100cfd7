//! `pintle tickets`, and agents at the same board.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::World;

fn ticket(world: &World, id: u32) -> Value {
    world.run(&["tickets", "show", &id.to_string(), "--json"]).json()["ticket"].clone()
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"toolCalls": [{"id": id, "name": name, "input": input}]})
}

#[test]
fn a_ticket_is_created_taken_and_done() {
    let world = World::new();
    assert_snapshot!(world.transcript(&[
        &["tickets"],
        &["tickets", "create", "Mend the parser", "--criteria", "it parses"],
        &["tickets", "create", "Write a page"],
        &["tickets", "complete", "2", "--summary", "written"],
        &["tickets", "take", "2"],
        &["tickets", "complete", "2", "--summary", "written"],
        &["tickets"],
        &["tickets", "list", "--state", "todo", "--json"],
        &["tickets", "show", "1"],
        &["tickets", "delete", "1"],
        &["tickets", "show", "1"],
        &["tickets", "create", " "],
    ]));
}

// §14: the check decides, in its sandbox; what it must not write stays unwritten.
#[test]
fn an_agent_completes_a_ticket_when_its_check_passes_and_not_before() {
    let world = World::new();
    let check = "touch ../escaped; test -e made.txt";
    world.run(&["tickets", "create", "Make a file", "--check", check]);
    let done = || call("c", "ticket_complete", json!({"id": 1, "summary": "made"}));
    let take = || call("t", "ticket_take", json!({"id": 1}));
    let model =
        world.script("script.json", &json!([take(), done(), {"text": "It needs revision."}]));
    let said = world.run(&["chat", "--json", "-q", "go", "--model", &model]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.out.contains("ticket 1 needs revision: the check"), "{said}");
    let revised = ticket(&world, 1);
    assert_eq!(
        (&revised["state"], &revised["assignee"]),
        (&json!("needs_revision"), &json!("default"))
    );

    let make = call("w", "write_file", json!({"path": "made.txt", "content": "x"}));
    let model = world.script("more.json", &json!([make, take(), done(), {"text": "Done."}]));
    let said = world.run(&["chat", "-q", "again", "--model", &model]);
    assert_eq!(said.out.trim(), "Done.", "{said}");
    assert_eq!(ticket(&world, 1)["state"], "done");
    let shown = world.run(&["tickets", "show", "1"]).out;
    assert!(shown.contains("1 of 2 accepted"), "{shown}");
    assert!(!world.file("../escaped").exists(), "the check runs in its zone");
}

// §14: an error in the verifier rejects.
#[test]
fn criteria_that_the_model_cannot_judge_reject_a_completion() {
    let world = World::new();
    world.run(&["tickets", "create", "Mend it", "--criteria", "it works"]);
    world.run(&["tickets", "take", "1"]);
    let complete = ["tickets", "complete", "1", "--summary", "mended", "--model"];
    let model = world.script("script.json", &json!([{"text": "I like it"}]));
    let said = world.run(&[&complete[..], &[&model]].concat());
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.out.contains("ticket 1 needs revision"), "{said}");
    world.run(&["tickets", "take", "1"]);
    let model = world.script("pass.json", &json!([{"text": "PASS"}]));
    let said = world.run(&[&complete[..], &[&model]].concat());
    assert_eq!((said.code, said.out.as_str()), (Some(0), "ticket 1 is done\n"), "{said}");
}

#[test]
fn the_verifier_can_be_switched_off_and_tickets_still_work() {
    let world = World::new();
    world.run(&["tickets", "create", "Make a file", "--check", "touch ran; false"]);
    std::fs::write(world.data().join("pintle.toml"), "[consumers]\noff = [\"ticket_verifier\"]\n")
        .unwrap();
    world.run(&["tickets", "take", "1"]);
    let said = world.run(&["tickets", "complete", "1", "--summary", "made"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "ticket 1 is done\n"), "{said}");
    assert!(!world.file("ran").exists());
    let listed = world.run(&["hooks", "list", "--json"]).json();
    let verifier = listed.as_array().unwrap().iter().find(|row| row["name"] == "ticket verifier");
    assert_eq!(verifier.unwrap()["state"], "disabled", "{listed}");
}
