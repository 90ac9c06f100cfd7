//! Channel safety: strangers, pairing, mentions, duplicates.

use std::sync::Arc;

use pintle::{Event, points::MessageReceived};
use pintle_agent::Received;
use pintle_gateway::{Gateway, SafetyRules, new_pairing_code};

use crate::support::*;

fn guarded(pairing: bool) -> World {
    let mut world = World::echo();
    let rules = SafetyRules { allow: Some(vec!["ann".into()]), pairing, mention_in_groups: true };
    world.rules.insert(PLATFORM.into(), rules);
    world
}

async fn from(gateway: &Gateway, sender: &str, id: &str, text: &str) -> Received {
    gateway.receive(message(&format!("chat of {sender}"), id, sender, text), None).await.unwrap()
}

#[tokio::test]
async fn a_stranger_reaches_no_hook_no_command_and_no_run() {
    let world = guarded(false);
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    world
        .hooks
        .register_void(move |e: Event<MessageReceived>| {
            heard.send(e.message.sender.id.clone()).unwrap();
            async {}
        })
        .unwrap();
    let gateway = world.start().await;
    for (id, text) in [("1", "hello"), ("2", "/new"), ("3", "/approve 1"), ("4", "/pair AAAA")] {
        let received = from(&gateway, "mallory", id, text).await;
        assert!(matches!(received, Received::Refused { .. }), "{text}: {received:?}");
    }
    assert!(matches!(from(&gateway, "ann", "1", "hello").await, Received::Queued { .. }));
    world.channel.until("ann is answered", |it| it.texts() == ["echo: hello"]).await;
    assert_eq!(hears.recv().await.as_deref(), Some("ann"));
    assert!(hears.try_recv().is_err());
}

#[tokio::test]
async fn a_pairing_code_works_once_and_for_one_person() {
    let world = guarded(true);
    let gateway = world.start().await;
    let code = new_pairing_code(&*world.queues).await.unwrap();
    assert!(matches!(from(&gateway, "bob", "1", "hello").await, Received::Refused { .. }));
    from(&gateway, "bob", "2", &format!("/pair {}", code.to_lowercase())).await;
    assert!(matches!(from(&gateway, "bob", "3", "hello").await, Received::Queued { .. }));
    from(&gateway, "carol", "1", &format!("/pair {code}")).await;
    assert!(matches!(from(&gateway, "carol", "2", "hello").await, Received::Refused { .. }));
    world
        .channel
        .until("all is said", |it| it.texts_to("chat of bob").contains(&"echo: hello".into()))
        .await;
    let to_bob = world.channel.texts_to("chat of bob");
    assert!(to_bob[0].contains("pairing code"), "{to_bob:?}");
    assert_eq!(to_bob[1..], ["You are paired. Write to me.", "echo: hello"]);
}

/// Five guesses, then not even the right code is looked at.
#[tokio::test]
async fn guessing_pairing_codes_locks_the_sender_out() {
    let world = guarded(true);
    let gateway = world.start().await;
    for n in 0..5 {
        from(&gateway, "eve", &n.to_string(), &format!("/pair WRONG{n}")).await;
    }
    let code = new_pairing_code(&*world.queues).await.unwrap();
    let received = from(&gateway, "eve", "9", &format!("/pair {code}")).await;
    assert_eq!(received, Received::Refused { reason: "too many wrong pairing codes".into() });
    assert!(matches!(from(&gateway, "eve", "10", "hello").await, Received::Refused { .. }));
    // Others are not locked out by her.
    from(&gateway, "bob", "1", &format!("/pair {code}")).await;
    assert!(matches!(from(&gateway, "bob", "2", "hello").await, Received::Queued { .. }));
}

#[tokio::test]
async fn many_senders_together_cannot_guess_either() {
    let world = guarded(true);
    let gateway = Arc::new(world.start().await);
    for n in 0..30 {
        from(&gateway, &format!("bot{n}"), "1", "/pair WRONG").await;
    }
    let code = new_pairing_code(&*world.queues).await.unwrap();
    let received = from(&gateway, "fresh", "1", &format!("/pair {code}")).await;
    assert_eq!(received, Received::Refused { reason: "too many wrong pairing codes".into() });
}

#[tokio::test]
async fn a_group_message_that_does_not_address_the_agent_is_passed_over_in_silence() {
    let world = guarded(false);
    let gateway = world.start().await;
    let mut said = message("group", "1", "ann", "just talking");
    (said.is_direct, said.mentions_agent) = (false, false);
    let received = gateway.receive(said.clone(), None).await.unwrap();
    assert!(matches!(received, Received::Refused { .. }));
    (said.mentions_agent, said.id) = (true, "2".into());
    gateway.receive(said, None).await.unwrap();
    world.channel.until("it is answered", |it| it.texts() == ["echo: just talking"]).await;
}
