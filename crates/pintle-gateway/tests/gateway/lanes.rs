//! R12.3: first in first out, one run at a time in a chat, several chats at once, a bound, and dead letters.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pintle::{Event, Verdict, points::UserPromptSubmit};
use pintle_agent::{
    Received,
    store::{MessageState, NewInbound},
};
use pintle_gateway::GatewayConfig;
use tokio::sync::Semaphore;

use crate::support::*;

/// Holds runs of the gateway back until the test lets them go on.
fn hold(world: &World) -> Arc<Semaphore> {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let wait = move |_: Event<UserPromptSubmit>| {
        let held = held.clone();
        async move {
            held.acquire().await.unwrap().forget();
            Verdict::allow()
        }
    };
    world.hooks.named("hold").deadline(Duration::from_secs(60)).register_gate(wait).unwrap();
    gate
}

#[tokio::test]
async fn a_chat_is_answered_in_order_and_its_runs_never_overlap() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let world = World::echo();
    let (inside, peak) = (now.clone(), most.clone());
    let overlap = move |_: Event<UserPromptSubmit>| {
        let (inside, peak) = (inside.clone(), peak.clone());
        async move {
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(3)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Verdict::allow()
        }
    };
    world.hooks.register_gate(overlap).unwrap();
    let gateway = world.start().await;
    let said: Vec<String> = (0..15).map(|n| format!("message {n}")).collect();
    for (n, text) in said.iter().enumerate() {
        say(&gateway, "c", &n.to_string(), text).await;
    }
    world.channel.until("all are answered", |it| it.texts().len() == said.len()).await;
    let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
    assert_eq!(world.channel.texts(), expected);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn chats_run_at_the_same_time_up_to_the_limit() {
    let mut world = World::echo();
    world.config = GatewayConfig { max_runs: 2, ..world.config };
    let gate = hold(&world);
    let gateway = world.start().await;
    for chat in ["a", "b", "c"] {
        say(&gateway, chat, "1", "hello").await;
    }
    gate.add_permits(1);
    world.channel.until("one is answered", |it| it.texts().len() == 1).await;
    gate.add_permits(2);
    world.channel.until("all are answered", |it| it.texts().len() == 3).await;
}

#[tokio::test]
async fn a_full_chat_gets_a_busy_answer_and_takes_messages_again_later() {
    let mut world = World::echo();
    world.config = GatewayConfig { lane_bound: 2, ..world.config };
    let gate = hold(&world);
    let gateway = world.start().await;
    assert!(matches!(say(&gateway, "c", "1", "one").await, Received::Queued { .. }));
    assert!(matches!(say(&gateway, "c", "2", "two").await, Received::Queued { .. }));
    assert_eq!(say(&gateway, "c", "3", "three").await, Received::Busy);
    assert_eq!(say(&gateway, "c", "3", "three").await, Received::Busy);
    world.channel.until("the sender is told", |it| it.texts().len() == 1).await;
    assert!(world.channel.texts()[0].starts_with("Too many messages are waiting here"));
    gate.add_permits(3);
    world.channel.until("both are answered", |it| it.texts().len() == 3).await;
    assert!(matches!(say(&gateway, "c", "3", "three").await, Received::Queued { .. }));
    world.channel.until("the third too", |it| it.texts().len() == 4).await;
}

#[tokio::test]
async fn stop_ends_a_run_and_the_next_message_is_processed() {
    let world = World::echo();
    let gate = hold(&world);
    let gateway = world.start().await;
    let Received::Queued { run_id } = say(&gateway, "c", "1", "long").await else { panic!() };
    say(&gateway, "c", "2", "next").await;
    begun(&world).await;
    say(&gateway, "c", "3", "/stop").await;
    let stopped = gateway.wait_until_settled(&run_id).await.unwrap().unwrap();
    assert_eq!(stopped.outcome.as_deref(), Some("aborted"));
    gate.add_permits(1);
    world
        .channel
        .until("the next is answered", |it| it.texts().contains(&"echo: next".into()))
        .await;
}

