//! A session two agents reach, as two processes would: it belongs to one run at a time. And R6.3 for a sub-agent whose
//! run goes on without its parent's.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use pintle_agent::{
    Agent, ApprovalOutcome, ApprovalRequest, Approver, Claim, Message, NewMessage, NewSession,
    Personalities, Prepared, RunRequest, ToolCall,
    store::{Answer, Approval, Decision, NewApproval, Scope},
};
use serde_json::json;

use crate::support::{
    Swamp, World, assert_whole, calls, done, messages, of_type, personality, rest, results, says,
    scripted, tool, until,
};

/// Another agent on the same store.
fn another(world: &World) -> Agent {
    let (hooks, llm) = (world.hooks.clone(), scripted(json!([says("Hi.")])));
    let (personalities, policy) = (world.personalities.clone(), world.policy.clone());
    Agent::builder(hooks, llm, world.store.clone(), personalities, policy).build().unwrap()
}

// R6.1, R6.5
#[tokio::test(start_paused = true)]
async fn a_second_agent_does_not_touch_a_session_in_use() {
    let mut world = World::new(json!([calls(&[("t1", "wait", json!({}))]), says("Done.")])).await;
    world.personalities = world.personalities.clone().with(personality("other", None, None));
    let (swamp, stuck) = (Swamp::default(), Swamp::default());
    let inside = swamp.clone();
    let waits = tool("wait", move |_| inside.stuck());
    let first = world.builder().tools([waits]).build().unwrap();
    let second = another(&world);
    let mut run = first.run(RunRequest::new("cli:test", "wait"));
    until(&mut run, "tool.start").await;
    swamp.reached().await;
    for ask in [
        RunRequest::new("cli:test", "hello"),
        RunRequest::new("cli:test", "hello").as_personality("other"),
        RunRequest::resume(world.session().await.id),
    ] {
        let events = rest(second.run(ask)).await;
        let (text, outcome) = done(&events);
        assert_eq!(outcome, "error");
        assert!(text.contains("`cli:test` is in use by another pintle"), "{text}");
    }
    assert_eq!(world.history().await.len(), 2, "the question and the call: nothing was added");
    assert_eq!(world.session().await.personality, None, "nor switched");
    drop(stuck);
    run.cancel();
    rest(run).await;
    let events = rest(second.run(RunRequest::new("cli:test", "hello"))).await;
    assert_eq!(done(&events), ("Hi.".into(), "end_turn".into()));
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(results(&history).len(), 1, "one call, one result: {history:#?}");
}

/// The question was stored before the crash.
struct Stored(String);

impl Approver for Stored {
    fn prepare<'a>(&'a self, _: &'a Claim, _: &'a ApprovalRequest) -> BoxFuture<'a, Prepared> {
        std::future::ready(Prepared::Stored(self.0.clone())).boxed()
    }

    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        std::future::ready(ApprovalOutcome::Approved { by: "ann".into() }).boxed()
    }
}

// R6.3
#[tokio::test]
async fn a_sub_agent_that_goes_on_alone_still_has_no_more_than_its_parents() {
    for (allowed, runs) in [(&["delegate", "terminal"][..], true), (&["delegate"], false)] {
        let mut world = World::new(json!([says("Done.")])).await;
        world.personalities = Personalities::new(personality("main", Some(allowed), None))
            .with(personality("helper", None, None));
        let new = |key: &str, personality: &str, parent| NewSession {
            key: key.into(),
            platform: "cli".into(),
            personality: Some(personality.into()),
            parent,
        };
        let top = world.store.create(new("cli:test", "main", None)).await.unwrap();
        let between = new("sub:1", "helper", Some(top.id));
        let between = world.store.create(between).await.unwrap();
        let child = new("sub:2", "helper", Some(between.id.clone()));
        let child = world.store.create(child).await.unwrap();
        let input = json!({"command": "touch marker"});
        let (id, name) = ("t1".to_string(), "terminal".to_string());
        let call = ToolCall::default().id(id).name(name).input(input.clone());
        let said = [Message::user("do it"), Message::assistant("", vec![call])];
        let said = said.map(|message| NewMessage { run_id: "dead".into(), message });
        let claim = world.store.claim(&child).await.unwrap();
        world.store.append(&claim, said.into()).await.unwrap();
        let asked = world.store.request_approval(&claim, question(&input)).await.unwrap();
        world.store.answer_approval(approved(&asked)).await.unwrap();
        drop(claim);

        let agent = world.builder().approver(Arc::new(Stored(asked.id))).build().unwrap();
        let events = rest(agent.run(RunRequest::resume(&child.id))).await;
        assert_eq!(done(&events).1, "end_turn");
        assert_eq!(world.file("marker").exists(), runs, "{allowed:?}");
        assert_eq!(of_type(&events, "run.start")[0]["parentSessionId"], between.id.as_str());
        assert_whole(&messages(world.store.history(&child.id).await.unwrap()));
    }
}

fn question(args: &serde_json::Value) -> NewApproval {
    NewApproval {
        run_id: "dead".into(),
        tool_call_id: "t1".into(),
        tool: "terminal".into(),
        args: args.clone(),
        reason: "because".into(),
        approvers: vec!["ann".into()],
        requested_by: "cli".into(),
        expires_at: u64::MAX,
        origin: None,
        rule: None,
    }
}

fn approved(asked: &Approval) -> Answer {
    Answer {
        id: asked.id.clone(),
        args_hash: asked.args_hash.clone(),
        by: "ann".into(),
        decision: Decision::Approve(Scope::Once),
        reason: None,
    }
}
