//! Messages that come in, and the lanes in which they wait (R12.1, R12.3).

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use pintle::points::{InboundMessage, Sender};

use super::{
    QueuesPlace,
    support::{HOUR, now, row},
};
use crate::store::{
    Accepted, ClaimedMessage, MessageEnd, MessageState, NewInbound, OutgoingFilter, OutgoingKind,
    Queues, Stopped,
};

pub(super) const LEASE: Duration = Duration::from_secs(60);
/// A lease that has run out when it begins: its owner was paused for too long.
pub(super) const NO_LEASE: Duration = Duration::ZERO;
const BOUND: u32 = 10;

fn inbound(lane: &str, id: &str) -> NewInbound {
    let message = InboundMessage::default()
        .id(id)
        .platform("test")
        .chat_id(lane)
        .sender(Sender::default().id("ann"))
        .text(format!("{lane} {id}"));
    NewInbound {
        dedup_key: format!("{lane}/{id}"),
        lane: lane.into(),
        run_id: format!("run {lane} {id}"),
        session_id: format!("session {lane}"),
        personality: Some("coder".into()),
        message,
    }
}

async fn accept(queues: &dyn Queues, lane: &str, id: &str) {
    let accepted = queues.accept(inbound(lane, id), BOUND).await.unwrap();
    assert_eq!(accepted, Accepted::Queued);
}

async fn claim(queues: &dyn Queues, lease: Duration) -> Option<ClaimedMessage> {
    queues.claim_lane("test", lease).await.unwrap()
}

/// Claims the next lane, and looks whose turn it is.
async fn claim_of(queues: &dyn Queues, lane: &str, id: &str) -> ClaimedMessage {
    let claimed = claim(queues, LEASE).await.unwrap_or_else(|| panic!("{lane} {id} is not ready"));
    assert_eq!(claimed.message.run_id, format!("run {lane} {id}"));
    claimed
}

fn done() -> MessageEnd {
    MessageEnd::Done { outcome: "end_turn".into() }
}

async fn settle(queues: &dyn Queues, claimed: &ClaimedMessage, end: MessageEnd) {
    assert!(queues.settle_lane(&claimed.claim, end, Vec::new()).await.unwrap());
}

async fn state(queues: &dyn Queues, lane: &str, id: &str) -> MessageState {
    queues.message(&format!("run {lane} {id}")).await.unwrap().unwrap().state
}

pub async fn an_accepted_message_is_kept_whole_and_its_key_is_known(place: &dyn QueuesPlace) {
    let new = inbound("a", "1");
    let before = now();
    assert_eq!(place.open().await.accept(new.clone(), BOUND).await.unwrap(), Accepted::Queued);

    let queues = place.open().await;
    let kept = queues.message(&new.run_id).await.unwrap().unwrap();
    assert_eq!((kept.lane, kept.session_id), (new.lane.clone(), new.session_id.clone()));
    assert_eq!((kept.message, kept.personality), (new.message.clone(), new.personality.clone()));
    assert_eq!((kept.state, kept.attempts), (MessageState::Queued, 0));
    assert!(kept.accepted_at >= before);
    assert_eq!(queues.seen(&new.dedup_key).await.unwrap(), Some(new.run_id.clone()));
    let again = NewInbound { run_id: "another".into(), ..new.clone() };
    assert_eq!(queues.accept(again, BOUND).await.unwrap(), Accepted::Duplicate(new.run_id));
    assert!(queues.message("another").await.unwrap().is_none());
}

pub async fn of_many_deliveries_at_once_exactly_one_is_accepted(place: &dyn QueuesPlace) {
    let handles = [place.open().await, place.open().await];
    let deliver = |n: usize| {
        let queues = Arc::clone(&handles[n % 2]);
        let new = NewInbound { run_id: format!("run {n}"), ..inbound("a", "1") };
        async move { queues.accept(new, BOUND).await.unwrap() }
    };
    let accepted = join_all((0..8).map(deliver)).await;
    assert_eq!(accepted.iter().filter(|it| **it == Accepted::Queued).count(), 1, "{accepted:?}");
    assert_eq!(handles[0].messages(MessageState::Queued).await.unwrap().len(), 1);
}

