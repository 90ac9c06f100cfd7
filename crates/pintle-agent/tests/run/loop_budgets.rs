//! What ends a run that goes in circles, each with its own reason (R6.4).

use pintle_agent::Limits;
use serde_json::{Value, json};

use crate::support::{Ends, World, assert_whole, calls, done, of_type, play, says};

fn touch(id: &str, file: &str) -> Value {
    calls(&[(id, "terminal", json!({"command": format!("echo x >> {file}")}))])
}

async fn ended(script: Value, limits: Limits) -> (World, (String, String), Vec<String>) {
    let world = World::new(script).await;
    let ends = Ends::watch(&world.hooks);
    let agent = world.builder().limits(limits).build().unwrap();
    let events = play(&agent, "go").await;
    assert_whole(&world.history().await);
    (world, done(&events), ends.reasons())
}

fn times(world: &World, file: &str) -> usize {
    std::fs::read_to_string(world.file(file)).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn the_same_call_again_and_again_ends_the_run_and_the_one_too_many_does_not_run() {
    let limits = Limits { max_identical_calls: 2, ..Limits::default() };
    let script = json!([touch("t1", "a"), touch("t2", "a"), touch("t3", "a"), says("never said")]);
    let (world, (text, outcome), reasons) = ended(script, limits).await;
    assert_eq!((outcome.as_str(), times(&world, "a")), ("repeated_calls", 2));
    assert!(text.contains("the same tool call 2 times in a row"), "{text}");
    assert_eq!(reasons, ["repeated_calls"]);
    // Another call in between begins a new row.
    let script = json!([
        touch("t1", "a"),
        touch("t2", "a"),
        touch("t3", "b"),
        touch("t4", "a"),
        says("Done.")
    ]);
    let (world, (_, outcome), _) = ended(script, limits).await;
    assert_eq!((outcome.as_str(), times(&world, "a")), ("end_turn", 3));
}

#[tokio::test]
async fn more_calls_than_the_budget_end_the_run_also_when_they_come_together() {
    let limits = Limits { max_calls: 2, ..Limits::default() };
    let call = |id, file| (id, "terminal", json!({"command": format!("echo x >> {file}")}));
    let script =
        json!([calls(&[call("1", "a"), call("2", "b"), call("3", "c")]), says("never said")]);
    let (world, (text, outcome), reasons) = ended(script, limits).await;
    assert_eq!(outcome, "max_tool_calls");
    assert!(text.contains("2 tool calls"), "{text}");
    assert_eq!(["a", "b", "c"].map(|file| times(&world, file)), [1, 1, 0]);
    assert_eq!(reasons, ["max_tool_calls"]);
}

#[tokio::test]
async fn slips_of_the_model_are_no_denials_and_have_their_own_limit() {
    let unknown = |id| calls(&[(id, "no_such_tool", json!({}))]);
    let unfit = |id| calls(&[(id, "terminal", json!({"comand": id}))]);
    let torn = |id| json!({"toolCalls": [{"id": id, "name": "terminal", "inputRaw": "{"}]});
    let slips = [unknown("1"), unfit("2"), torn("3")];
    let good = json!([slips[0], slips[1], slips[2], touch("4", "a"), says("Done.")]);
    let (world, (_, outcome), _) = ended(good, Limits::default()).await;
    assert_eq!((outcome.as_str(), times(&world, "a")), ("end_turn", 1), "three slips end nothing");

    let script =
        json!([slips[0], slips[1], slips[2], unknown("4"), unfit("5"), says("never said")]);
    let world = World::new(script).await;
    let events = play(&world.agent(), "go").await;
    let (text, outcome) = done(&events);
    assert_eq!(
        (outcome.as_str(), &of_type(&events, "error")[0]["code"]),
        ("error", &json!("invalid_calls"))
    );
    assert!(text.contains("5 tool calls in a row could not be understood"), "{text}");
    assert_whole(&world.history().await);
}
