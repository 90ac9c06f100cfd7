//! A limit on cost, and a model that does not say what it costs (R6.4).

use pintle_agent::Limits;
use serde_json::json;

use crate::support::{Ends, World, assert_whole, calls, done, of_type, play, says};

fn limits() -> Limits {
    Limits { max_cost_usd: Some(1.0), ..Limits::default() }
}

#[tokio::test]
async fn a_run_with_a_limit_does_not_go_on_without_knowing_what_it_spends() {
    let list = |id| calls(&[(id, "list_dir", json!({"path": "."}))]);
    let world = World::new(json!([list("t1"), list("t2"), says("never said")])).await;
    let ends = Ends::watch(&world.hooks);
    let agent = world.builder().limits(limits()).build().unwrap();
    let events = play(&agent, "go").await;
    let (text, outcome) = done(&events);
    assert_eq!(outcome, "error");
    assert!(text.contains("$1.0000") && text.contains("is not known"), "{text}");
    assert_eq!(of_type(&events, "error")[0]["code"], "cost_unknown");
    assert_eq!(ends.reasons(), ["error"]);
    assert_eq!(world.llm.requests().len(), 1, "nothing more was spent");
    assert_whole(&world.history().await);
}

#[tokio::test]
async fn an_answer_that_was_paid_for_already_is_not_thrown_away() {
    let world = World::new(json!([says("Forty-two.")])).await;
    let agent = world.builder().limits(limits()).build().unwrap();
    assert_eq!(done(&play(&agent, "go").await), ("Forty-two.".into(), "end_turn".into()));
}

#[tokio::test]
async fn what_a_sub_agent_spends_unknown_counts_too() {
    let mut delegate = calls(&[("t1", "delegate", json!({"task": "look"}))]);
    delegate["usage"] = json!({"costUsd": 0.0});
    let world = World::new(json!([delegate, says("Looked."), says("never said")])).await;
    let agent = world.builder().limits(limits()).build().unwrap();
    let events = play(&agent, "go").await;
    assert_eq!(of_type(&events, "error")[0]["code"], "cost_unknown");
    assert_eq!(world.llm.requests().len(), 2);
}

#[tokio::test]
async fn a_limit_of_nothing_asks_no_model() {
    let world = World::new(json!([says("never said")])).await;
    let limits = Limits { max_cost_usd: Some(0.0), ..Limits::default() };
    let agent = world.builder().limits(limits).build().unwrap();
    assert_eq!(done(&play(&agent, "go").await).1, "budget_exceeded");
    assert!(world.llm.requests().is_empty());
}