pub async fn a_full_lane_takes_nothing_and_remembers_nothing(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    for id in ["1", "2"] {
        assert_eq!(queues.accept(inbound("a", id), 2).await.unwrap(), Accepted::Queued);
    }
    assert_eq!(queues.accept(inbound("a", "3"), 2).await.unwrap(), Accepted::Busy);
    assert_eq!(queues.seen("a/3").await.unwrap(), None);
    assert_eq!(queues.accept(inbound("b", "1"), 2).await.unwrap(), Accepted::Queued);
    // A message in work still holds its place.
    let first = claim_of(&*queues, "a", "1").await;
    assert_eq!(queues.accept(inbound("a", "3"), 2).await.unwrap(), Accepted::Busy);
    settle(&*queues, &first, done()).await;
    assert_eq!(queues.accept(inbound("a", "3"), 2).await.unwrap(), Accepted::Queued);
}

pub async fn a_lane_is_first_in_first_out_and_one_at_a_time(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    for id in ["1", "2", "3"] {
        accept(&*queues, "a", id).await;
    }
    accept(&*queues, "b", "1").await;
    for id in ["1", "2", "3"] {
        let claimed = claim(&*queues, LEASE).await.unwrap();
        let (ours, theirs) = match claimed.message.lane == "a" {
            true => (claimed, claim(&*queues, LEASE).await),
            false => (claim(&*queues, LEASE).await.unwrap(), Some(claimed)),
        };
        assert_eq!(ours.message.run_id, format!("run a {id}"));
        assert_eq!((ours.message.attempts, ours.message.state), (1, MessageState::Queued));
        if let Some(theirs) = theirs {
            settle(&*queues, &theirs, done()).await;
        }
        assert!(claim(&*place.open().await, LEASE).await.is_none(), "two runs in one lane");
        settle(&*queues, &ours, done()).await;
        assert_eq!(state(&*queues, "a", id).await, MessageState::Done);
    }
    assert!(claim(&*queues, LEASE).await.is_none());
}

pub async fn of_many_claims_at_once_each_lane_has_one(place: &dyn QueuesPlace) {
    let handles = [place.open().await, place.open().await];
    for lane in ["a", "b", "c"] {
        for id in ["1", "2"] {
            accept(&*handles[0], lane, id).await;
        }
    }
    let claims = join_all((0..8).map(|n| claim(&*handles[n % 2], LEASE))).await;
    let mut lanes: Vec<_> = claims.into_iter().flatten().map(|it| it.message.lane).collect();
    lanes.sort();
    assert_eq!(lanes, ["a", "b", "c"]);
}

pub async fn an_owner_whose_lease_ran_out_can_write_nothing(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    let paused = claim(&*queues, NO_LEASE).await.unwrap();
    let next = claim_of(&*queues, "a", "1").await;
    assert!(next.claim.epoch > paused.claim.epoch && next.claim.id != paused.claim.id);
    assert_eq!(next.message.attempts, 2);
    assert!(!queues.renew_lane(&paused.claim, LEASE).await.unwrap());
    let late = vec![row("a", "late", OutgoingKind::Reply)];
    assert!(!queues.settle_lane(&paused.claim, done(), late).await.unwrap());
    assert_eq!(state(&*queues, "a", "1").await, MessageState::Queued);
    assert!(queues.outgoing(OutgoingFilter::default()).await.unwrap().is_empty());
    // The same epoch with another nonce is another claim.
    let mut forged = next.claim.clone();
    forged.id = paused.claim.id;
    assert!(!queues.settle_lane(&forged, done(), Vec::new()).await.unwrap());
    let said = vec![row("a", "answer", OutgoingKind::Reply)];
    assert!(queues.settle_lane(&next.claim, done(), said).await.unwrap());
    let sent = queues.outgoing(OutgoingFilter::default()).await.unwrap();
    assert_eq!((sent.len(), sent[0].new.text.as_str()), (1, "answer"));
    assert!(!queues.settle_lane(&next.claim, done(), Vec::new()).await.unwrap(), "settled twice");
}

