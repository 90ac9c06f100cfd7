//! Messages to be sent (R12.2), and small values that lapse.

use futures_util::future::join_all;
use pintle::points::OutboundMessage;

use super::{
    QueuesPlace,
    queues::{LEASE, NO_LEASE},
    support::{HOUR, now, row},
};
use crate::{
    channel::Button,
    store::{
        OutgoingFilter, OutgoingKind, OutgoingMessage, OutgoingState, Queues, SendEnd, Stored,
    },
};

async fn enqueue(queues: &dyn Queues, rows: &[(&str, &str)]) {
    let rows = rows.iter().map(|(lane, text)| row(lane, text, OutgoingKind::Reply)).collect();
    queues.enqueue(rows).await.unwrap();
}

async fn claim_of(queues: &dyn Queues, text: &str) -> OutgoingMessage {
    let claimed = queues.claim_outgoing(LEASE).await.unwrap();
    let claimed = claimed.unwrap_or_else(|| panic!("{text} is not due"));
    assert_eq!(claimed.new.text, text);
    claimed
}

fn settled(state: OutgoingState) -> SendEnd {
    SendEnd::Settled { state, platform_id: Some("p1".into()), reason: Some("why".into()) }
}

fn settle<'q>(queues: &'q dyn Queues, sent: &OutgoingMessage, end: SendEnd) -> Stored<'q, bool> {
    queues.settle_outgoing(&sent.id, &sent.claim, end)
}

fn text(text: &str) -> OutboundMessage {
    OutboundMessage::default().text(text)
}

pub async fn messages_leave_in_the_order_of_their_lane(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    enqueue(&*queues, &[("a", "a1"), ("a", "a2"), ("b", "b1")]).await;
    let first = claim_of(&*queues, "a1").await;
    // The second waits while the first is under way, and while it waits itself.
    let other = claim_of(&*queues, "b1").await;
    assert!(place.open().await.claim_outgoing(LEASE).await.unwrap().is_none());
    let later = SendEnd::Later { at: now() + HOUR, reason: "busy".into() };
    assert!(settle(&*queues, &other, later.clone()).await.unwrap());
    assert!(settle(&*queues, &first, later).await.unwrap());
    assert!(queues.claim_outgoing(LEASE).await.unwrap().is_none());
}

pub async fn a_message_that_is_due_again_is_sent_again_and_then_settled(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    enqueue(&*queues, &[("a", "a1"), ("a", "a2")]).await;
    let first = claim_of(&*queues, "a1").await;
    assert_eq!((first.attempts, first.interrupted), (0, false));
    assert!(queues.begin_outgoing(&first.id, &first.claim, &text("rewritten")).await.unwrap());
    let later = SendEnd::Later { at: now(), reason: "busy".into() };
    assert!(settle(&*queues, &first, later).await.unwrap());
    let again = claim_of(&*queues, "rewritten").await;
    assert_eq!((&again.id, again.attempts, again.interrupted), (&first.id, 1, false));
    assert_ne!(again.claim, first.claim);
    assert!(settle(&*queues, &again, settled(OutgoingState::Accepted)).await.unwrap());
    let kept = place.open().await.outgoing(OutgoingFilter::default()).await.unwrap();
    assert_eq!(
        (kept[0].state, kept[0].platform_id.as_deref()),
        (OutgoingState::Accepted, Some("p1"))
    );
    assert_eq!(kept[0].reason.as_deref(), Some("why"));
    claim_of(&*queues, "a2").await;
}

/// A crash in the middle of a send is known afterwards, with the text that the platform was given.
pub async fn a_message_whose_sender_ended_may_have_arrived(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    enqueue(&*queues, &[("a", "begun"), ("b", "not begun")]).await;
    let begun = claim_of(&*queues, "begun").await;
    claim_of(&*queues, "not begun").await;
    assert!(queues.begin_outgoing(&begun.id, &begun.claim, &text("final")).await.unwrap());
    let next = place.open().await;
    next.release_claims().await.unwrap();
    assert!(claim_of(&*next, "final").await.interrupted);
    assert!(!claim_of(&*next, "not begun").await.interrupted);
}

