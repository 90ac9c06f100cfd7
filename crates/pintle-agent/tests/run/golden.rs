//! The stream of events of one run of each kind, line by line.

use pintle::{
    Event, Verdict,
    points::{
        BeforePromptBuild, BeforeToolCall, ModelPre, PromptPatch, ToolCallPatch, ToolPre,
        UserPromptSubmit,
    },
};
use pintle_agent::{Limits, SAFETY_PRELUDE};
use serde_json::{Value, json};

use crate::support::{
    World, assert_whole, calls, done, of_type, personality, play, readable, results, says,
};

fn write(id: &'static str, path: &str, content: &str) -> (&'static str, &'static str, Value) {
    (id, "write_file", json!({"path": path, "content": content}))
}

#[tokio::test(start_paused = true)]
async fn a_run_of_text_only() {
    let usage = json!({"inputTokens": 5, "outputTokens": 2, "costUsd": 0.25});
    let world = World::new(json!([{"text": "Good morning!", "usage": usage}])).await;
    let events = play(&world.agent(), "hello").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert_eq!(world.history().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_with_one_tool() {
    let script = json!([calls(&[write("t1", "a.txt", "one")]), says("Written.")]);
    let world = World::new(script).await;
    let events = play(&world.agent(), "write it").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert_eq!(std::fs::read_to_string(world.file("a.txt")).unwrap(), "one");
    assert_whole(&world.history().await);
}

#[tokio::test(start_paused = true)]
async fn two_tools_at_once_of_which_one_is_rejected() {
    let both = [write("t1", "no.txt", "one"), write("t2", "yes.txt", "two")];
    let world = World::new(json!([calls(&both), says("One of two.")])).await;
    let gate = |e: Event<ToolPre>| async move {
        match e.tool_input["path"].as_str() {
            Some("no.txt") => Verdict::block("not that one"),
            _ => Verdict::allow(),
        }
    };
    world.hooks.named("picky").register_gate(gate).unwrap();
    let events = play(&world.agent(), "write both").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert!(!world.file("no.txt").exists());
    assert!(world.file("yes.txt").exists());
    let results = results(&world.history().await);
    assert_eq!(results[0], ("t1".into(), true, "Blocked: not that one".into()));
    assert_eq!((results[1].0.as_str(), results[1].1), ("t2", false));
}

// R6.1: an error stays an error when the conversation is replayed.
#[tokio::test(start_paused = true)]
async fn a_rejected_call_is_replayed_as_an_error_in_the_next_run() {
    let script =
        json!([calls(&[write("t1", "a.txt", "one")]), says("Denied."), says("As I said.")]);
    let world = World::new(script).await;
    let gate = |_: Event<ToolPre>| async { Verdict::block("closed on Sundays") };
    world.hooks.named("sunday").register_gate(gate).unwrap();
    let agent = world.agent();
    let first = play(&agent, "write it").await;
    let second = play(&agent, "what happened?").await;
    insta::assert_snapshot!(readable(&[first, second].concat(), world.workspace()));
    let replayed = &world.llm.requests()[2].messages;
    assert_eq!(
        results(replayed),
        [("t1".to_string(), true, "Blocked: closed on Sundays".to_string())]
    );
    assert_whole(replayed);
}

#[tokio::test(start_paused = true)]
async fn arguments_amended_by_a_hook() {
    let world = World::new(json!([calls(&[write("t1", "a.txt", "one")]), says("Ok.")])).await;
    let amend = |_: Event<BeforeToolCall>| async {
        let args = Some(json!({"path": "b.txt", "content": "two"}));
        Some(ToolCallPatch::default().args(args))
    };
    world.hooks.named("elsewhere").register_modifying(amend).unwrap();
    let events = play(&world.agent(), "write it").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert!(!world.file("a.txt").exists());
    assert_eq!(std::fs::read_to_string(world.file("b.txt")).unwrap(), "two");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_overridden_keeps_the_safety_prelude() {
    let world = World::new(json!([says("Arr.")])).await;
    let instead = |_: Event<BeforePromptBuild>| async {
        Some(PromptPatch::default().override_system("You are a pirate."))
    };
    let added = |_: Event<BeforePromptBuild>| async {
        Some(PromptPatch::default().append_system("Be brief."))
    };
    world.hooks.named("pirate").register_modifying(instead).unwrap();
    world.hooks.named("brief").register_modifying(added).unwrap();
    let events = play(&world.agent(), "hello").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    let system = &world.llm.requests()[0].system;
    assert_eq!(*system, format!("{SAFETY_PRELUDE}\n\nYou are a pirate."));
}

// R6: model.pre fires for each attempt; what was shown is not shown again.
#[tokio::test(start_paused = true)]
async fn a_retry_after_half_an_answer() {
    let busy =
        json!({"code": "overloaded", "message": "busy", "retryable": true, "retryAfterMs": 1});
    let script = json!([{"text": "Good mor", "error": busy}, {"cut": true, "text": "Good"}, says("Good morning!")]);
    let world = World::new(script).await;
    let watch = |_: Event<ModelPre>| async { Verdict::allow() };
    world.hooks.named("watch").register_gate(watch).unwrap();
    let events = play(&world.agent(), "hello").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    let shown: String = of_type(&events, "text.delta")
        .iter()
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(shown, "Good morning!");
    assert_eq!(of_type(&events, "hook.fired").len(), 3);
    assert_eq!(world.llm.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_for_good() {
    let error = json!({"code": "auth", "message": "the key is not valid"});
    let world = World::new(json!([{"error": error}, says("Again.")])).await;
    let agent = world.agent();
    let events = play(&agent, "hello").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert_eq!(done(&play(&agent, "hello?").await), ("Again.".into(), "end_turn".into()));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent() {
    let delegate = ("d1", "delegate", json!({"task": "greet", "personality": "helper"}));
    let script = json!([calls(&[delegate]), says("Greetings."), says("It greets.")]);
    let mut world = World::new(script).await;
    world.personalities = world.personalities.with(personality("helper", None, None));
    let events = play(&world.agent(), "let somebody greet").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert_eq!(done(&events), ("It greets.".into(), "end_turn".into()));
}

// R6.4
#[tokio::test(start_paused = true)]
async fn limits_end_a_run_each_with_its_own_reason() {
    let read = |id| ("list_dir", id);
    let round = |id: &'static str, cost: f64| {
        let (name, id) = read(id);
        let mut round = calls(&[(id, name, json!({"path": "."}))]);
        round["usage"] = json!({"costUsd": cost});
        round
    };
    let mut all = String::new();
    let none = Limits::default();
    for (name, script, limits) in [
        (
            "turns",
            json!([round("t1", 0.0), round("t2", 0.0), says("never said")]),
            Limits { max_turns: 2, ..none },
        ),
        (
            "cost",
            json!([round("t1", 0.75), round("t2", 0.5), says("never said")]),
            Limits { max_cost_usd: Some(1.0), ..none },
        ),
        (
            "seconds",
            json!([{"delayMs": 600_000, "text": "never said"}]),
            Limits { max_seconds: Some(3), ..none },
        ),
    ] {
        let world = World::new(script).await;
        let agent = world.builder().limits(limits).build().unwrap();
        let events = play(&agent, "go on").await;
        all.push_str(&format!("== {name}\n{}", readable(&events, world.workspace())));
        assert_whole(&world.history().await);
    }
    insta::assert_snapshot!(all);
}

// R6.4
#[tokio::test(start_paused = true)]
async fn three_denials_in_a_row() {
    let try_it = |id| calls(&[write(id, "a.txt", "one")]);
    let script = json!([try_it("t1"), try_it("t2"), try_it("t3"), says("never said")]);
    let world = World::new(script).await;
    let gate = |_: Event<ToolPre>| async { Verdict::block("no writing") };
    world.hooks.named("quill").register_gate(gate).unwrap();
    let events = play(&world.agent(), "write it").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert_eq!(world.llm.requests().len(), 3);
    assert_whole(&world.history().await);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_blocked() {
    let world = World::new(json!([says("Next.")])).await;
    let gate = |e: Event<UserPromptSubmit>| async move {
        if e.prompt.contains("secret") {
            Verdict::block("secrets stay here")
        } else {
            Verdict::allow()
        }
    };
    world.hooks.named("secrets").register_gate(gate).unwrap();
    let agent = world.agent();
    let events = play(&agent, "my secret is 1234").await;
    insta::assert_snapshot!(readable(&events, world.workspace()));
    assert!(world.llm.requests().is_empty(), "nothing reaches the model");
    assert!(world.history().await.is_empty(), "and nothing is stored");
    assert_eq!(done(&play(&agent, "hello").await).1, "end_turn");
    assert_eq!(world.llm.requests()[0].messages.len(), 1, "not even in the next run");
}
