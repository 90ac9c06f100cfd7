//! `--json`: for machines.

use serde_json::{Value, json};

use crate::support::World;

fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    types
}

// R6.6
#[test]
fn the_events_of_a_run_are_one_object_per_line_each_with_its_envelope() {
    let world = World::new();
    let said = world.run(&["chat", "--json", "-q", "list ."]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let events = said.lines();
    for event in &events {
        for field in ["type", "sessionId", "runId", "traceId", "platform"] {
            assert!(event[field].is_string(), "{field} in {event}");
        }
        assert!(event["ts"].is_u64() && event["turnIndex"].is_u64(), "{event}");
        assert_eq!(event["traceId"], events[0]["traceId"]);
    }
    let expected = [
        "run.start",
        "prompt",
        "usage",
        "tool.calls",
        "judged",
        "tool.start",
        "tool.end",
        "text.delta",
        "usage",
        "done",
    ];
    // The built-in consumers that fire are beside the point here.
    let own: Vec<_> = types(&events).into_iter().filter(|kind| *kind != "hook.fired").collect();
    assert_eq!(own, expected);
    let text: String = events
        .iter()
        .filter_map(|event| match event["type"] == "text.delta" {
            true => event["text"].as_str(),
            false => None,
        })
        .collect();
    let done = events.iter().find(|event| event["type"] == "done").unwrap();
    assert_eq!(done["text"], text);
}

#[test]
fn a_rejected_call_has_an_end_and_no_start() {
    let world = World::new();
    let events = world.run(&["chat", "--json", "-q", "read /etc/passwd"]).lines();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert!(of("tool.start").is_empty());
    let end = of("tool.end");
    assert_eq!((&end[0]["ok"], &end[0]["outcome"]), (&json!(false), &json!("rejected")));
    assert!(end[0]["error"].as_str().unwrap().contains("there is no one to ask"));
}

#[test]
fn a_run_that_fails_says_so_in_its_events_and_by_the_exit_code() {
    let world = World::new();
    let model = world
        .script("failing.json", &json!([{"error": {"code": "auth", "message": "no such key"}}]));
    let said = world.run(&["chat", "--json", "-q", "hello", "--model", &model]);
    assert_eq!(said.code, Some(1));
    let events = said.lines();
    assert_eq!(types(&events)[..4], ["run.start", "prompt", "error", "done"]);
    assert_eq!(events[2]["message"], "no such key");
    assert_eq!(events[3]["outcome"], "error");
}

#[test]
fn a_failure_before_any_run_is_one_object_too() {
    let world = World::new();
    let failing: [&[&str]; 5] = [
        &["chat", "--json", "-q", "hello", "--model", "offlin"],
        &["sessions", "show", "nobody", "--json"],
        &["--json", "trace"],
        &["hooks", "lint", "nowhere", "--json"],
        &["hooks", "schema", "no.such.point", "--json"],
    ];
    for arguments in failing {
        let said = world.run(arguments);
        assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{arguments:?} {said}");
        let problem = said.json();
        assert!(
            problem["error"]["message"].is_string() && problem["error"]["code"].is_string(),
            "{problem}"
        );
    }
}

#[test]
fn a_conversation_on_a_pipe_is_the_events_of_one_run_per_line() {
    let world = World::new();
    let said = world.piped(&["chat", "--json"], b"list .\n\nhello\n");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let events = said.lines();
    let starts = events.iter().filter(|event| event["type"] == "run.start").count();
    let done = events.iter().filter(|event| event["type"] == "done").count();
    assert_eq!((starts, done), (2, 2));
    assert!(events.iter().all(|event| event["sessionId"] == events[0]["sessionId"]));
}
