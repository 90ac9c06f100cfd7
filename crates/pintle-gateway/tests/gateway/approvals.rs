//! R11.4–R11.6, R12.5: questions from anywhere, answered once, by those who may.

use std::{sync::atomic::Ordering, time::Duration};

use pintle_agent::{
    Received,
    store::{Approval, ApprovalFilter, ApprovalState, MessageState},
};
use pintle_gateway::Gateway;

use crate::support::*;

pub(crate) async fn asked(world: &World) -> Approval {
    let waiting = async {
        loop {
            let filter =
                ApprovalFilter { state: Some(ApprovalState::Pending), ..Default::default() };
            if let Some(approval) = world.store.approvals(filter).await.unwrap().pop() {
                return approval;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("a question is asked")
}

async fn parked(world: &World) -> Approval {
    let approval = asked(world).await;
    world
        .channel
        .until("the approver and the chat are told", |it| {
            !it.texts_to("boss").is_empty() && !it.texts_to("c").is_empty()
        })
        .await;
    approval
}

async fn from(gateway: &Gateway, chat: &str, sender: &str, id: &str, text: &str) -> Received {
    gateway.receive(message(chat, id, sender, text), None).await.unwrap()
}

fn runs(world: &World) -> usize {
    world.tool_runs.load(Ordering::SeqCst)
}

#[tokio::test]
async fn the_approver_is_asked_in_private_with_the_exact_arguments_and_yes_runs_the_tool_once() {
    let world = World::new(deploys);
    let gateway = world.start().await;
    say(&gateway, "c", "1", "deploy").await;
    let approval = parked(&world).await;
    let question = world.channel.texts_to("boss").remove(0);
    assert!(question.contains("\"to\": \"production\""), "{question}");
    assert!(question.contains("Asked for by test:ann"), "{question}");
    assert_eq!(runs(&world), 0);

    from(&gateway, "boss", "boss", "1", "yes").await;
    world
        .channel
        .until("the answer comes", |it| it.texts_to("c").contains(&"tool: deployed".into()))
        .await;
    assert_eq!(runs(&world), 1);
    let settled = world.store.approval(&approval.id).await.unwrap().unwrap();
    assert_eq!(settled.answered_by.as_deref(), Some("test:boss"));
    let edited = world.channel.edited.lock().unwrap().clone();
    assert!(
        edited
            .iter()
            .any(|(chat, _, text)| chat == "boss" && text.contains("approved by test:boss"))
    );
}

/// A run that waits for a person holds no lease and no slot: another chat runs on the only slot.
#[tokio::test]
async fn a_parked_run_holds_no_slot_and_no_lease() {
    let mut world = World::new(deploys);
    world.config.max_runs = 1;
    let gateway = world.start().await;
    say(&gateway, "c", "1", "deploy").await;
    parked(&world).await;
    let message = world.queues.messages(MessageState::Parked).await.unwrap().remove(0);
    assert!(message.waiting_on.is_some());
    say(&gateway, "other", "1", "hello").await;
    world.channel.until("the other chat is answered", |it| it.texts_to("other").len() == 1).await;
    say(&gateway, "c", "2", "after").await;
    from(&gateway, "boss", "boss", "1", "no").await;
    world.channel.until("both are answered", |it| it.texts_to("c").len() == 3).await;
    let texts = world.channel.texts_to("c");
    assert!(texts[1].contains("said no"), "{texts:?}");
    assert_eq!(texts[2], "echo: after");
    assert_eq!(runs(&world), 0);
}

#[tokio::test]
async fn the_requester_cannot_approve_and_strangers_cannot_answer() {
    let mut world = World::new(deploys);
    world.approvers = vec!["test:boss".into(), "test:ann".into()];
    let gateway = world.start().await;
    say(&gateway, "c", "1", "deploy").await;
    let approval = parked(&world).await;
    from(&gateway, "c", "ann", "2", &format!("/approve {}", approval.id)).await;
    from(&gateway, "d", "eve", "3", &format!("/approve {}", approval.id)).await;
    world.channel.until("eve is refused", |it| !it.texts_to("d").is_empty()).await;
    world.channel.until("ann is refused", |it| it.texts_to("c").len() == 2).await;
    assert_eq!(world.channel.texts_to("d"), ["You may not answer this question."]);
    assert!(world.channel.texts_to("c")[1].contains("another approver"));
    assert_eq!(runs(&world), 0);
    from(&gateway, "boss", "boss", "4", &format!("/approve {}", approval.id)).await;
    world
        .channel
        .until("the tool has run", |it| it.texts_to("c").contains(&"tool: deployed".into()))
        .await;
    from(&gateway, "boss", "boss", "5", &format!("/deny {} too late", approval.id)).await;
    world
        .channel
        .until("it is too late", |it| {
            it.texts_to("boss").iter().any(|it| it.starts_with("Too late"))
        })
        .await;
    assert_eq!(runs(&world), 1);
}

#[tokio::test]
async fn a_denial_with_words_reaches_the_model() {
    let world = World::new(deploys);
    let gateway = world.start().await;
    say(&gateway, "c", "1", "deploy").await;
    let approval = parked(&world).await;
    let short = &approval.id[approval.id.len() - 8..];
    from(&gateway, "boss", "boss", "1", &format!("/deny {short} not on a Friday")).await;
    let told = |it: &TestChannel| it.texts_to("c").iter().any(|it| it.contains("not on a Friday"));
    world.channel.until("the model hears it", told).await;
    assert_eq!(runs(&world), 0);
}

#[tokio::test]
async fn stop_withdraws_the_question_at_once() {
    let world = World::new(deploys);
    let gateway = world.start().await;
    let Received::Queued { run_id } = say(&gateway, "c", "1", "deploy").await else { panic!() };
    let approval = parked(&world).await;
    say(&gateway, "c", "2", "/stop").await;
    let settled = world.store.approval(&approval.id).await.unwrap().unwrap();
    assert_eq!(settled.state, ApprovalState::Cancelled);
    let stopped = world.queues.message(&run_id).await.unwrap().unwrap();
    assert_eq!((stopped.state, stopped.outcome.as_deref()), (MessageState::Done, Some("aborted")));
    from(&gateway, "boss", "boss", "1", &format!("/approve {}", approval.id)).await;
    say(&gateway, "c", "3", "still there?").await;
    world
        .channel
        .until("the chat goes on", |it| it.texts_to("c").contains(&"echo: still there?".into()))
        .await;
    assert_eq!(runs(&world), 0);
}

#[tokio::test]
async fn a_question_that_expires_makes_the_run_go_on_without_the_tool() {
    let mut world = World::new(deploys);
    world.approval_timeout = Duration::from_millis(800);
    let gateway = world.start().await;
    say(&gateway, "c", "1", "deploy").await;
    let told = |it: &TestChannel| it.texts_to("c").iter().any(|it| it.contains("tool: Blocked"));
    world.channel.until("the run goes on", told).await;
    assert_eq!(runs(&world), 0);
}

/// R11.6: the gateway ends while a person is asked; after the restart an answer resumes the run, once.
#[tokio::test]
async fn a_pending_question_survives_a_restart() {
    let world = World::new(deploys);
    let first = world.start().await;
    say(&first, "c", "1", "deploy").await;
    let approval = parked(&world).await;
    first.stop().await;
    let second = world.start().await;
    from(&second, "boss", "boss", "9", &format!("/approve {}", approval.id)).await;
    world
        .channel
        .until("the answer comes", |it| it.texts_to("c").contains(&"tool: deployed".into()))
        .await;
    assert_eq!(runs(&world), 1);
}
