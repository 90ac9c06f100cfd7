//! R6.1: every call gets exactly one result, in the calls' order, in one message; an error is stored and replayed as one.

use pintle_agent::{Message, ToolCall, ToolError};
use serde_json::{Value, json};

use crate::support::{
    World, answer, assert_whole, calls, done, of_type, play, results, says, tool,
};
use pintle_agent::testing::llm_fn;

#[tokio::test(start_paused = true)]
async fn every_kind_of_call_gets_one_result_in_order_and_errors_are_replayed_as_errors() {
    let asked = json!({"toolCalls": [
        {"id": "malformed", "name": "write_file", "inputRaw": "{\"path\": \"a.txt\", "},
        {"id": "unknown", "name": "write_fil", "input": {"path": "a.txt", "content": "x"}},
        {"id": "invalid", "name": "write_file", "input": {"path": 7}},
        {"id": "panics", "name": "panics", "input": {}},
        {"id": "late", "name": "terminal", "input": {"command": "sleep 600", "timeoutMs": 50}},
        {"id": "fails", "name": "read_file", "input": {"path": "missing.txt"}},
        {"id": "works", "name": "write_file", "input": {"path": "b.txt", "content": "x"}},
    ]});
    let world = World::new(json!([asked, says("So much."), says("Indeed.")])).await;
    let panics = tool("panics", |_| async { panic!("a bug in a tool") });
    let agent = world.builder().tools([panics]).build().unwrap();
    let events = play(&agent, "do it all").await;
    assert_eq!(done(&events).1, "end_turn");

    let ends: std::collections::BTreeMap<String, String> = of_type(&events, "tool.end")
        .iter()
        .map(|end| (text(&end["toolCallId"]), text(&end["outcome"])))
        .collect();
    let expected = [
        ("malformed", "rejected", "it is not JSON"),
        ("unknown", "rejected", "there is no tool `write_fil`; did you mean `write_file`?"),
        ("invalid", "rejected", "invalid arguments for `write_file`"),
        ("panics", "panicked", "the tool panicked"),
        ("late", "timed_out", "time limit of 50 ms"),
        ("fails", "error", "missing.txt"),
        ("works", "ok", ""),
    ];
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(history.len(), 4, "all results are in one message");
    let stored = results(&history);
    assert_eq!(stored.len(), expected.len());
    for ((id, failed, content), (expected_id, outcome, says)) in stored.iter().zip(expected) {
        assert_eq!(id, expected_id);
        assert_eq!(ends[id], outcome);
        assert_eq!(*failed, outcome != "ok", "{id}");
        assert!(content.contains(says), "{id}: {content}");
    }

    // The next request of this run, and the first of the next, carry the same results.
    play(&agent, "again").await;
    for request in &world.llm.requests()[1..] {
        assert_eq!(results(&request.messages), stored);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}

// R6.1: a provider that repeats an id does not make two calls one.
#[tokio::test(start_paused = true)]
async fn calls_that_share_an_id_each_get_their_own_result() {
    let call = |say: &str| ToolCall::default().id("same").name("echo").input(json!({ "say": say }));
    let twice = llm_fn(move |request| match request.messages.len() {
        1 => answer("", vec![call("one"), call("two")]),
        _ => answer("Done.", vec![]),
    });
    let world = World::new(json!([])).await;
    let echo = tool("echo", |args| async move { Ok::<_, ToolError>(text(&args["say"])) });
    let agent = world.builder_with(twice).tools([echo]).build().unwrap();
    let events = play(&agent, "echo").await;
    assert_eq!(of_type(&events, "tool.end").len(), 2);
    let said: Vec<_> =
        results(&world.history().await).into_iter().map(|(_, _, said)| said).collect();
    assert_eq!(said, ["one", "two"]);
}

// R6.1: results keep the calls' order, whichever ends first.
#[tokio::test(start_paused = true)]
async fn tools_run_at_once_and_results_keep_their_order() {
    let both = [("t1", "first", json!({})), ("t2", "second", json!({}))];
    let world = World::new(json!([calls(&both), says("Both.")])).await;
    // Each waits for the other: one after another they would never end.
    let meet = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let (second_done, wait) = tokio::sync::watch::channel(false);
    let (here, there) = (meet.clone(), meet);
    let first = tool("first", move |_| {
        let (meet, mut wait) = (here.clone(), wait.clone());
        async move {
            meet.wait().await;
            wait.wait_for(|done| *done).await.unwrap();
            Ok("one".into())
        }
    });
    let second_done = std::sync::Arc::new(second_done);
    let second = tool("second", move |_| {
        let (meet, done) = (there.clone(), second_done.clone());
        async move {
            meet.wait().await;
            done.send_replace(true);
            Ok("two".into())
        }
    });
    let agent = world.builder().tools([first, second]).build().unwrap();
    let events = play(&agent, "both").await;
    assert_eq!(of_type(&events, "tool.start").len(), 2);
    let history = world.history().await;
    assert_whole(&history);
    let said: Vec<_> = results(&history).into_iter().map(|(_, _, said)| said).collect();
    assert_eq!(said, ["one", "two"]);
}

// An answer that was cut by the token limit is not acted upon.
#[tokio::test(start_paused = true)]
async fn calls_of_an_answer_that_was_cut_do_not_run_and_still_get_results() {
    for (finish, outcome) in [("max_tokens", "max_tokens"), ("refusal", "refusal")] {
        let mut cut = calls(&[("t1", "write_file", json!({"path": "a.txt", "content": "x"}))]);
        cut["finish"] = json!(finish);
        let world = World::new(json!([cut])).await;
        let events = play(&world.agent(), "write").await;
        assert_eq!(done(&events).1, outcome);
        assert!(!world.file("a.txt").exists());
        let history = world.history().await;
        assert_whole(&history);
        assert!(
            matches!(history.last(), Some(Message::ToolResults { results, .. }) if results[0].is_error)
        );
    }
}

// A stream that stops without its end is an error. (That no tool of it runs is shown over a socket, in the
// program's tests.)
#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_asked_for_again() {
    let cut = json!({"text": "I will", "cut": true});
    let world = World::new(json!([cut, cut, says("I will write.")])).await;
    let events = play(&world.agent(), "write").await;
    assert_eq!(done(&events), ("I will write.".into(), "end_turn".into()));
    assert_eq!(world.history().await.len(), 2, "half answers are not stored");
}
