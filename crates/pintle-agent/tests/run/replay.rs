//! Judging recorded calls again: the same judge, so the same rules give the same verdicts; and shadow mode.

use pintle::{
    Event, Verdict,
    points::{BeforeToolCall, ToolCallPatch, ToolPre},
};
use pintle_agent::{ApprovalOutcome, RecordedCall, testing::approver_fn};
use pintle_policy::{Guard, GuardKind, Level};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    random::cases,
    support::{World, calls, done, of_type, personality, play, results, says},
};

fn guard(kind: GuardKind, deny: &str) -> Guard {
    Guard::new("*", kind, &[], &[deny.into()], "agent.json:3").unwrap()
}

/// A hook whose answer depends on the arguments alone.
fn asks_about_b(event: Event<ToolPre>) -> Verdict {
    match event.tool_input["path"].as_str() {
        Some("b.txt") => Verdict::ask(&event, "b is precious"),
        Some("c.txt") => Verdict::block("c is off limits"),
        _ => Verdict::allow(),
    }
}

fn refuses_d(event: Event<BeforeToolCall>) -> Option<ToolCallPatch> {
    match event.args["path"].as_str() {
        Some("d.txt") => Some(ToolCallPatch::default().error("not d")),
        Some("e.txt") => {
            Some(ToolCallPatch::default().args(json!({"path": "a.txt", "content": "from e"})))
        }
        _ => None,
    }
}

/// Calls of every fate: run, asked, refused by a guard, by the zone, by a hook, by the personality, malformed.
fn any_call() -> impl Strategy<Value = (&'static str, Value)> {
    let path = prop::sample::select(vec![
        "a.txt",
        "b.txt",
        "c.txt",
        "d.txt",
        "e.txt",
        "secret/key",
        "/etc/hostname",
        "../up",
        "",
    ]);
    prop_oneof![
        path.clone().prop_map(|path| ("read_file", json!({"path": path}))),
        path.clone().prop_map(|path| ("write_file", json!({"path": path, "content": "x"}))),
        path.prop_map(|path| ("list_dir", json!({"path": path}))),
        Just(("write_file", json!({"path": "a.txt"}))),
        Just(("edit_file", json!({"path": "a.txt", "old": "x", "new": "y"}))),
        Just(("nothing", json!({}))),
        prop::sample::select(vec![
            "true",
            "git push",
            "echo 'git push'",
            "curl x.example",
            "sudo true"
        ])
        .prop_map(|line| ("terminal", json!({"command": line}))),
        Just(("delegate", json!({"task": "help", "personality": "helper"}))),
    ]
}

fn any_level() -> impl Strategy<Value = Level> {
    prop::sample::select(vec![Level::Permissive, Level::Standard, Level::Strict, Level::Paranoid])
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn replay_of_a_recorded_run_reproduces_every_verdict(
        script in prop::collection::vec(any_call(), 1..6),
        level in any_level(),
        yes in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(reproduced(script, level, yes));
    }
}

