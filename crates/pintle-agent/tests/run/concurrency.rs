//! Many sessions at once, and many runs in one.

use futures_util::{StreamExt, future::join_all};
use pintle_agent::{
    Agent, Limits, LlmRequest, Message, NewMessage, NewSession, RunRequest, ToolCall, ToolResult,
};
use serde_json::json;

use crate::support::{
    Ends, Swamp, World, answer, assert_whole, done, last_user, messages, rest, results, tool,
};
use pintle_agent::testing::{Answer, llm_fn};

/// Writes what it is told to a file of that name, then says so.
fn writes(request: &LlmRequest) -> Answer {
    let told = last_user(&request.messages);
    match request.messages.last() {
        Some(Message::User { .. }) => {
            let input = json!({"path": format!("{told}.txt"), "content": told});
            let id = format!("call-{told}");
            answer("", vec![ToolCall::default().id(id).name("write_file").input(input)])
        }
        _ => answer(&format!("wrote {told}"), vec![]),
    }
}

async fn writer() -> (World, Agent) {
    let world = World::new(json!([])).await;
    let agent = world.builder_with(llm_fn(writes)).build().unwrap();
    (world, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sessions_at_once_each_get_their_own_answer() {
    let (world, agent) = writer().await;
    let runs = (0..50).map(|n| {
        let run = agent.run(RunRequest::new(format!("cli:{n}"), format!("note-{n}")));
        async move { (n, rest(run).await) }
    });
    for (n, events) in join_all(runs).await {
        assert_eq!(done(&events), (format!("wrote note-{n}"), "end_turn".into()));
        let sessions: std::collections::BTreeSet<_> =
            events.iter().map(|event| event["sessionId"].to_string()).collect();
        assert_eq!(sessions.len(), 1, "no event of another run");
        assert!(events.iter().all(|event| event["sessionKey"] == format!("cli:{n}")));
        assert_eq!(
            std::fs::read_to_string(world.file(&format!("note-{n}.txt"))).unwrap(),
            format!("note-{n}")
        );
    }
    let sessions = world.store.sessions().await.unwrap();
    assert_eq!(sessions.len(), 50);
    for session in sessions {
        let history = messages(world.store.history(&session.id).await.unwrap());
        assert_eq!(history.len(), 4);
        assert_whole(&history);
        assert_eq!(last_user(&history), session.key.replace("cli:", "note-"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_one_session_take_turns() {
    let (world, agent) = writer().await;
    let runs = (0..20).map(|n| rest(agent.run(RunRequest::new("cli:test", format!("note-{n}")))));
    for (n, events) in join_all(runs).await.into_iter().enumerate() {
        assert_eq!(done(&events), (format!("wrote note-{n}"), "end_turn".into()));
    }
    let stored = world.store.history(&world.session().await.id).await.unwrap();
    assert_eq!(stored.len(), 80);
    for run in stored.chunks(4) {
        assert!(run.iter().all(|message| message.run_id == run[0].run_id), "no run within another");
    }
    assert_whole(&messages(stored));
}

// R6.5: a run that is stopped before its turn leaves the one that has it alone.
#[tokio::test(start_paused = true)]
async fn stopping_a_run_that_waits_for_its_turn_disturbs_nobody() {
    let world = World::new(json!([])).await;
    let swamp = Swamp::default();
    let (go, wait) = tokio::sync::watch::channel(false);
    let in_tool = swamp.clone();
    let slow = tool("slow", move |_| {
        let (reached, mut wait) = (in_tool.stuck::<()>(), wait.clone());
        async move {
            tokio::select! {
                () = reached => {}
                _ = wait.wait_for(|go| *go) => {}
            }
            Ok("slow and steady".into())
        }
    });
    let asks = |request: &LlmRequest| match request.messages.last() {
        Some(Message::User { text, .. }) if text == "slow" => {
            let call = ToolCall::default().id("t1").name("slow").input(json!({}));
            answer("", vec![call])
        }
        _ => answer("Done.", vec![]),
    };
    let agent = world.builder_with(llm_fn(asks)).tools([slow]).build().unwrap();
    let first = agent.run(RunRequest::new("cli:test", "slow"));
    swamp.reached().await;
    let second = agent.run(RunRequest::new("cli:test", "me too"));
    // Until it waits for its turn, which is the last thing it does.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    second.cancel();
    assert_eq!(done(&rest(second).await).1, "aborted");
    go.send_replace(true);
    assert_eq!(done(&rest(first).await), ("Done.".into(), "end_turn".into()));
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(results(&history), [("t1".to_string(), false, "slow and steady".to_string())]);
    assert_eq!(history.len(), 4);
    let third = agent.run(RunRequest::new("cli:test", "and I"));
    assert_eq!(done(&rest(third).await).1, "end_turn");
}

// R6.5: stopped at any moment, also in the middle of a write to the store.
#[tokio::test(flavor = "multi_thread")]
async fn runs_stopped_at_random_moments_leave_sessions_that_can_be_resumed() {
    let (world, agent) = writer().await;
    let ends = Ends::watch(&world.hooks);
    let mut random = crate::random::Random::new();
    let events = rest(agent.run(RunRequest::new("cli:test", "first"))).await.len() as u64;
    for n in 0..150 {
        let mut run = agent.run(RunRequest::new("cli:test", format!("note-{n}")));
        // From before its first event to after its last one.
        for _ in 0..random.below(events + 1) {
            run.next().await;
        }
        if n % 3 == 0 {
            drop(run)
        } else {
            run.cancel();
            rest(run).await;
        }
    }
    agent.settle().await;
    assert_eq!(ends.reasons().len(), 151, "every run ended, once");
    assert_whole(&world.history().await);
    let last = rest(agent.run(RunRequest::new("cli:test", "last"))).await;
    assert_eq!(done(&last), ("wrote last".into(), "end_turn".into()));
    assert_whole(&world.history().await);
}

// R6.4: the time limit is for the run, not for the wait before it.
#[tokio::test(start_paused = true)]
async fn waiting_for_its_turn_does_not_count_as_a_runs_time() {
    let world = World::new(json!([])).await;
    let swamp = Swamp::default();
    let slow = swamp.clone();
    let asks = |request: &LlmRequest| match last_user(&request.messages).as_str() {
        "slow" => answer("", vec![ToolCall::default().id("t1").name("slow").input(json!({}))]),
        _ => answer("Done.", vec![]),
    };
    let limits = Limits { max_seconds: Some(3), ..Limits::default() };
    let agent = world
        .builder_with(llm_fn(asks))
        .tools([tool("slow", move |_| slow.stuck())])
        .limits(limits)
        .build()
        .unwrap();
    let first = agent.run(RunRequest::new("cli:test", "slow"));
    swamp.reached().await;
    // The last waits for twice as long as it may take.
    let second = agent.run(RunRequest::new("cli:test", "slow"));
    let last = agent.run(RunRequest::new("cli:test", "quick"));
    assert_eq!(done(&rest(first).await).1, "max_seconds");
    assert_eq!(done(&rest(second).await).1, "max_seconds");
    assert_eq!(done(&rest(last).await), ("Done.".into(), "end_turn".into()));
}

// Whatever a store holds, say of a version in which processes did not take turns: the session still works.
#[tokio::test(start_paused = true)]
async fn messages_between_a_call_and_its_result_do_not_spoil_a_session() {
    let world = World::new(json!([])).await;
    let new = NewSession { key: "cli:test".into(), platform: "cli".into(), ..Default::default() };
    let session = world.store.open(new).await.unwrap();
    let call = ToolCall::default().id("t1").name("slow").input(json!({}));
    let result =
        ToolResult::default().tool_call_id("t1").tool_name("slow").content("slow and steady");
    let stored = [
        Message::user("slow"),
        Message::assistant("", vec![call]),
        Message::user("meanwhile"),
        Message::assistant("Done.", Vec::new()),
        Message::tool_results(vec![result]),
    ];
    let stored = stored.map(|message| NewMessage { run_id: "old".into(), message });
    let claim = world.store.claim(&session).await.unwrap();
    world.store.append(&claim, stored.into()).await.unwrap();
    drop(claim);
    let asks = |request: &LlmRequest| {
        assert_whole(&request.messages);
        answer("Done.", vec![])
    };
    let agent = world.builder_with(llm_fn(asks)).build().unwrap();
    assert_eq!(done(&rest(agent.run(RunRequest::new("cli:test", "and now?"))).await).1, "end_turn");
}
