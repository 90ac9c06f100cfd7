//! `session.end` says how a run ended, at every exit. (Stopped and dropped runs: see `cancellation`.)

use pintle_agent::Limits;
use serde_json::{Value, json};

use crate::support::{Ends, World, calls, done, play, says};

#[tokio::test(start_paused = true)]
async fn session_end_has_the_reason_of_the_runs_outcome() {
    let finishing = |finish: &str| json!([{"text": "…", "finish": finish}]);
    let round = |cost: Value| {
        let mut round = calls(&[("t1", "list_dir", json!({"path": "."}))]);
        round["usage"] = json!({"costUsd": cost});
        round
    };
    let none = Limits::default();
    let free = || json!([round(json!(0.0)), says("never said")]);
    for (reason, script, limits) in [
        ("end_turn", json!([says("Done.")]), none),
        ("max_turns", free(), Limits { max_turns: 1, ..none }),
        (
            "budget_exceeded",
            json!([round(json!(2.0)), says("never said")]),
            Limits { max_cost_usd: Some(1.0), ..none },
        ),
        ("max_tokens", finishing("max_tokens"), none),
        ("refusal", finishing("refusal"), none),
        (
            "max_seconds",
            json!([{"delayMs": 600_000, "text": "never said"}]),
            Limits { max_seconds: Some(1), ..none },
        ),
        ("error", json!([{"error": {"code": "auth", "retryable": false}}]), none),
    ] {
        let world = World::new(script).await;
        let ends = Ends::watch(&world.hooks);
        let agent = world.builder().limits(limits).build().unwrap();
        let events = play(&agent, "go").await;
        assert_eq!(done(&events).1, reason);
        assert_eq!(ends.reasons(), [reason]);
    }
}