async fn reproduced(script: Vec<(&'static str, Value)>, level: Level, yes: bool) {
    let mut answers: Vec<Value> =
        script.iter().map(|(tool, args)| calls(&[("t", tool, args.clone())])).collect();
    // Sub-agents take their answers from the same script.
    answers.extend((0..40).map(|_| says("Done.")));
    let mut world = World::new(json!(answers)).await;
    world.policy.level = level;
    world.policy.guards =
        vec![guard(GuardKind::Path, "secret/**"), guard(GuardKind::Shell, "git push")];
    let helper = personality("helper", Some(&["read_file", "list_dir"]), None);
    let all = ["read_file", "write_file", "list_dir", "terminal", "delegate"];
    world.personalities =
        pintle_agent::Personalities::new(personality("main", Some(&all), None)).with(helper);
    world.hooks.named("b").register_gate(asks_about_b).unwrap();
    world.hooks.named("d").register_modifying(refuses_d).unwrap();
    let approver = approver_fn(move |_| async move {
        match yes {
            true => ApprovalOutcome::Approved { by: "ann".into() },
            false => ApprovalOutcome::Denied { by: "ann".into(), reason: None },
        }
    });
    let agent = world.builder().approver(approver).build().unwrap();
    let events = play(&agent, "go").await;
    let judged = of_type(&events, "judged");
    // Every call that ended was judged, but for the model's slips in JSON.
    for end in of_type(&events, "tool.end") {
        let of_it =
            |it: &&&Value| it["toolCallId"] == end["toolCallId"] && it["runId"] == end["runId"];
        assert!(judged.iter().any(|it| of_it(&it)), "{end} was not judged: {events:#?}");
    }
    let another = world.agent();
    for event in judged {
        let call: RecordedCall = serde_json::from_value(event.clone()).unwrap();
        let again = serde_json::to_value(another.judge_again(&call).await.unwrap()).unwrap();
        assert_eq!(again["verdict"], event["verdict"], "{event}");
        assert_eq!(again["decidedBy"], event["decidedBy"], "{event}");
    }
}

#[tokio::test]
async fn a_record_says_the_verdict_and_the_rule_that_decided() {
    let script = json!([
        calls(&[
            ("t1", "read_file", json!({"path": "secret/key"})),
            ("t2", "write_file", json!({"path": "c.txt", "content": ""})),
            ("t3", "write_file", json!({"path": "a.txt", "content": ""})),
            ("t4", "write_file", json!({"path": "e.txt", "content": ""})),
        ]),
        says("Done."),
    ]);
    let mut world = World::new(script).await;
    world.policy.guards = vec![guard(GuardKind::Path, "secret/**")];
    world.hooks.named("b").source("agent.json:9").register_gate(asks_about_b).unwrap();
    world.hooks.named("d").register_modifying(refuses_d).unwrap();
    let events = play(&world.agent(), "go").await;
    let judged = of_type(&events, "judged");
    let said: Vec<_> = judged
        .iter()
        .map(|it| {
            let by = &it["decidedBy"];
            (it["verdict"].as_str().unwrap(), by["step"].as_str().unwrap(), &by["source"])
        })
        .collect();
    assert_eq!(
        said,
        [
            ("refuse", "guards", &json!("agent.json:3")),
            ("refuse", "tool.pre", &json!("agent.json:9")),
            ("run", "zone", &Value::Null),
            ("run", "zone", &Value::Null),
        ]
    );
    assert_eq!(judged[1]["decidedBy"]["hook"], "b");
    assert_eq!(judged[1]["decidedBy"]["detail"], "c is off limits");
    assert_eq!(judged[3]["args"]["path"], "a.txt", "the arguments are those that were frozen");
}

#[tokio::test]
async fn a_tightened_rule_changes_the_verdict_of_a_recorded_call() {
    let script = json!([
        calls(&[("t1", "write_file", json!({"path": "a.txt", "content": ""}))]),
        says("Done.")
    ]);
    let mut world = World::new(script).await;
    let events = play(&world.agent(), "go").await;
    let call: RecordedCall = serde_json::from_value(of_type(&events, "judged")[0].clone()).unwrap();
    world.policy.guards = vec![guard(GuardKind::Path, "*.txt")];
    let now = serde_json::to_value(world.agent().judge_again(&call).await.unwrap()).unwrap();
    assert_eq!(
        (&now["verdict"], &now["decidedBy"]["source"]),
        (&json!("refuse"), &json!("agent.json:3"))
    );
}

#[tokio::test]
async fn what_is_in_shadow_mode_is_recorded_and_blocks_nothing() {
    let write = |id, path: &str| (id, "write_file", json!({"path": path, "content": "x"}));
    let script = json!([calls(&[write("t1", "c.txt"), write("t2", "b.txt")]), says("Done.")]);
    let mut world = World::new(script).await;
    world.policy.guards = vec![guard(GuardKind::Path, "c.*").in_shadow(true)];
    world.hooks.named("new").shadow(true).register_gate(asks_about_b).unwrap();
    let broken = |_: Event<ToolPre>| -> Verdict { panic!("not ready") };
    world.hooks.named("broken").shadow(true).register_gate(broken).unwrap();
    let events = play(&world.agent(), "go").await;
    assert_eq!(done(&events).1, "end_turn");
    assert!(world.file("c.txt").exists() && world.file("b.txt").exists(), "both ran");
    assert!(results(&world.history().await).iter().all(|(_, failed, _)| !failed));
    for silent in ["hook.blocked", "approval.requested", "reminder"] {
        assert!(of_type(&events, silent).is_empty(), "{silent}");
    }
    let fired = of_type(&events, "hook.fired");
    let handlers = fired.iter().flat_map(|it| it["handlers"].as_array().unwrap());
    let said: Vec<_> =
        handlers.map(|it| (it["name"].as_str(), it["outcome"].as_str(), &it["shadow"])).collect();
    let shadow = &json!(true);
    assert_eq!(
        said,
        [
            (Some("new"), Some("blocked"), shadow),
            (Some("broken"), Some("panicked"), shadow),
            (Some("new"), Some("asked"), shadow),
            (Some("broken"), Some("panicked"), shadow),
        ]
    );
    assert_eq!(fired[0]["handlers"][0]["reason"], "c is off limits");
    let judged = of_type(&events, "judged");
    assert_eq!(judged[0]["verdict"], "run");
    let would = &judged[0]["also"][0];
    assert_eq!((&would["step"], &would["shadow"]), (&json!("guards"), &json!(true)));
    assert!(would["detail"].as_str().unwrap().starts_with("would refuse: "), "{would}");
}
