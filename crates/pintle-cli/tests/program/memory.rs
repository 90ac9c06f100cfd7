//! R6.8: what an agent notes in one conversation it knows in the next.

use serde_json::{Value, json};

use crate::support::World;

fn call(name: &str, input: Value) -> Value {
    json!({"toolCalls": [{"id": "c", "name": name, "input": input}]})
}

#[test]
fn a_note_of_one_conversation_is_in_the_prompt_of_the_next_until_it_is_deleted() {
    let world = World::new();
    let note = call("memory_write", json!({"text": "Ann likes tabs"}));
    let model = world.script("write.json", &json!([note, {"text": "Noted."}]));
    assert_eq!(world.run(&["chat", "-q", "remember", "--model", &model]).out.trim(), "Noted.");
    let find = call("memory_search", json!({"query": "TABS?"}));
    let model = world.script("find.json", &json!([find, {"text": "Found."}]));
    let said = world.run(&["chat", "-q", "tabs?", "--json", "--model", &model]);
    assert!(said.out.contains("- Ann likes tabs"), "{said}");

    let listed = world.run(&["memory", "--json"]).json();
    assert_eq!(listed[0]["text"], "Ann likes tabs", "{listed}");
    assert_eq!(
        (&listed[0]["personality"], &listed[0]["untrusted"]),
        (&json!("default"), &json!(false))
    );
    let prompt = || world.run(&["doctor", "--show-prompt"]).out;
    assert!(prompt().contains("Ann likes tabs"), "{}", prompt());
    let elsewhere = world.file("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut command = world.command(&["doctor", "--show-prompt"]);
    let other = world.said(command.current_dir(elsewhere).output().unwrap());
    assert!(!other.out.contains("Ann likes tabs"), "notes belong to their folder: {other}");

    assert_eq!(world.run(&["memory", "search", "spaces"]).out, "No notes.\n");
    assert!(world.run(&["memory", "search", "likes"]).out.contains("Ann likes tabs"));
    assert_eq!(world.run(&["memory", "delete", "1"]).out, "deleted note 1\n");
    assert!(!prompt().contains("Ann likes tabs"));
    let gone = world.run(&["memory", "delete", "1"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.contains("there is no note 1"), "{gone}");
}
