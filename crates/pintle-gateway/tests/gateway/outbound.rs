//! R12.2: what leaves, in order, once, and what happens when a platform does not take it.

use std::time::Duration;

use pintle::{
    Event,
    points::{BeforeDispatch, MessagePatch, MessageSending, MessageSent, Suppressed},
};
use pintle_agent::{
    SendError,
    store::{NewOutgoing, OutgoingFilter, OutgoingKind, OutgoingState},
};

use crate::support::*;

async fn states(world: &World) -> Vec<OutgoingState> {
    let all = world.queues.outgoing(OutgoingFilter::default()).await.unwrap();
    all.into_iter().map(|sent| sent.state).collect()
}

async fn settled(world: &World) -> Vec<OutgoingState> {
    let waiting = async {
        loop {
            let states = states(world).await;
            if !states.is_empty() && !states.contains(&OutgoingState::Prepared) {
                return states;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it is settled")
}

#[tokio::test]
async fn a_hook_rewrites_what_leaves_and_the_next_one_sees_the_final_text() {
    let world = World::echo();
    world
        .hooks
        .register_modifying(|e: Event<MessageSending>| async move {
            let mut message = e.message.clone();
            message.text = message.text.replace("secret", "[redacted]");
            Some(MessagePatch::default().message(message))
        })
        .unwrap();
    world
        .hooks
        .register_claiming(|e: Event<BeforeDispatch>| async move {
            e.text.contains("[redacted] twice").then(|| Suppressed::default().reason("too much"))
        })
        .unwrap();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "my secret").await;
    say(&gateway, "c", "2", "my secret twice").await;
    assert_eq!(settled(&world).await, [OutgoingState::Accepted, OutgoingState::Rejected]);
    assert_eq!(world.channel.texts(), ["echo: my [redacted]"]);
}

#[tokio::test]
async fn retry_after_is_waited_for_and_later_messages_of_the_chat_wait_too() {
    let world = World::echo();
    let pause = SendError::RetryAfter(Duration::from_millis(300));
    *world.channel.results.lock().unwrap() = [Err(pause)].into();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "first").await;
    say(&gateway, "c", "2", "second").await;
    world.channel.until("both are sent", |it| it.texts().len() == 2).await;
    assert_eq!(world.channel.texts(), ["echo: first", "echo: second"]);
}

#[tokio::test]
async fn a_refused_message_is_rejected_and_its_observers_hear_that_it_was_not_sent() {
    let world = World::echo();
    *world.channel.results.lock().unwrap() = [Err(SendError::Rejected("blocked".into()))].into();
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    world
        .hooks
        .register_void(move |e: Event<MessageSent>| {
            heard.send(e.ok).unwrap();
            async {}
        })
        .unwrap();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    assert_eq!(hears.recv().await, Some(false));
    assert_eq!(settled(&world).await, [OutgoingState::Rejected]);
}

#[tokio::test]
async fn an_answer_that_may_have_arrived_is_sent_once_more_with_a_mark() {
    let world = World::echo();
    *world.channel.results.lock().unwrap() = [Err(SendError::Unknown("cut".into()))].into();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    world.channel.until("it is sent twice", |it| it.texts().len() == 2).await;
    let texts = world.channel.texts();
    assert_eq!(texts[0], "echo: hello");
    assert!(texts[1].contains("may be a repeat") && texts[1].ends_with("echo: hello"), "{texts:?}");
    assert_eq!(settled(&world).await, [OutgoingState::Accepted]);
}

#[tokio::test]
async fn anything_else_that_may_have_arrived_is_held_and_shown() {
    let world = World::echo();
    *world.channel.results.lock().unwrap() = [Err(SendError::Unknown("cut".into()))].into();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "/personality").await;
    assert_eq!(settled(&world).await, [OutgoingState::Unknown]);
    assert_eq!(world.channel.texts().len(), 1);
}

#[tokio::test]
async fn with_an_idempotency_key_it_is_sent_again_under_the_same_key() {
    let world = World::echo();
    world.channel.features.lock().unwrap().idempotency_key = true;
    *world.channel.results.lock().unwrap() = [Err(SendError::Unknown("cut".into()))].into();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    world.channel.until("it is sent twice", |it| it.texts().len() == 2).await;
    let sent = world.channel.sent.lock().unwrap();
    assert_eq!((&sent[0].key, &sent[0].text), (&sent[1].key, &sent[1].text));
}

/// A crash in the middle of a send: the row says that the platform was given it.
#[tokio::test]
async fn after_a_crash_in_the_middle_of_a_send_only_a_final_answer_is_repeated() {
    let world = World::echo();
    let row = |text: &str, kind| NewOutgoing {
        lane: format!("test:{text}"),
        run_id: text.into(),
        session_id: None,
        platform: PLATFORM.into(),
        chat_id: text.into(),
        thread_id: None,
        reply_to: None,
        text: text.into(),
        kind,
    };
    let rows = vec![row("answer", OutgoingKind::Reply), row("notice", OutgoingKind::Notice)];
    world.queues.enqueue(rows).await.unwrap();
    for _ in 0..2 {
        let claimed = world.queues.claim_outgoing(Duration::from_secs(60)).await.unwrap().unwrap();
        let out = pintle::points::OutboundMessage::default().text(claimed.new.text.as_str());
        assert!(world.queues.begin_outgoing(&claimed.id, &claimed.claim, &out).await.unwrap());
    }
    let _gateway = world.start().await;
    let mut states = settled(&world).await;
    states.sort_by_key(|state| format!("{state:?}"));
    assert_eq!(states, [OutgoingState::Accepted, OutgoingState::Unknown]);
    let texts = world.channel.texts();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains("may be a repeat") && texts[0].ends_with("answer"), "{texts:?}");
}

#[tokio::test]
async fn a_long_answer_is_sent_in_parts_in_order() {
    let world = World::new(|_| says(&"line of text\n".repeat(20)));
    world.channel.features.lock().unwrap().max_text = Some(100);
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    world.channel.until("all is sent", |it| it.texts().len() == 4).await;
    let texts = world.channel.texts();
    let strip = |(at, text): (usize, &String)| {
        text.strip_prefix(&format!("({}/4) ", at + 1)).unwrap().to_string()
    };
    let parts: Vec<String> = texts.iter().enumerate().map(strip).collect();
    assert_eq!(parts.concat(), "line of text\n".repeat(20));
    assert!(texts.iter().all(|text| text.len() <= 100));
}

/// A platform may take longer than the lease, and hooks too: the message is still sent once.
#[tokio::test]
async fn a_send_that_takes_longer_than_its_lease_is_not_begun_twice() {
    let mut world = World::echo();
    world.config.lease = Duration::from_millis(90);
    world
        .hooks
        .register_modifying(|_: Event<MessageSending>| async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            None::<MessagePatch>
        })
        .unwrap();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    assert_eq!(settled(&world).await, [OutgoingState::Accepted]);
    assert_eq!(world.channel.texts(), ["echo: hello"]);
}

#[tokio::test]
async fn a_message_that_never_leaves_is_failed_after_the_last_attempt() {
    let mut world = World::echo();
    world.config.send_attempts = 2;
    let down = || Err(SendError::Temporary("down".into()));
    *world.channel.results.lock().unwrap() = [down(), down(), down()].into();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "hello").await;
    assert_eq!(settled(&world).await, [OutgoingState::Failed]);
    assert!(world.channel.texts().is_empty());
}
