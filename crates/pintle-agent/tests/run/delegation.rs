//! R6.3: a sub-agent runs through the same loop with the same gates; it can have less, never more.

use std::sync::{Arc, Mutex};

use pintle::{
    Event, Verdict,
    points::{
        BeforeToolCall, LlmUsage, SubagentEnded, SubagentPatch, SubagentSpawned, SubagentSpawning,
        ToolCallPatch, ToolPre,
    },
};
use pintle_agent::{Limits, Message, RunRequest, ToolCall};
use serde_json::{Value, json};

use crate::support::{
    Ends, Swamp, World, answer, assert_whole, calls, done, last_user, messages, of_type,
    personality, play, rest, results, says, tool, until,
};
use pintle_agent::testing::llm_fn;

fn delegate(personality: Option<&str>) -> Value {
    let mut args = json!({"task": "write it"});
    if let Some(personality) = personality {
        args["personality"] = json!(personality);
    }
    calls(&[("d1", "delegate", args)])
}

fn write() -> Value {
    calls(&[("w1", "write_file", json!({"path": "a.txt", "content": "x"}))])
}

/// The end of the child's call.
fn in_child(events: &[Value]) -> Value {
    let ends = of_type(events, "tool.end");
    let end =
        ends.into_iter().find(|end| end["toolCallId"] == "w1").expect("the child's call ended");
    assert!(end["parentSessionId"].is_string());
    end.clone()
}

#[tokio::test]
async fn a_sub_agent_may_not_use_what_its_parent_may_not() {
    let script = json!([delegate(Some("mighty")), write(), says("Tried."), says("Ok.")]);
    let mut world = World::new(script).await;
    world.personalities = pintle_agent::Personalities::new(personality(
        "meek",
        Some(&["delegate", "read_file"]),
        None,
    ))
    .with(personality("mighty", None, None));
    let events = play(&world.agent(), "write it").await;
    let end = in_child(&events);
    assert_eq!(end["outcome"], "rejected");
    assert!(
        end["error"].as_str().unwrap().contains("the personality `meek` may not use `write_file`")
    );
    assert_eq!(end["personalityId"], "mighty");
    assert!(!world.file("a.txt").exists());
    // It is not even offered.
    let offered: Vec<_> =
        world.llm.requests()[1].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["delegate", "read_file"]);
}

#[tokio::test]
async fn a_sub_agent_may_have_less_than_its_parent() {
    let script = json!([delegate(Some("meek")), write(), says("Tried."), says("Ok.")]);
    let mut world = World::new(script).await;
    world.personalities = world.personalities.with(personality("meek", Some(&["read_file"]), None));
    let events = play(&world.agent(), "write it").await;
    assert_eq!(in_child(&events)["outcome"], "rejected");
    assert!(!world.file("a.txt").exists());
}

#[tokio::test]
async fn the_gates_hold_in_a_sub_agent_too() {
    let world = World::new(json!([delegate(None), write(), says("Tried."), says("Ok.")])).await;
    let gate = |e: Event<ToolPre>| async move {
        if e.tool_name == "write_file" { Verdict::block("read only") } else { Verdict::allow() }
    };
    world.hooks.register_gate(gate).unwrap();
    let events = play(&world.agent(), "write it").await;
    assert_eq!(in_child(&events)["error"], "read only");
    assert!(!world.file("a.txt").exists());
}

#[tokio::test]
async fn a_parents_plugin_guards_its_sub_agents_whatever_their_own_list_says() {
    for (parents, runs) in [(Some(&["guard"][..]), false), (None, true)] {
        let script = json!([delegate(Some("free")), write(), says("Tried."), says("Ok.")]);
        let mut world = World::new(script).await;
        world.personalities = pintle_agent::Personalities::new(personality("main", None, parents))
            .with(personality("free", None, None));
        let deny = |e: Event<BeforeToolCall>| async move {
            let error = (e.tool_name == "write_file").then(|| "the guard says no".to_string());
            Some(ToolCallPatch::default().error(error))
        };
        world.hooks.named("deny").plugin("guard").register_modifying(deny).unwrap();
        let events = play(&world.agent(), "write it").await;
        assert_eq!(in_child(&events)["ok"], runs);
        assert_eq!(world.file("a.txt").exists(), runs);
    }
}

#[tokio::test]
async fn the_zones_hold_in_a_sub_agent_too() {
    let outside = calls(&[("w1", "write_file", json!({"path": "../outside.txt", "content": "x"}))]);
    let world = World::new(json!([delegate(None), outside, says("Tried."), says("Ok.")])).await;
    let events = play(&world.agent(), "write it").await;
    assert!(in_child(&events)["error"].as_str().unwrap().contains("there is no one to ask"));
    assert!(!world.workspace().parent().unwrap().join("outside.txt").exists());
}