pub async fn a_sender_whose_lease_ran_out_can_write_nothing(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    enqueue(&*queues, &[("a", "a1")]).await;
    let paused = queues.claim_outgoing(NO_LEASE).await.unwrap().unwrap();
    let next = claim_of(&*queues, "a1").await;
    assert!(!queues.renew_outgoing(&paused.id, &paused.claim, LEASE).await.unwrap());
    assert!(!queues.begin_outgoing(&paused.id, &paused.claim, &text("late")).await.unwrap());
    assert!(!settle(&*queues, &paused, settled(OutgoingState::Failed)).await.unwrap());
    let unclaimed = OutgoingMessage { claim: String::new(), ..next.clone() };
    assert!(!settle(&*queues, &unclaimed, settled(OutgoingState::Failed)).await.unwrap());
    let kept = queues.outgoing(OutgoingFilter::default()).await.unwrap();
    assert_eq!((kept[0].state, kept[0].new.text.as_str()), (OutgoingState::Prepared, "a1"));
    assert!(settle(&*queues, &next, settled(OutgoingState::Accepted)).await.unwrap());
}

pub async fn a_renewed_lease_keeps_the_message(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    enqueue(&*queues, &[("a", "a1")]).await;
    let owner = queues.claim_outgoing(NO_LEASE).await.unwrap().unwrap();
    assert!(queues.renew_outgoing(&owner.id, &owner.claim, LEASE).await.unwrap());
    assert!(queues.claim_outgoing(LEASE).await.unwrap().is_none());
}

pub async fn sent_messages_are_found_by_run_question_and_state(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    let buttons = vec![Button { label: "Approve".into(), token: "t".into() }];
    let question = OutgoingKind::Question { approval_id: "q1".into(), buttons, attachment: None };
    let rows = vec![row("a", "one", OutgoingKind::Reply), row("b", "two", question.clone())];
    queues.enqueue(rows).await.unwrap();
    let one = claim_of(&*queues, "one").await;
    assert!(settle(&*queues, &one, settled(OutgoingState::Rejected)).await.unwrap());
    let texts = async |filter: OutgoingFilter| {
        let found = queues.outgoing(filter).await.unwrap();
        found.into_iter().map(|it| it.new.text).collect::<Vec<_>>()
    };
    let all = OutgoingFilter::default;
    assert_eq!(texts(all()).await, ["one", "two"]);
    assert_eq!(texts(OutgoingFilter { run_id: Some("run one".into()), ..all() }).await, ["one"]);
    assert_eq!(texts(OutgoingFilter { approval_id: Some("q1".into()), ..all() }).await, ["two"]);
    let rejected = Some(OutgoingState::Rejected);
    assert_eq!(texts(OutgoingFilter { state: rejected, ..all() }).await, ["one"]);
    assert_eq!(queues.outgoing(all()).await.unwrap()[1].new.kind, question);
}

pub async fn a_value_lapses_and_is_taken_by_one(place: &dyn QueuesPlace) {
    let handles = [place.open().await, place.open().await];
    let queues = &handles[0];
    queues.put_value("code", "a", now() + HOUR).await.unwrap();
    queues.put_value("code", "b", now() + HOUR).await.unwrap();
    queues.put_value("old", "x", now() - 1).await.unwrap();
    assert_eq!(handles[1].value("code").await.unwrap().as_deref(), Some("b"));
    assert_eq!(queues.value("old").await.unwrap(), None);
    assert!(!queues.take_value("old").await.unwrap());
    let taken = join_all((0..6).map(|n| handles[n % 2].take_value("code"))).await;
    assert_eq!(taken.into_iter().filter(|it| matches!(it, Ok(true))).count(), 1);
    assert_eq!(queues.value("code").await.unwrap(), None);
    queues.put_value("forever", "", u64::MAX).await.unwrap();
    queues.prune(now()).await.unwrap();
    assert!(queues.value("forever").await.unwrap().is_some());
}
