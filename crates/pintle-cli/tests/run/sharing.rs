//! A session two agents reach, as two processes would: it belongs to one run at a time. And R6.3 for a sub-agent whose
//! run goes on without its parent's.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use pintle_agent::{
    Agent, ApprovalOutcome, ApprovalRequest, Approver, Ask, Message, NewMessage, NewSession,
    Personalities, Store, ToolCall,
};
use pintle_store::{Options, SqliteStore};
use serde_json::json;

use crate::support::{
    Swamp, World, assert_whole, calls, done, messages, of_type, personality, rest, results, says,
    tool, until,
};

/// Another agent on the same files, with a connection of its own.
async fn another(world: &World) -> Agent {
    let claim_patience = Duration::from_millis(50);
    let options = Options { claim_patience, ..Options::default() };
    let store = SqliteStore::open_with(world.store.path(), options).await.unwrap();
    let (hooks, llm) = (world.hooks.clone(), crate::support::Recorded::new(json!([says("Hi.")])));
    let (personalities, policy) = (world.personalities.clone(), world.policy.clone());
    Agent::builder(hooks, llm, Arc::new(store), personalities, policy).build().unwrap()
}

// R6.1, R6.5
#[tokio::test]
async fn a_second_agent_does_not_touch_a_session_in_use() {
    let mut world = World::new(json!([calls(&[("t1", "wait", json!({}))]), says("Done.")])).await;
    world.personalities = world.personalities.clone().with(personality("other", None, None));
    let (swamp, stuck) = (Swamp::default(), Swamp::default());
    let inside = swamp.clone();
    let waits = tool("wait", move |_| inside.stuck());
    let first = world.builder().tools([waits]).build().unwrap();
    let second = another(&world).await;
    let mut run = first.run(Ask::new("cli:test", "wait"));
    until(&mut run, "tool.start").await;
    swamp.reached().await;
    for ask in [
        Ask::new("cli:test", "hello"),
        Ask::new("cli:test", "hello").as_personality("other"),
        Ask::going_on(world.session().await.id),
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
    let events = rest(second.run(Ask::new("cli:test", "hello"))).await;
    assert_eq!(done(&events), ("Hi.".into(), "end_turn".into()));
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(results(&history).len(), 1, "one call, one result: {history:#?}");
}

/// Somebody said yes before the crash.
struct SaidYes;

impl Approver for SaidYes {
    fn open_calls(&self, _: &str) -> BoxFuture<'static, Vec<String>> {
        std::future::ready(vec!["t1".to_string()]).boxed()
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
        let call = ToolCall { id, name, input, malformed: None };
        let said = [
            Message::User { text: "do it".into() },
            Message::Assistant { text: String::new(), tool_calls: vec![call] },
        ];
        let said = said.map(|message| NewMessage { run_id: "dead".into(), message });
        world.store.append(&child.id, said.into()).await.unwrap();

        let agent = world.builder().approver(Arc::new(SaidYes)).build().unwrap();
        let events = rest(agent.run(Ask::going_on(&child.id))).await;
        assert_eq!(done(&events).1, "end_turn");
        assert_eq!(world.file("marker").exists(), runs, "{allowed:?}");
        assert_eq!(of_type(&events, "run.start")[0]["parentSessionId"], between.id.as_str());
        assert_whole(&messages(world.store.history(&child.id).await.unwrap()));
    }
}
