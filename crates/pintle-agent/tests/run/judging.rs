//! Step 10: the cheapest question first, and the first "no" ends it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{
    Event, Failure, Verdict,
    points::{AfterToolCall, ToolPre},
};
use pintle_policy::{Guard, GuardKind, Level};
use serde_json::json;

use crate::support::{
    Ends, World, answer, assert_whole, calls, done, of_type, personality, play, results, says,
};
use pintle_agent::testing::llm_fn;

#[tokio::test]
async fn a_call_that_cannot_run_is_not_put_to_the_gates() {
    let guard =
        Guard::new("*", GuardKind::Path, &[], &["secret/**".into()], "agent.json:3").unwrap();
    for (tool, args, reason) in [
        ("nothing", json!({}), "there is no tool `nothing`"),
        ("write_file", json!({"path": "a.txt"}), "invalid arguments"),
        (
            "edit_file",
            json!({"path": "a.txt", "old": "a", "new": "b"}),
            "the personality `main` may not use",
        ),
        ("list_dir", json!({"path": "."}), "the profile's `tools` do not offer `list_dir`"),
        ("read_file", json!({"path": "secret/key"}), "agent.json:3"),
        ("read_file", json!({"path": "/etc/hostname"}), "level paranoid never allows this"),
    ] {
        let mut world = World::new(json!([calls(&[("t1", tool, args)]), says("No.")])).await;
        let tools = ["write_file", "read_file", "list_dir"];
        world.personalities =
            pintle_agent::Personalities::new(personality("main", Some(&tools), None));
        // At this level nothing outside the workspace can even be asked for.
        world.policy.level = Level::Paranoid;
        world.policy.guards = vec![guard.clone()];
        world.policy.deny = vec!["list_*".parse().unwrap()];
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let gate = move |_: Event<ToolPre>| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Verdict::allow() }
        };
        world.hooks.register_gate(gate).unwrap();
        let events = play(&world.agent(), "do it").await;
        let (_, failed, said) = &results(&world.history().await)[0];
        assert!(*failed && said.contains(reason), "{tool}: {said}");
        assert_eq!(asked.load(Ordering::SeqCst), 0, "{tool}");
        assert!(of_type(&events, "approval.requested").is_empty(), "{tool}");
        let offered: Vec<_> =
            world.llm.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(offered, ["read_file", "write_file"], "what may not be used is not offered");
    }
}

// R11.2: a command says what it needs, and why a person should agree.
#[tokio::test]
async fn a_command_that_asks_for_more_without_a_reason_is_told_what_is_missing() {
    let call = |input| json!([calls(&[("t1", "terminal", input)]), says("Done.")]);
    for (input, reason, asked) in [
        (json!({"command": "ls", "zone": "network"}), "needs a `why`", 0),
        (json!({"command": "ls", "zone": "external", "why": "x"}), "invalid arguments", 0),
        (json!({"command": "ls", "zone": "network", "why": "to fetch it"}), "no one to ask", 1),
        (json!({"command": "git push"}), "it needs the network (`git push`)", 1),
    ] {
        let mut world = World::new(call(input.clone())).await;
        world.policy.level = Level::Standard;
        let events = play(&world.agent(), "do it").await;
        let (_, failed, said) = &results(&world.history().await)[0];
        assert!(*failed && said.contains(reason), "{input}: {said}");
        assert_eq!(of_type(&events, "approval.requested").len(), asked, "{input}");
    }
}

// R6.1: results are stored before an observer's failure ends the run.
#[tokio::test]
async fn a_fail_closed_observer_of_a_call_ends_the_run_after_its_result_is_stored() {
    let write = calls(&[
        ("t1", "write_file", json!({"path": "a.txt", "content": "x"})),
        ("t2", "nothing", json!({})),
    ]);
    let world = World::new(json!([write, says("never said")])).await;
    let ends = Ends::watch(&world.hooks);
    let audit =
        |_: Event<AfterToolCall>| async { Err::<(), _>(Failure::errored("the log is full")) };
    world.hooks.named("audit").fail_closed().register_void(audit).unwrap();
    let events = play(&world.agent(), "write").await;
    assert_eq!(done(&events).1, "error");
    assert_eq!(ends.reasons(), ["error"]);
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(results(&history).len(), 2);
    assert_eq!(world.llm.requests().len(), 1);
}

#[tokio::test]
async fn a_model_client_that_panics_ends_the_run_in_order() {
    let world = World::new(json!([])).await;
    let ends = Ends::watch(&world.hooks);
    let broken = llm_fn(|_| -> pintle_agent::testing::Answer { panic!("a bug in a client") });
    let events = play(&world.builder_with(broken).build().unwrap(), "hello").await;
    assert_eq!(of_type(&events, "error")[0]["code"], "panicked");
    assert_eq!(done(&events).1, "error");
    assert_eq!(ends.reasons(), ["error"]);
    let agent = world.builder_with(llm_fn(|_| answer("Better.", vec![]))).build().unwrap();
    assert_eq!(done(&play(&agent, "hello?").await).0, "Better.");
}
