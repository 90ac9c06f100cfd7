//! P3: what was judged is what runs.

use std::sync::{Arc, Mutex};

use pintle::{
    Event, Verdict,
    points::{AfterToolCall, BeforeToolCall, ToolCallPatch, ToolPost, ToolPre},
};
use pintle_agent::{Intercepted, Interceptors};
use serde_json::{Value, json};

use crate::support::{World, assert_whole, calls, of_type, play, results, says};

async fn world() -> World {
    let write = calls(&[("t1", "write_file", json!({"path": "a.txt", "content": "model"}))]);
    World::new(json!([write, says("Done.")])).await
}

#[tokio::test]
async fn the_gate_sees_the_final_arguments_and_they_are_what_runs() {
    let world = world().await;
    let seen = Arc::new(Mutex::new(Vec::<(&str, Value)>::new()));
    let (before, pre, post, after) = (seen.clone(), seen.clone(), seen.clone(), seen.clone());
    let amend = move |e: Event<BeforeToolCall>| {
        before.lock().unwrap().push(("before_tool_call", e.args.clone()));
        let args = json!({"path": "a.txt", "content": "hook"});
        async { Some(ToolCallPatch::default().args(args)) }
    };
    world.hooks.register_modifying(amend).unwrap();
    let gate = move |e: Event<ToolPre>| {
        pre.lock().unwrap().push(("tool.pre", e.tool_input.clone()));
        async { Verdict::allow() }
    };
    world.hooks.register_gate(gate).unwrap();
    let told = move |e: Event<AfterToolCall>| {
        after.lock().unwrap().push(("after_tool_call", e.args.clone()));
        async {}
    };
    world.hooks.register_void(told).unwrap();
    let ended = move |e: Event<ToolPost>| {
        post.lock().unwrap().push(("tool.post", e.tool_input.clone()));
        async { Verdict::allow() }
    };
    world.hooks.register_gate(ended).unwrap();
    let interceptors = Interceptors::default()
        .before("interceptor", "*", |_| async {
            Ok(Intercepted::Rewrite(json!({"path": "a.txt", "content": "interceptor"})))
        })
        .unwrap();
    let agent = world.builder().interceptors(interceptors).build().unwrap();
    let events = play(&agent, "write").await;

    let written = |by: &str| json!({"path": "a.txt", "content": by});
    assert_eq!(
        *seen.lock().unwrap(),
        [
            ("before_tool_call", written("interceptor")),
            ("tool.pre", written("hook")),
            ("after_tool_call", written("hook")),
            ("tool.post", written("hook")),
        ]
    );
    assert_eq!(of_type(&events, "tool.start")[0]["args"], written("hook"));
    assert_eq!(std::fs::read_to_string(world.file("a.txt")).unwrap(), "hook");
}

// R4.4: a handler owns its copy and nothing else.
#[tokio::test]
async fn a_handler_that_changes_its_own_copy_changes_nothing() {
    let world = world().await;
    let scribble = |e: Event<ToolPre>| async move {
        let mut mine = e.tool_input.clone();
        mine["content"] = json!("scribbled");
        let mut wire = (*e.to_json()).clone();
        wire["toolInput"]["content"] = json!("scribbled");
        Verdict::allow()
    };
    world.hooks.named("scribbler").priority(1).register_gate(scribble).unwrap();
    let seen = Arc::new(Mutex::new(Value::Null));
    let keep = seen.clone();
    let next = move |e: Event<ToolPre>| {
        *keep.lock().unwrap() = e.to_json()["toolInput"].clone();
        async { Verdict::allow() }
    };
    world.hooks.register_gate(next).unwrap();
    play(&world.agent(), "write").await;
    assert_eq!(seen.lock().unwrap()["content"], "model");
    assert_eq!(std::fs::read_to_string(world.file("a.txt")).unwrap(), "model");
}

// Rewritten arguments are judged like any others: by the schema, the workspace, the gates.
#[tokio::test]
async fn amended_arguments_pass_the_whole_judgement() {
    let outside = tempfile::tempdir().unwrap();
    let beyond = outside.path().join("a.txt");
    for (args, reason) in [
        (json!({"path": 7}), "invalid arguments for `write_file`"),
        (json!({"path": beyond, "content": "x"}), "there is no one to ask"),
        (json!({"path": "b.txt", "content": "forbidden"}), "not this content"),
    ] {
        let world = world().await;
        let gate = |e: Event<ToolPre>| async move {
            match e.tool_input["content"].as_str() {
                Some("forbidden") => Verdict::block("not this content"),
                _ => Verdict::allow(),
            }
        };
        world.hooks.register_gate(gate).unwrap();
        let rewrite = args.clone();
        let amend = move |_: Event<BeforeToolCall>| {
            let patch = ToolCallPatch::default().args(rewrite.clone());
            async { Some(patch) }
        };
        world.hooks.register_modifying(amend).unwrap();
        play(&world.agent(), "write").await;
        let history = world.history().await;
        assert_whole(&history);
        let (_, failed, said) = &results(&history)[0];
        assert!(*failed && said.contains(reason), "{args}: {said}");
        assert!(!world.file("a.txt").exists() && !world.file("b.txt").exists());
        assert!(!beyond.exists());
    }
}

// R4.6: a denial stands, whoever else has something to say, even with no words.
#[tokio::test]
async fn a_denial_of_before_tool_call_cannot_be_masked() {
    for error in ["", "not today"] {
        let world = world().await;
        let amend = |_: Event<BeforeToolCall>| async {
            let args = Some(json!({"path": "b.txt", "content": "x"}));
            Some(ToolCallPatch::default().args(args))
        };
        world.hooks.named("amender").priority(1).register_modifying(amend).unwrap();
        let deny = move |_: Event<BeforeToolCall>| async move {
            Some(ToolCallPatch::default().error(error))
        };
        world.hooks.named("denier").register_modifying(deny).unwrap();
        let events = play(&world.agent(), "write").await;
        assert!(!world.file("a.txt").exists() && !world.file("b.txt").exists());
        let expected = if error.is_empty() { "blocked by denier" } else { "Blocked: not today" };
        assert_eq!(results(&world.history().await)[0].2, expected);
        assert_eq!(of_type(&events, "hook.blocked")[0]["handler"], "denier");
    }
}