async fn begun(world: &World) {
    let waiting = async {
        while !world.fired.points().contains(&"session.start".to_string()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the run begins");
}

/// A message that has not begun is stopped too, and so is one that was claimed a moment ago.
#[tokio::test]
async fn stop_takes_back_a_message_that_waits_for_a_free_slot() {
    let mut world = World::echo();
    world.config = GatewayConfig { max_runs: 1, ..world.config };
    let gate = hold(&world);
    let gateway = world.start().await;
    say(&gateway, "busy", "1", "long").await;
    begun(&world).await;
    let Received::Queued { run_id } = say(&gateway, "c", "1", "waits").await else { panic!() };
    say(&gateway, "c", "2", "/stop").await;
    let stopped = gateway.wait_until_settled(&run_id).await.unwrap().unwrap();
    assert_eq!(stopped.outcome.as_deref(), Some("aborted"));
    say(&gateway, "c", "3", "next").await;
    gate.add_permits(2);
    world.channel.until("the others are answered", |it| it.texts().len() == 3).await;
    let texts = world.channel.texts_to("c");
    assert_eq!(texts, ["The message was removed before its run began.", "echo: next"]);
}

/// A gateway that is stopped in the middle of a run has not failed at it.
#[tokio::test]
async fn restarts_in_the_middle_of_a_run_do_not_make_its_message_a_dead_letter() {
    let world = World::echo();
    let gate = hold(&world);
    let gateway = world.start().await;
    let Received::Queued { run_id } = say(&gateway, "c", "1", "hello").await else { panic!() };
    begun(&world).await;
    gateway.stop().await;
    for _ in 0..5 {
        let gateway = world.start().await;
        let claimed = async {
            while world.queues.message(&run_id).await.unwrap().unwrap().attempts == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), claimed).await.expect("it is claimed");
        gateway.stop().await;
        assert_eq!(world.queues.message(&run_id).await.unwrap().unwrap().attempts, 0);
    }
    gate.add_permits(10);
    let _gateway = world.start().await;
    world.channel.until("it is answered", |it| it.texts() == ["echo: hello"]).await;
}

/// A message whose processing ends the program each time does not do so for ever.
#[tokio::test]
async fn a_message_that_was_tried_too_often_is_a_dead_letter_and_can_be_tried_again() {
    let world = World::echo();
    let session = world
        .store
        .open(pintle_agent::NewSession { key: "test:c".into(), ..Default::default() })
        .await
        .unwrap();
    let new = NewInbound {
        dedup_key: "k".into(),
        lane: "test:c".into(),
        run_id: "r1".into(),
        session_id: session.id,
        personality: None,
        message: message("c", "1", "ann", "poison"),
    };
    world.queues.accept(new, 10).await.unwrap();
    // Three processes claim it and end.
    for _ in 0..3 {
        assert!(world.queues.claim_lane("dead", Duration::from_secs(60)).await.unwrap().is_some());
        world.queues.release_claims().await.unwrap();
    }
    let gateway = world.start().await;
    world.channel.until("the sender is told", |it| it.texts().len() == 1).await;
    assert!(world.channel.texts()[0].contains("could not be processed"));
    let dead = world.queues.messages(MessageState::Dead).await.unwrap();
    assert_eq!((dead.len(), dead[0].run_id.as_str()), (1, "r1"));
    say(&gateway, "c", "2", "hello").await;
    world.channel.until("the lane goes on", |it| it.texts().contains(&"echo: hello".into())).await;

    assert!(gateway.retry_dead("r1").await.unwrap());
    assert!(!gateway.retry_dead("r1").await.unwrap());
    world.channel.until("it is answered", |it| it.texts().contains(&"echo: poison".into())).await;
    assert!(world.queues.messages(MessageState::Dead).await.unwrap().is_empty());
}

/// A claim has a lease: an owner that is gone without a word does not block the chat.
#[tokio::test]
async fn a_claim_that_is_not_renewed_runs_out_and_its_owner_can_write_nothing() {
    let world = World::echo();
    let gateway_of_before = world.start().await;
    gateway_of_before.stop().await;
    let session = world
        .store
        .open(pintle_agent::NewSession { key: "test:c".into(), ..Default::default() })
        .await
        .unwrap();
    let new = NewInbound {
        dedup_key: "k".into(),
        lane: "test:c".into(),
        run_id: "r1".into(),
        session_id: session.id,
        personality: None,
        message: message("c", "1", "ann", "hello"),
    };
    world.queues.accept(new, 10).await.unwrap();
    let paused =
        world.queues.claim_lane("paused", Duration::from_millis(50)).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let next = world.queues.claim_lane("next", Duration::from_secs(5)).await.unwrap().unwrap();
    assert!(next.claim.epoch > paused.claim.epoch);
    let end = pintle_agent::store::MessageEnd::Done { outcome: "end_turn".into() };
    assert!(!world.queues.settle_lane(&paused.claim, end.clone(), Vec::new()).await.unwrap());
    assert!(!world.queues.renew_lane(&paused.claim, Duration::from_secs(5)).await.unwrap());
    assert!(world.queues.settle_lane(&next.claim, end, Vec::new()).await.unwrap());
}

/// The hooks of one message may take long: a later message of the chat does not overtake it.
#[tokio::test]
async fn a_slow_hook_on_the_first_message_does_not_let_the_second_overtake_it() {
    let world = World::echo();
    let slow = |e: Event<pintle::points::MessageReceived>| async move {
        if e.message.text == "first" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    world.hooks.register_void(slow).unwrap();
    let gateway = world.start().await;
    let order = Mutex::new(Vec::new());
    let (first, second) = (say(&gateway, "c", "1", "first"), say(&gateway, "c", "2", "second"));
    let first = async {
        first.await;
        order.lock().unwrap().push(1);
    };
    let second = async {
        second.await;
        order.lock().unwrap().push(2);
    };
    tokio::join!(first, second);
    assert_eq!(*order.lock().unwrap(), [1, 2]);
    world.channel.until("both are answered", |it| it.texts().len() == 2).await;
    assert_eq!(world.channel.texts(), ["echo: first", "echo: second"]);
}

/// Somebody went on with the run elsewhere: it is not begun a second time.
#[tokio::test]
async fn a_run_that_another_process_finished_is_answered_with_what_was_said_there() {
    let world = World::echo();
    let new = pintle_agent::NewSession { key: "test:c".into(), ..Default::default() };
    let session = world.store.open(new).await.unwrap();
    let said = |run_id: &str, message| pintle_agent::NewMessage { run_id: run_id.into(), message };
    let claim = world.store.claim(&session).await.unwrap();
    let messages = vec![
        said("r1", pintle_agent::Message::user("hello")),
        said("elsewhere", pintle_agent::Message::assistant("done elsewhere", Vec::new())),
    ];
    world.store.append(&claim, messages).await.unwrap();
    drop(claim);
    let new = NewInbound {
        dedup_key: "k".into(),
        lane: "test:c".into(),
        run_id: "r1".into(),
        session_id: session.id.clone(),
        personality: None,
        message: message("c", "1", "ann", "hello"),
    };
    world.queues.accept(new, 10).await.unwrap();
    let _gateway = world.start().await;
    world.channel.until("it is answered", |it| it.texts() == ["done elsewhere"]).await;
    assert_eq!(world.store.history(&session.id).await.unwrap().len(), 2);
}
