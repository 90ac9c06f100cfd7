//! Runs that end early: stopped while a real command runs, or by a database that fails.

use pintle::{Event, Verdict, points::ToolPre};
use pintle_agent::RunRequest;
use serde_json::json;

use super::{
    real,
    support::{Ends, assert_whole, calls, done, of_type, play, rest, says, until},
};

// R6.5: a real command is stopped with everything it started.
#[tokio::test]
async fn cancelling_stops_a_command_and_what_it_started() {
    let command = "(sleep 600; echo late > late.txt) & echo $! > pid.txt; echo started; wait";
    let script = json!([calls(&[("t1", "terminal", json!({"command": command}))])]);
    let world = real(script).await;
    let agent = world.agent();
    let mut run = agent.run(RunRequest::new("cli:test", "sleep"));
    until(&mut run, "tool.progress").await;
    let pid = std::fs::read_to_string(world.file("pid.txt")).unwrap();
    assert!(is_running(pid.trim()));
    run.cancel();
    let events = rest(run).await;
    assert_eq!(done(&events).1, "aborted");
    while is_running(pid.trim()) {
        tokio::task::yield_now().await;
    }
    assert_whole(&world.history().await);
}

/// Neither gone nor a zombie that nobody has collected yet.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

#[tokio::test]
async fn a_store_that_fails_ends_the_run_in_order() {
    let write = calls(&[("t1", "write_file", json!({"path": "a.txt", "content": "x"}))]);
    let world = real(json!([write, says("never said")])).await;
    let ends = Ends::watch(&world.hooks);
    let store = world.store.clone();
    // Between the model's answer and its results.
    let gate = move |_: Event<ToolPre>| {
        let store = store.clone();
        async move {
            store.close().await;
            Verdict::allow()
        }
    };
    world.hooks.register_gate(gate).unwrap();
    let events = play(&world.agent(), "write").await;
    assert_eq!(of_type(&events, "error")[0]["code"], "store");
    assert_eq!(of_type(&events, "tool.end").len(), 1);
    assert_eq!(done(&events).1, "error");
    assert_eq!(ends.reasons(), ["error"]);
}
