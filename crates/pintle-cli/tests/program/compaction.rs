//! R6.7: `/compact`, and what a person reads of a conversation that got too long.

use serde_json::{Value, json};

use crate::support::World;

fn says(text: &str) -> Value {
    json!({ "text": text })
}

#[test]
fn a_person_summarises_a_conversation_by_hand_and_sees_where_the_summary_ends() {
    let world = World::new();
    let answers = (1..=6).map(|n| says(&format!("answer {n}")));
    let more = [says("They counted to six."), says("answer 7")];
    let script: Vec<Value> = answers.chain(more).collect();
    let model = world.script("script.json", &Value::Array(script));
    let lines: String = (1..=6).map(|n| format!("question {n}\n")).collect();
    let input = format!("/compact\n{lines}/compact keep numbers\nquestion 7\n");
    let said = world.piped(&["chat", "--session", "mine", "--model", &model], input.as_bytes());
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.err.contains("there is no conversation to summarise yet"), "{said}");
    assert!(said.err.contains("Summarised"), "{said}");
    assert!(said.out.contains("answer 7"), "{said}");

    let exported = world.run(&["sessions", "export", "mine"]).json();
    assert_eq!(exported["messages"].as_array().unwrap().len(), 14, "nothing is lost");
    assert_eq!(exported["summary"]["text"], "They counted to six.");
    let shown = world.run(&["sessions", "show", "mine"]).out;
    let (before, after) = shown.split_once("They counted to six.").unwrap();
    assert!(before.contains("question 2") && after.contains("question 6"), "{shown}");
}

#[test]
fn what_is_left_out_is_told_to_the_person() {
    let world = World::new();
    let error = |code: &str| json!({"error": {"code": code, "message": "it says so"}});
    let script = json!([says("one"), error("too_long"), error("auth"), says("two")]);
    let model = world.script("script.json", &script);
    let said = world.piped(&["chat", "--model", &model], b"first\nsecond\n");
    assert!(said.out.contains("two"), "{said}");
    let told = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("older messages are left out"), "{said}");
    assert!(told.contains("could not be summarised (it says so)"), "{said}");
}
