//! A run that is stopped while a message is on its way to the store (R6.5).

use std::future::ready;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{Event, points::SessionOpened};
use pintle_agent::{
    Agent, Message, RunRequest,
    store::Sessions,
    testing::{Access, MemoryStore},
};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::support::{World, assert_whole, calls, done, messages, of_type, rest, says, tool};

fn agent_on(world: &World, store: &MemoryStore) -> Agent {
    Agent::builder(
        world.hooks.clone(),
        world.llm.clone(),
        Arc::new(store.clone()),
        world.personalities.clone(),
        world.policy.clone(),
    )
    .tools(world.tools.clone())
    .build()
    .unwrap()
}

type Kind = fn(&Message) -> bool;

/// An agent on a slow store: messages of one kind wait on the way until they may go on. Also when one waits, and how to
/// let it go on.
fn slow(world: &World, slow: Kind) -> (Agent, MemoryStore, Arc<Notify>, watch::Sender<bool>) {
    let (go, open) = watch::channel(false);
    let reached = Arc::new(Notify::new());
    let waits = reached.clone();
    let store = MemoryStore::default().delayed_by(move |access| {
        let is_slow = match access {
            Access::Append(messages) => messages.iter().any(|new| slow(&new.message)),
            Access::BeginCall(_) | Access::History => false,
        };
        let (mut open, waits) = (open.clone(), waits.clone());
        Box::pin(async move {
            if is_slow {
                waits.notify_one();
                open.wait_for(|open| *open).await.unwrap();
            }
        })
    });
    let agent = agent_on(world, &store);
    (agent, store, reached, go)
}

#[tokio::test]
async fn a_message_on_its_way_when_the_run_is_stopped_is_stored_once() {
    let kinds: [(Kind, usize); 3] = [
        (|message| matches!(message, Message::User { .. }), 1),
        (|message| matches!(message, Message::Assistant { .. }), 3),
        (|message| matches!(message, Message::ToolResults { .. }), 3),
    ];
    for (kind, stored) in kinds {
        let look = calls(&[("t1", "list_dir", json!({"path": "."}))]);
        let world = World::new(json!([look, says("never said")])).await;
        let (agent, store, reached, go) = slow(&world, kind);
        let run = agent.run(RunRequest::new("cli:test", "look"));
        reached.notified().await;
        run.cancel();
        // Time enough to do the wrong thing: to read a history that the message is not in yet.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        go.send_replace(true);
        assert_eq!(done(&rest(run).await).1, "aborted");
        let session = store.sessions().await.unwrap().remove(0);
        let history = messages(store.history(&session.id).await.unwrap());
        assert_whole(&history);
        assert_eq!(history.len(), stored, "{history:#?}");
    }
}

// P1: a first run that is stopped before it could say so does not swallow `session_start`.
#[tokio::test]
async fn session_start_fires_with_the_first_run_that_gets_so_far() {
    let world = World::new(json!([says("Hello.")])).await;
    let starts = Arc::new(AtomicUsize::new(0));
    let count = starts.clone();
    let watch = move |_: Event<SessionOpened>| {
        count.fetch_add(1, Ordering::SeqCst);
        async {}
    };
    world.hooks.register_void(watch).unwrap();
    let agent = world.agent();
    let run = agent.run(RunRequest::new("cli:test", "hello"));
    run.cancel();
    assert_eq!(done(&rest(run).await).1, "aborted");
    assert_eq!(starts.load(Ordering::SeqCst), 0);
    let run = agent.run(RunRequest::new("cli:test", "hello?"));
    assert_eq!(done(&rest(run).await).1, "end_turn");
    assert_eq!(starts.load(Ordering::SeqCst), 1);
}

// Tools that use one file queue for it in the order in which they are started.
#[tokio::test]
async fn calls_start_in_the_order_of_the_message_when_the_store_confirms_them_in_another() {
    // More than thirty calls are polled in another order than a few.
    for count in [2, 5, 40] {
        let ids: Vec<_> = (0..count).map(|n| format!("t{n}")).collect();
        let message: Vec<_> =
            ids.iter().map(|id| (id.as_str(), "mark", json!({"id": id}))).collect();
        let mut world = World::new(json!([calls(&message), says("Done.")])).await;
        let ran = Arc::new(Mutex::new(Vec::new()));
        let marks = ran.clone();
        world.tools = vec![tool("mark", move |args| {
            let marks = marks.clone();
            async move {
                marks.lock().unwrap().push(args["id"].as_str().unwrap().to_string());
                tokio::task::yield_now().await;
                Ok("marked".into())
            }
        })];
        // Each call waits until the one after it is stored.
        let stored = watch::Sender::new(count);
        let store = MemoryStore::default().delayed_by(move |access| {
            let Access::BeginCall(intent) = access else { return Box::pin(ready(())) };
            let number: usize = intent.tool_call_id[1..].parse().unwrap();
            let stored = stored.clone();
            Box::pin(async move {
                stored.subscribe().wait_for(|first| *first == number + 1).await.unwrap();
                stored.send_replace(number);
            })
        });
        let events = rest(agent_on(&world, &store).run(RunRequest::new("cli:test", "go"))).await;
        assert_eq!(done(&events).1, "end_turn");
        assert_eq!(*ran.lock().unwrap(), ids);
        let started = of_type(&events, "tool.start");
        assert!(started.iter().map(|event| &event["toolCallId"]).eq(&ids), "{started:#?}");
    }
}
