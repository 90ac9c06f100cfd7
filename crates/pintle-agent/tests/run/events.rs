//! R6.6: the stream of events, as it is on the wire.

use std::collections::BTreeMap;

use pintle::{
    DynEvent, Event, Failure, Verdict,
    points::{BeforePromptBuild, PromptPatch, ToolPost, ToolPre},
};
use pintle_agent::RunRequest;
use serde_json::{Value, json};

use crate::support::{Swamp, World, calls, of_type, play, rest, says, tool, until};

fn check(events: &[Value]) {
    let mut starts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut ends = starts.clone();
    for event in events {
        for field in
            ["type", "sessionId", "sessionKey", "runId", "personalityId", "platform", "traceId"]
        {
            assert!(event[field].is_string(), "no {field} in {event}");
        }
        for field in ["ts", "turnIndex"] {
            assert!(event[field].is_u64(), "no {field} in {event}");
        }
        let call = || (event["sessionId"].to_string(), event["toolCallId"].to_string());
        match event["type"].as_str().unwrap() {
            "tool.start" => *starts.entry(call()).or_default() += 1,
            "tool.end" if event["outcome"] == "rejected" => {
                assert_eq!(event["ok"], false);
                assert!(!starts.contains_key(&call()), "a rejected call has no start: {event}");
            }
            "tool.end" => {
                assert!(event["durationMs"].is_u64());
                *ends.entry(call()).or_default() += 1;
            }
            _ => {}
        }
    }
    assert_eq!(starts, ends, "every start has its end");
    assert!(starts.values().all(|count| *count == 1));
}

#[tokio::test]
async fn every_event_carries_the_envelope_and_every_start_has_its_end() {
    let mixed = [
        ("t1", "write_file", json!({"path": "a.txt", "content": "x"})),
        ("t2", "nothing", json!({})),
        ("t3", "delegate", json!({"task": "look"})),
        ("t4", "read_file", json!({"path": "missing"})),
    ];
    let look = ("t1", "list_dir", json!({"path": "."}));
    let script = json!([calls(&mixed), calls(&[look]), says("Looked."), says("Done.")]);
    let world = World::new(script).await;
    world.hooks.register_gate(|_: Event<ToolPre>| async { Verdict::allow() }).unwrap();
    let after =
        |_: Event<ToolPost>| async { Verdict::block("I saw that").with_context("it was seen") };
    world.hooks.register_gate(after).unwrap();
    let events = play(&world.agent(), "everything").await;
    check(&events);
    for kind in [
        "run.start",
        "text.delta",
        "tool.start",
        "tool.end",
        "hook.fired",
        "hook.blocked",
        "reminder",
        "usage",
        "done",
    ] {
        assert!(!of_type(&events, kind).is_empty(), "there is no {kind}");
    }
    assert_eq!(of_type(&events, "tool.end").len(), 5);
    assert_eq!(of_type(&events, "run.start").len(), 2);
    let traces: std::collections::BTreeSet<_> =
        events.iter().map(|event| event["traceId"].to_string()).collect();
    assert_eq!(traces.len(), 1, "one message, one trace: the sub-agent's events too");
}

#[tokio::test]
async fn a_cancelled_run_ends_its_starts_too() {
    let both = [("t1", "slow", json!({})), ("t2", "slow", json!({}))];
    let world = World::new(json!([calls(&both)])).await;
    let swamp = Swamp::default();
    let slow = swamp.clone();
    let agent = world.builder().tools([tool("slow", move |_| slow.stuck())]).build().unwrap();
    let mut run = agent.run(RunRequest::new("cli:test", "work"));
    let mut events = until(&mut run, "tool.start").await;
    events.extend(until(&mut run, "tool.start").await);
    run.cancel();
    events.extend(rest(run).await);
    check(&events);
    assert_eq!(of_type(&events, "tool.end").len(), 2);
}

#[tokio::test]
async fn an_observer_that_panics_disturbs_no_run() {
    let world = World::new(json!([says("Calm.")])).await;
    let agent = world.builder().observer(|_| panic!("an observer's bug")).build().unwrap();
    let events = play(&agent, "hello").await;
    assert_eq!(crate::support::done(&events), ("Calm.".into(), "end_turn".into()));
}

/// R6.6: calls of one message run at the same time, so each fire about one of them says which.
#[tokio::test]
async fn a_fire_about_a_call_names_the_call_and_other_fires_name_none() {
    let both = [
        ("t1", "read_file", json!({"path": "notes.txt"})),
        ("t2", "delegate", json!({"task": "look"})),
    ];
    let mut asks = calls(&both);
    asks["text"] = "I look at both.".into();
    let world = World::new(json!([asks, says("Looked."), says("Done.")])).await;
    for point in world.hooks.known_points() {
        let silent = |_: DynEvent| async { Ok::<_, Failure>(Value::Null) };
        world.hooks.register_dyn(point.name, point.model, silent).unwrap();
    }
    let events = play(&world.agent(), "both").await;
    let own = events.iter().filter(|event| event["parentSessionId"].is_null());
    let own: Vec<Value> = own.cloned().collect();
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for fired in of_type(&own, "hook.fired") {
        let call = fired["toolCallId"].as_str().unwrap_or("none");
        named.entry(call).or_default().push(fired["point"].as_str().unwrap());
    }
    for points in named.values_mut() {
        points.sort_unstable();
    }
    let around = ["after_tool_call", "before_tool_call", "tool.post", "tool.pre"];
    let with = |more: &[&'static str]| {
        let mut points = [around.as_slice(), more].concat();
        points.sort_unstable();
        points
    };
    assert_eq!(named["t1"], with(&["tool_end_with_path"]));
    assert_eq!(named["t2"], with(&["subagent_ended", "subagent_spawned", "subagent_spawning"]));
    assert!(around.iter().all(|point| !named["none"].contains(point)), "{named:?}");
    assert_eq!(of_type(&own, "tool.calls")[0]["text"], "I look at both.");
}

/// The prompt that a run's requests have is in its events, part by part.
#[tokio::test]
async fn the_prompt_is_told_with_who_wrote_each_part() {
    let world = World::new(json!([says("Hello.")])).await;
    let style = |_: Event<BeforePromptBuild>| async {
        Some(PromptPatch::default().append_system("Be brief.".to_string()))
    };
    world.hooks.named("style").register_modifying(style).unwrap();
    let events = play(&world.agent(), "hello").await;
    let told = of_type(&events, "prompt");
    let [prompt] = told.as_slice() else { panic!("{events:?}") };
    let parts = prompt["parts"].as_array().unwrap();
    let (first, last) = (parts.first().unwrap(), parts.last().unwrap());
    assert_eq!((&first["part"], &first["by"]), (&json!("safety prelude"), &json!("pintle")));
    assert_eq!(last, &json!({"part": "append", "by": "style", "text": "Be brief."}));
}