pub async fn a_renewed_lease_keeps_the_lane(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    let owner = claim(&*queues, NO_LEASE).await.unwrap();
    assert!(queues.renew_lane(&owner.claim, LEASE).await.unwrap());
    assert!(claim(&*queues, LEASE).await.is_none());
    settle(&*queues, &owner, done()).await;
}

pub async fn a_message_that_waits_for_a_person_is_ready_when_it_is_woken(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    accept(&*queues, "a", "2").await;
    let asked = claim_of(&*queues, "a", "1").await;
    let until = now() + HOUR;
    settle(&*queues, &asked, MessageEnd::Parked { approval_id: "q1".into(), until }).await;
    assert_eq!(state(&*queues, "a", "1").await, MessageState::Parked);
    // Nothing of the lane overtakes it, and other lanes go on.
    assert!(claim(&*queues, LEASE).await.is_none());
    accept(&*queues, "b", "1").await;
    claim_of(&*queues, "b", "1").await;

    assert!(!queues.wake("another").await.unwrap());
    assert!(place.open().await.wake("q1").await.unwrap());
    let resumed = claim_of(&*queues, "a", "1").await;
    assert_eq!(resumed.message.waiting_on.as_deref(), Some("q1"));
    assert_eq!(resumed.message.attempts, 1, "going on is no new try");
    assert!(!queues.wake("q1").await.unwrap(), "it goes on already");
    settle(&*queues, &resumed, done()).await;
    claim_of(&*queues, "a", "2").await;
}

pub async fn a_message_that_waits_for_a_person_is_ready_when_the_question_lapses(
    place: &dyn QueuesPlace,
) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    let asked = claim_of(&*queues, "a", "1").await;
    let until = now();
    settle(&*queues, &asked, MessageEnd::Parked { approval_id: "q1".into(), until }).await;
    assert_eq!(claim_of(&*queues, "a", "1").await.message.waiting_on.as_deref(), Some("q1"));
}

pub async fn a_failed_message_is_tried_again_at_its_time(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    accept(&*queues, "a", "2").await;
    let first = claim_of(&*queues, "a", "1").await;
    let again = |at| MessageEnd::Retry { error: "no luck".into(), at };
    settle(&*queues, &first, again(now())).await;
    let second = claim_of(&*queues, "a", "1").await;
    assert_eq!((second.message.attempts, second.message.error.as_deref()), (2, Some("no luck")));
    settle(&*queues, &second, again(now() + HOUR)).await;
    assert!(claim(&*queues, LEASE).await.is_none(), "it is not due, and nothing overtakes it");
}

pub async fn a_message_that_is_given_back_counts_no_try(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    for _ in 0..5 {
        let claimed = claim_of(&*queues, "a", "1").await;
        assert_eq!(claimed.message.attempts, 1);
        settle(&*queues, &claimed, MessageEnd::Released).await;
    }
    // One that goes on after an answer still knows which.
    let asked = claim_of(&*queues, "a", "1").await;
    let until = now();
    settle(&*queues, &asked, MessageEnd::Parked { approval_id: "q1".into(), until }).await;
    let resumed = claim_of(&*queues, "a", "1").await;
    settle(&*queues, &resumed, MessageEnd::Released).await;
    assert_eq!(claim_of(&*queues, "a", "1").await.message.waiting_on.as_deref(), Some("q1"));
}

pub async fn a_dead_letter_lets_the_lane_go_on_and_is_tried_again_last(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    for id in ["1", "2", "3"] {
        accept(&*queues, "a", id).await;
    }
    let poison = claim_of(&*queues, "a", "1").await;
    settle(&*queues, &poison, MessageEnd::Dead { error: "poison".into() }).await;
    let dead = place.open().await.messages(MessageState::Dead).await.unwrap();
    assert_eq!((dead.len(), dead[0].error.as_deref()), (1, Some("poison")));
    let second = claim_of(&*queues, "a", "2").await;

    assert!(!queues.retry_dead("run a 2").await.unwrap(), "it is not dead");
    assert!(queues.retry_dead("run a 1").await.unwrap());
    assert!(!queues.retry_dead("run a 1").await.unwrap(), "it waits already");
    settle(&*queues, &second, done()).await;
    let third = claim_of(&*queues, "a", "3").await;
    settle(&*queues, &third, done()).await;
    let again = claim_of(&*queues, "a", "1").await;
    assert_eq!(again.message.attempts, 1, "its tries begin anew");
    settle(&*queues, &again, MessageEnd::Dead { error: "poison".into() }).await;
    // Also when nothing waits in the lane.
    assert!(queues.retry_dead("run a 1").await.unwrap());
    claim_of(&*queues, "a", "1").await;
}