#[tokio::test]
async fn a_sub_agent_has_a_session_of_its_own_and_names_its_parent() {
    let world = World::new(json!([delegate(None), write(), says("Written."), says("Ok.")])).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let (spawned, ended) = (told.clone(), told.clone());
    world
        .hooks
        .register_void(move |e: Event<SubagentSpawned>| {
            spawned.lock().unwrap().push(("spawned", e.child_session_id.clone(), String::new()));
            async {}
        })
        .unwrap();
    world
        .hooks
        .register_void(move |e: Event<SubagentEnded>| {
            ended.lock().unwrap().push((
                "ended",
                e.child_session_id.clone(),
                format!("{}: {}", e.outcome, e.result),
            ));
            async {}
        })
        .unwrap();
    play(&world.agent(), "write it").await;
    let parent = world.session().await;
    let sessions = world.store.sessions().await.unwrap();
    let child = sessions.iter().find(|session| session.parent.is_some()).unwrap();
    assert_eq!(child.parent.as_deref(), Some(parent.id.as_str()));
    let id = child.id.clone();
    assert_eq!(
        *told.lock().unwrap(),
        [("spawned", id.clone(), String::new()), ("ended", id, "end_turn: Written.".to_string())]
    );
    let history = messages(world.store.history(&child.id).await.unwrap());
    assert_whole(&history);
    assert_eq!(history[0], Message::user("write it"));
    assert_eq!(
        world.history().await.len(),
        4,
        "the parent's history has only the call and its result"
    );
}

#[tokio::test]
async fn subagent_spawning_may_change_the_task_and_the_personality() {
    let mut world = World::new(json!([delegate(None), says("Aye."), says("Ok.")])).await;
    world.personalities = world.personalities.with(personality("pirate", None, None));
    let patch = |e: Event<SubagentSpawning>| async move {
        let prompt = Some(format!("{}, quickly", e.prompt));
        Some(SubagentPatch::default().prompt(prompt).personality_id("pirate"))
    };
    world.hooks.register_modifying(patch).unwrap();
    let events = play(&world.agent(), "write it").await;
    assert_eq!(done(&events).1, "end_turn");
    let request = &world.llm.requests()[1];
    assert_eq!(request.messages, [Message::user("write it, quickly")]);
    assert!(request.system.contains("You are pirate."));
}

#[tokio::test]
async fn sub_agents_can_only_go_so_deep() {
    let down = || delegate(None);
    let script = json!([down(), down(), down(), says("I do it."), says("b"), says("a")]);
    let world = World::new(script).await;
    let limits = Limits { max_depth: 2, ..Limits::default() };
    let agent = world.builder().limits(limits).build().unwrap();
    let events = play(&agent, "dig").await;
    assert_eq!(done(&events), ("a".into(), "end_turn".into()));
    assert_eq!(of_type(&events, "run.start").len(), 3);
    let too_deep = of_type(&events, "tool.end").into_iter().find(|end| end["ok"] == false).unwrap();
    assert!(too_deep["error"].as_str().unwrap().contains("2 deep"));
}

#[tokio::test]
async fn an_unknown_personality_is_an_error_with_a_hint() {
    let world = World::new(json!([delegate(Some("mian")), says("Ok.")])).await;
    let events = play(&world.agent(), "write it").await;
    let end = of_type(&events, "tool.end")[0];
    assert!(end["error"].as_str().unwrap().contains("did you mean `main`?"), "{end}");
}

#[tokio::test]
async fn stopping_the_parent_stops_the_child_and_says_that_it_ended() {
    // In the child's tool, and while its start is still being told.
    for stuck_in_tool in [true, false] {
        let slow = calls(&[("w1", "slow", json!({}))]);
        let world = World::new(json!([delegate(None), slow])).await;
        let (swamp, ends) = (Swamp::default(), Ends::watch(&world.hooks));
        let ended = Arc::new(Mutex::new(Vec::new()));
        let told = ended.clone();
        world
            .hooks
            .register_void(move |e: Event<SubagentEnded>| {
                told.lock().unwrap().push(e.outcome.clone());
                async {}
            })
            .unwrap();
        if !stuck_in_tool {
            let swamp = swamp.clone();
            world
                .hooks
                .register_void(move |_: Event<SubagentSpawned>| swamp.stuck::<()>())
                .unwrap();
        }
        let inner = swamp.clone();
        let work = move |_| if stuck_in_tool { inner.stuck() } else { Swamp::default().stuck() };
        let agent = world.builder().tools([tool("slow", work)]).build().unwrap();
        let run = agent.run(RunRequest::new("cli:test", "go"));
        swamp.reached().await;
        run.cancel();
        let events = rest(run).await;
        agent.settle().await;
        assert!(swamp.left());
        assert_eq!(done(&events).1, "aborted");
        assert_eq!(*ended.lock().unwrap(), ["aborted"]);
        assert_eq!(ends.reasons(), ["aborted", "aborted"], "the child's and the parent's");
        for session in world.store.sessions().await.unwrap() {
            assert_whole(&messages(world.store.history(&session.id).await.unwrap()));
        }
    }
}

