//! Calls that a dead process has left begun (R11.6): what the next owner of the session makes of them.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{
    Event,
    points::{AfterToolCall, ToolOutcome},
};
use pintle_agent::{
    Message, NewMessage, NewSession, RunRequest, Tool, ToolCall, ToolSpec, Zone,
    store::{CallEnd, CallFilter, Intent},
    testing::tool_fn,
};
use serde_json::json;

use crate::support::{World, assert_whole, calls, done, of_type, rest, results, says};

/// A tool that counts its runs.
fn counts(name: &str, repeatable: bool) -> (Arc<dyn Tool>, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let spec = ToolSpec::new(name, "Counts.", json!({"type": "object"})).in_zone(Zone::Safe);
    let spec = if repeatable { spec.repeatable() } else { spec };
    let count = runs.clone();
    let tool = tool_fn(spec, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok("ran".into()))
    });
    (tool, runs)
}

/// A session whose process died in the middle of an answer with four calls.
async fn interrupted(world: &World) -> String {
    let store = &world.store;
    let new = NewSession { key: "cli:test".into(), platform: "cli".into(), ..Default::default() };
    let session = store.open(new).await.unwrap();
    let claim = store.claim(&session).await.unwrap();
    let call = |id: &str, name: &str| ToolCall::default().id(id).name(name).input(json!({}));
    let tool_calls = vec![
        call("ended", "writes"),
        call("begun", "writes"),
        call("read", "reads"),
        call("not begun", "writes"),
    ];
    let said = [Message::user("do it"), Message::assistant("", tool_calls)];
    let said = said.map(|message| NewMessage { run_id: "dead".into(), message });
    store.append(&claim, said.into()).await.unwrap();
    for (id, tool) in [("ended", "writes"), ("begun", "writes"), ("read", "reads")] {
        let intent = Intent {
            id: format!("intent {id}"),
            run_id: "dead".into(),
            tool_call_id: id.into(),
            tool: tool.into(),
            args_hash: String::new(),
            approval_id: None,
        };
        store.begin_call(&claim, intent).await.unwrap();
    }
    let end = CallEnd { outcome: ToolOutcome::Ok, text: "from before".into(), duration_ms: 1 };
    store.end_call(&claim, "intent ended", end).await.unwrap();
    session.id
}

async fn unknown(world: &World) -> Vec<String> {
    let filter = CallFilter { outcome: Some(ToolOutcome::Unknown), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    calls.into_iter().map(|call| call.tool_call_id).collect()
}

#[tokio::test]
async fn a_run_that_goes_on_repeats_only_what_changes_nothing() {
    let world = World::new(json!([says("Done.")])).await;
    let session = interrupted(&world).await;
    let (writes, written) = counts("writes", false);
    let (reads, read) = counts("reads", true);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = seen.clone();
    let watch = move |e: Event<AfterToolCall>| {
        see.lock().unwrap().push((e.tool_call_id.clone(), e.outcome));
        async {}
    };
    world.hooks.register_void(watch).unwrap();
    let agent = world.builder().tools([writes, reads]).build().unwrap();
    let events = rest(agent.run(RunRequest::resume(session))).await;
    assert_eq!(done(&events), ("Done.".into(), "end_turn".into()));
    assert_eq!(written.load(Ordering::SeqCst), 1, "the one that was not begun");
    assert_eq!(read.load(Ordering::SeqCst), 1);
    let history = world.history().await;
    assert_whole(&history);
    let told = results(&history);
    assert_eq!((told[0].1, told[0].2.as_str()), (false, "from before"));
    assert!(told[1].1 && told[1].2.contains("the outcome is unknown"), "{told:?}");
    assert_eq!((told[2].2.as_str(), told[3].2.as_str()), ("ran", "ran"));
    assert_eq!(unknown(&world).await, ["begun"]);
    let outcomes = seen.lock().unwrap().clone();
    assert!(outcomes.contains(&("begun".into(), ToolOutcome::Unknown)), "{outcomes:?}");
    let asked = world.llm.requests()[0].messages.clone();
    assert!(asked.contains(history.iter().rev().nth(1).unwrap()), "the model reads the results");
    // Once more: there is nothing left.
    let events = rest(agent.run(RunRequest::resume(world.session().await.id))).await;
    assert_eq!(done(&events).0, "There is nothing to go on with.");
    assert_eq!(written.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_new_message_repeats_nothing_and_says_what_is_known() {
    let world = World::new(json!([says("Hello.")])).await;
    interrupted(&world).await;
    let (writes, written) = counts("writes", false);
    let (reads, read) = counts("reads", true);
    let agent = world.builder().tools([writes, reads]).build().unwrap();
    let events = rest(agent.run(RunRequest::new("cli:test", "hello"))).await;
    assert_eq!(done(&events), ("Hello.".into(), "end_turn".into()));
    assert_eq!((written.load(Ordering::SeqCst), read.load(Ordering::SeqCst)), (0, 0));
    let told = results(&world.history().await);
    for (result, words) in told.iter().zip([
        "from before",
        "the outcome is unknown",
        "It changes nothing",
        "It had no effect",
    ]) {
        assert!(result.2.contains(words), "{result:?}");
    }
    let ends = of_type(&events, "tool.end");
    let [end] = ends.as_slice() else { panic!("only the unknown one is news: {ends:?}") };
    assert_eq!((&end["outcome"], &end["toolCallId"]), (&json!("unknown"), &json!("begun")));
    let started = events.iter().position(|event| event["type"] == "run.start").unwrap();
    let ended = events.iter().position(|event| event["type"] == "tool.end").unwrap();
    assert!(started < ended, "it is recorded with the run that found it");
}

// An answer that was cut has calls that nobody judged: they are not run later either.
#[tokio::test]
async fn calls_that_were_never_judged_are_not_run_by_a_run_that_goes_on() {
    let world = World::new(json!([calls(&[]), says("never asked")])).await;
    let new = NewSession { key: "cli:test".into(), platform: "cli".into(), ..Default::default() };
    let session = world.store.open(new).await.unwrap();
    let claim = world.store.claim(&session).await.unwrap();
    let call = ToolCall::default().id("cut").name("writes").input(json!({}));
    let message = Message::assistant("", vec![call]);
    let cut = NewMessage { run_id: "dead".into(), message };
    world.store.append(&claim, vec![cut]).await.unwrap();
    drop(claim);
    let (writes, written) = counts("writes", false);
    let agent = world.builder().tools([writes]).build().unwrap();
    let events = rest(agent.run(RunRequest::resume(session.id))).await;
    assert_eq!(done(&events).0, "There is nothing to go on with.");
    assert_eq!(written.load(Ordering::SeqCst), 0);
    assert!(results(&world.history().await)[0].2.contains("It had no effect"));
}