pub async fn stopping_ends_what_waits_and_leaves_what_is_claimed(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    assert_eq!(queues.stop_lane("a").await.unwrap(), Stopped::Nothing);
    for id in ["1", "2", "3"] {
        accept(&*queues, "a", id).await;
    }
    let claimed = claim_of(&*queues, "a", "1").await;
    let stopped = queues.stop_lane("a").await.unwrap();
    assert!(matches!(stopped, Stopped::Claimed(it) if it.run_id == "run a 1"));
    assert_eq!(state(&*queues, "a", "1").await, MessageState::Queued);

    let until = now() + HOUR;
    settle(&*queues, &claimed, MessageEnd::Parked { approval_id: "q1".into(), until }).await;
    let Stopped::Ended(parked) = queues.stop_lane("a").await.unwrap() else { panic!() };
    assert_eq!((parked.state, parked.waiting_on.as_deref()), (MessageState::Parked, Some("q1")));
    let ended = queues.message("run a 1").await.unwrap().unwrap();
    assert_eq!((ended.state, ended.outcome.as_deref()), (MessageState::Done, Some("aborted")));
    assert!(!queues.wake("q1").await.unwrap());

    // One that has not begun yet.
    let Stopped::Ended(queued) = queues.stop_lane("a").await.unwrap() else { panic!() };
    assert_eq!(queued.run_id, "run a 2");
    claim_of(&*queues, "a", "3").await;
}

pub async fn a_noted_message_is_answered_once(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    let answer = |text: &str| vec![row("a", text, OutgoingKind::Notice)];
    assert!(queues.note("k", "r1", answer("pong")).await.unwrap());
    assert!(!place.open().await.note("k", "r2", answer("pong again")).await.unwrap());
    assert_eq!(queues.seen("k").await.unwrap().as_deref(), Some("r1"));
    assert_eq!(queues.outgoing(OutgoingFilter::default()).await.unwrap().len(), 1);
    assert!(claim(&*queues, LEASE).await.is_none());
}

pub async fn a_new_owner_can_void_every_claim(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    accept(&*queues, "a", "1").await;
    let dead = claim_of(&*queues, "a", "1").await;
    let next = place.open().await;
    next.release_claims().await.unwrap();
    assert!(!queues.settle_lane(&dead.claim, done(), Vec::new()).await.unwrap());
    claim_of(&*next, "a", "1").await;
}

pub async fn what_is_settled_and_old_is_forgotten_and_nothing_else(place: &dyn QueuesPlace) {
    let queues = place.open().await;
    for lane in ["done", "dead", "open"] {
        accept(&*queues, lane, "1").await;
    }
    for _ in 0..3 {
        let claimed = claim(&*queues, LEASE).await.unwrap();
        let end = match claimed.message.lane.as_str() {
            "done" => done(),
            "dead" => MessageEnd::Dead { error: "poison".into() },
            _ => continue,
        };
        let said = vec![row("a", "answer", OutgoingKind::Reply)];
        assert!(queues.settle_lane(&claimed.claim, end, said).await.unwrap());
    }
    queues.prune(now() - HOUR).await.unwrap();
    assert!(queues.seen("done/1").await.unwrap().is_some(), "it is not old");
    assert!(queues.message("run done 1").await.unwrap().is_some());

    queues.prune(now() + HOUR).await.unwrap();
    assert!(queues.seen("done/1").await.unwrap().is_none());
    assert!(queues.message("run done 1").await.unwrap().is_none());
    assert_eq!(state(&*queues, "dead", "1").await, MessageState::Dead);
    assert_eq!(state(&*queues, "open", "1").await, MessageState::Queued);
    let unsent = queues.outgoing(OutgoingFilter::default()).await.unwrap();
    assert_eq!(unsent.len(), 2, "what is not sent is not forgotten");
}