// What a sub-agent spends counts as its parent's.
#[tokio::test]
async fn a_sub_agents_cost_counts_against_its_parents_limit() {
    let mut answer = says("Dear.");
    answer["usage"] = json!({"costUsd": 2.0});
    let world = World::new(json!([delegate(None), answer, says("never said")])).await;
    let limits = Limits { max_cost_usd: Some(1.0), ..Limits::default() };
    let agent = world.builder().limits(limits).build().unwrap();
    let mut run = agent.run(RunRequest::new("cli:test", "spend"));
    let mut events = until(&mut run, "tool.end").await;
    events.extend(rest(run).await);
    assert_eq!(done(&events).1, "budget_exceeded");
}

#[tokio::test]
async fn the_usage_of_a_run_includes_what_its_sub_agent_read_from_the_cache() {
    let (mut first, mut child, mut last) = (delegate(None), says("Dear."), says("Done."));
    first["usage"] = json!({"inputTokens": 10, "cacheReadTokens": 1, "cacheCreationTokens": 20});
    child["usage"] = json!({"inputTokens": 10, "cacheReadTokens": 2, "cacheCreationTokens": 30});
    last["usage"] = json!({"inputTokens": 10, "outputTokens": 5});
    let world = World::new(json!([first, child, last])).await;
    let finished = world.agent().run(RunRequest::new("cli:test", "read")).finish().await;
    let sum = LlmUsage::default().input_tokens(30).output_tokens(5);
    assert_eq!(finished.usage, sum.cache_read_tokens(3).cache_creation_tokens(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn sub_agents_of_one_message_work_at_once() {
    let both = || {
        let call =
            |id: &str| ToolCall::default().id(id).name("delegate").input(json!({ "task": id }));
        vec![call("d1"), call("d2"), call("d3")]
    };
    let llm = llm_fn(move |request| match request.messages.last() {
        Some(Message::User { text, .. }) if text == "go" => answer("", both()),
        Some(Message::User { text, .. }) => {
            let (id, input) = (text.clone(), json!({"path": text, "content": text}));
            answer("", vec![ToolCall::default().id(id).name("write_file").input(input)])
        }
        _ if request.messages[0] == Message::user("go") => answer("All.", vec![]),
        _ => answer(&format!("wrote {}", last_user(&request.messages)), vec![]),
    });
    let world = World::new(json!([])).await;
    let agent = world.builder_with(llm).build().unwrap();
    let events = play(&agent, "go").await;
    assert_eq!(done(&events), ("All.".into(), "end_turn".into()));
    assert_eq!(of_type(&events, "run.start").len(), 4);
    let history = world.history().await;
    assert_whole(&history);
    let said: Vec<_> = results(&history).into_iter().map(|(_, _, said)| said).collect();
    assert_eq!(said, ["wrote d1", "wrote d2", "wrote d3"]);
}

// R6.3, R6.4: a sub-agent spends what is left to its parent, not a budget of its own.
#[tokio::test]
async fn a_sub_agent_has_only_what_is_left_of_the_budget() {
    let mut first = delegate(None);
    first["usage"] = json!({"costUsd": 0.75});
    let mut second = write();
    second["usage"] = json!({"costUsd": 0.5});
    let world = World::new(json!([first, second, says("never said")])).await;
    let limits = Limits { max_cost_usd: Some(1.0), ..Limits::default() };
    let agent = world.builder().limits(limits).build().unwrap();
    let events = play(&agent, "spend").await;
    let ends: Vec<_> =
        of_type(&events, "done").iter().map(|done| done["outcome"].clone()).collect();
    assert_eq!(ends, ["budget_exceeded", "budget_exceeded"], "the child's and the parent's");
    assert_eq!(world.llm.requests().len(), 2);
}
