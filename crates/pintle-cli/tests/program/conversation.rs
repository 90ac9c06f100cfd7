//! `pintle chat` on a pipe: one message per line.

use insta::assert_snapshot;

use crate::support::{World, assert_whole};

#[test]
fn lines_are_messages_and_commands() {
    let world = World::new();
    world.write("notes.txt", "");
    let said = world.piped(&["chat"], b"list .\n/personality\n/nope\n\n/help\n/quit\nlist .\n");
    assert_eq!(said.code, Some(0));
    assert_snapshot!(crate::chat::without_times(&said.to_string(), &world));
    assert_eq!(world.exported()["session"]["messageCount"], 4, "nothing after /quit is heard");
}

#[test]
fn the_end_of_the_pipe_ends_the_conversation() {
    let world = World::new();
    let said = world.piped(&["chat"], b"list .");
    assert_eq!(said.code, Some(0));
    assert!(said.out.starts_with("In `.` there is:"), "{said}");
    assert_eq!(world.piped(&["chat"], b"").code, Some(0));
}

#[test]
fn the_hooks_that_are_bound_can_be_looked_at() {
    let world = World::new();
    let said = world.piped(&["chat"], b"/hooks\n");
    assert!(said.out.contains("terminal guard"), "{said}");
}

#[test]
fn a_new_conversation_begins_when_asked_for() {
    let world = World::new();
    let said = world.piped(&["chat"], b"list .\n/new\nlist .\nlist .\n");
    assert_eq!(said.code, Some(0));
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    let counts: Vec<_> = sessions.as_array().unwrap().iter().map(|s| &s["messageCount"]).collect();
    assert_eq!(counts, [8, 4]);
}

#[test]
fn the_personality_is_switched_and_stays_switched() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let chat = ["chat", "--profile", "my-agent"];
    let said = world
        .piped(&chat, b"/personality\n/personality raeder\n/personality reader\nwrite a.txt: x\n");
    assert_snapshot!(said.to_string());
    assert!(!world.file("a.txt").exists());
    let later = world.piped(&[&chat[..], &["--continue"]].concat(), b"/personality\n");
    assert!(later.err.starts_with("`reader` is active"), "{later}");
}

/// The newest first.
fn personalities(world: &World) -> Vec<serde_json::Value> {
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    sessions.as_array().unwrap().iter().map(|session| session["personality"].clone()).collect()
}

#[test]
fn a_new_conversation_can_be_somebody_elses_from_its_first_message_on() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let chat = ["chat", "--profile", "my-agent"];
    let said =
        world.piped(&chat, b"list .\n/new\n/personality reader\n/personality\nwrite a.txt: x\n");
    assert!(said.err.contains("`reader` is active; others: guide"), "{said}");
    assert_eq!(personalities(&world), ["reader".into(), serde_json::Value::Null], "{said}");
    assert!(!world.file("a.txt").exists());
    // The old one is as it was, and the next new one begins as usual.
    let new = [&chat[..], &["--new"]].concat();
    let said = world.piped(&new, b"/personality reader\nlist .\n/new\n/personality\nlist .\n");
    assert!(said.err.contains("`guide` is active; others: reader"), "{said}");
    let null = serde_json::Value::Null;
    assert_eq!(personalities(&world), [null.clone(), "reader".into(), "reader".into(), null]);
}

#[test]
fn looking_at_the_personality_makes_no_conversation() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let chat = ["chat", "--profile", "my-agent"];
    let said = world
        .piped(&chat, b"/personality\n/personality reader\n/personality\n/personality nobody\n");
    assert!(
        said.err.contains("`guide` is active;") && said.err.contains("`reader` is active;"),
        "{said}"
    );
    assert!(said.err.contains("nobody"), "{said}");
    assert_eq!(personalities(&world), Vec::<serde_json::Value>::new());
}

#[test]
fn a_personality_given_at_the_start_can_be_switched_too() {
    let world = World::new();
    assert_eq!(world.run(&["init", "my-agent"]).code, Some(0));
    let chat = ["chat", "--profile", "my-agent", "--personality", "reader"];
    let said = world.piped(&chat, b"list .\n/personality guide\nlist .\nlist .\n");
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(personalities(&world), ["guide"], "{said}");
}

#[test]
fn a_run_that_fails_does_not_end_the_conversation() {
    let world = World::new();
    let model = world.script(
        "script.json",
        &serde_json::json!([{"error": {"code": "auth", "message": "no such key"}}, {"text": "Better."}]),
    );
    let said = world.piped(&["chat", "--model", &model], b"hello\nhello again\n");
    assert_eq!(said.out, "Better.\n", "{said}");
    assert_snapshot!(said.to_string());
    assert_whole(&world.exported());
}

#[test]
fn bytes_that_are_no_text_end_nothing() {
    let world = World::new();
    world.write("notes.txt", "still here");
    let said = world.piped(&["chat"], b"list \xff\xfe\nread notes.txt\n");
    assert!(said.out.contains("still here"), "{said}");
}
