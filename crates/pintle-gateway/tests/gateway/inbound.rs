//! R12.1: duplicates, claims, commands, and what a failing hook does.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use pintle::{
    Event,
    points::{Handled, InboundClaim, MessageReceived},
};
use pintle_agent::Received;

use crate::support::*;

#[tokio::test]
async fn the_same_message_again_has_no_second_run_and_gets_the_same_run_id() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let world = World::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        says("done")
    });
    let gateway = world.start().await;
    let Received::Queued { run_id } = say(&gateway, "c", "1", "hello").await else { panic!() };
    let again = say(&gateway, "c", "1", "hello").await;
    assert_eq!(again, Received::Duplicate { run_id: run_id.clone() });
    gateway.wait_until_settled(&run_id).await.unwrap();
    assert_eq!(say(&gateway, "c", "1", "hello").await, Received::Duplicate { run_id });
    say(&gateway, "other chat", "1", "hello").await;
    world.channel.until("two chats are answered", |it| it.texts().len() == 2).await;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_handler_that_claims_a_message_answers_it_without_a_run() {
    let world = World::echo();
    world
        .hooks
        .register_claiming(|e: Event<InboundClaim>| async move {
            (e.message.text == "/ping").then(|| Handled::default().reply("pong"))
        })
        .unwrap();
    let gateway = world.start().await;
    assert!(matches!(say(&gateway, "c", "1", "/ping").await, Received::Handled { .. }));
    world.channel.until("it is answered", |it| it.texts() == ["pong"]).await;
    assert!(matches!(say(&gateway, "c", "1", "/ping").await, Received::Duplicate { .. }));
}

#[tokio::test]
async fn a_fail_closed_observer_that_fails_keeps_the_message_out() {
    let world = World::echo();
    world
        .hooks
        .named("archive")
        .fail_closed()
        .register_void(|_: Event<MessageReceived>| async {
            Err::<(), _>(std::io::Error::other("disk full"))
        })
        .unwrap();
    let gateway = world.start().await;
    let received = say(&gateway, "c", "1", "hello").await;
    let Received::Refused { reason } = received else { panic!("{received:?}") };
    assert!(reason.contains("archive"), "{reason}");
    world.channel.until("the sender is told", |it| it.texts().len() == 1).await;
    assert!(world.channel.texts()[0].starts_with("This message was not accepted"));
}

#[tokio::test]
async fn new_begins_another_conversation_and_personality_lists_those_there_are() {
    let world = World::new(|request| says(&format!("{} messages", request.messages.len())));
    let gateway = world.start().await;
    for (id, text) in [("1", "a"), ("2", "b"), ("3", "/new"), ("4", "c"), ("5", "/personality")] {
        say(&gateway, "c", id, text).await;
        let count: usize = id.parse().unwrap();
        world.channel.until("it is answered", |it| it.texts().len() == count).await;
    }
    let expected = [
        "1 messages",
        "3 messages",
        "A new conversation begins.",
        "1 messages",
        "The personality is main. Available: coder, main.",
    ];
    assert_eq!(world.channel.texts(), expected);
}

#[tokio::test]
async fn words_that_look_like_answers_are_messages_when_nothing_was_asked() {
    let world = World::echo();
    let gateway = world.start().await;
    say(&gateway, "c", "1", "yes").await;
    world.channel.until("it is answered", |it| it.texts() == ["echo: yes"]).await;
}
