//! One owner of a session at a time, and a fence against those who lost it (R19.2).

use futures_util::{
    FutureExt,
    future::{Either, select},
};
use pintle::points::ToolOutcome;

use super::{
    StorePlace,
    support::{another, claimed, intent, key, no, question, said, yes},
};
use crate::store::{
    ApprovalFilter, CallEnd, CallFilter, Claim, FencingToken, Intent, StoreError, Summary,
};

pub async fn a_session_has_one_owner_at_a_time(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let elsewhere = place.open().await;
    for store in [&store, &elsewhere] {
        assert!(store.is_claimed(&session.id).await.unwrap());
        assert!(store.try_claim(&session.id).await.unwrap().is_none());
        let refused = store.claim(&session).await.unwrap_err();
        let named =
            matches!(&refused, StoreError::InUse { session: key, .. } if *key == session.key);
        assert!(named, "{refused}");
    }
    let (free, _claim) = another(&*elsewhere, key("other")).await;
    assert_ne!(free.id, session.id);
    drop(claim);
    let claim = elsewhere.claim(&session).await.unwrap();
    assert!(store.try_claim(&session.id).await.unwrap().is_none());
    drop(claim);
    drop(store.claim(&session).await.unwrap());
}

pub async fn a_run_that_waits_gets_the_session_when_it_is_given_back(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let mut waiting = store.claim(&session);
    for _ in 0..3 {
        // Both are polled until one is ready, and reading is.
        match select(&mut waiting, store.session(&session.id)).await {
            Either::Left((claimed, _)) => panic!("it did not wait: {claimed:?}"),
            Either::Right((read, _)) => drop(read.unwrap()),
        }
    }
    drop(claim);
    waiting.await.unwrap();
}

pub async fn a_caller_that_stops_waiting_has_claimed_nothing(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    drop(claim);
    for _ in 0..20 {
        // Polled once, so that the store has the wish, and then dropped.
        drop(store.claim(&session).now_or_never());
        drop(store.try_claim(&session.id).now_or_never());
    }
    store.claim(&session).await.unwrap();
}

pub async fn every_claim_has_a_higher_epoch_and_another_nonce(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    let mut last = claim.token().clone();
    drop(claim);
    for _ in 0..3 {
        let claim = place.open().await.claim(&session).await.unwrap();
        let token = claim.token().clone();
        assert_eq!(token.session_id, session.id);
        assert!(token.epoch > last.epoch && token.nonce != last.nonce, "{last:?}, {token:?}");
        last = token;
        drop(claim);
    }
    drop(store);
}

/// A process that was paused while another took its session wakes up with such a claim.
pub async fn a_stale_claim_can_write_nothing(place: &dyn StorePlace) {
    let (store, session, first) = claimed(place).await;
    store.append(&first, vec![said("hello")]).await.unwrap();
    let [pending, approved, denied] = [question(), question(), question()];
    let pending = store.request_approval(&first, pending).await.unwrap();
    let approved = store.request_approval(&first, approved).await.unwrap();
    let denied = store.request_approval(&first, denied).await.unwrap();
    store.answer_approval(yes(&approved)).await.unwrap();
    store.answer_approval(no(&denied)).await.unwrap();
    let begun = Intent { approval_id: None, ..intent(&approved) };
    store.begin_call(&first, begun.clone()).await.unwrap();
    let old = first.token().clone();
    drop(first);
    let owner = store.claim(&session).await.unwrap();
    let now = owner.token().clone();

    let stale = [
        old.clone(),
        // A store that lost its last epochs in a failover gives one out twice: the nonce tells.
        FencingToken { epoch: now.epoch, ..old.clone() },
        FencingToken { epoch: old.epoch, ..now.clone() },
        FencingToken { session_id: "another".into(), ..now.clone() },
    ];
    let everything = async || {
        (
            store.session(&session.id).await.unwrap(),
            store.history(&session.id).await.unwrap(),
            store.conversation(&session.id).await.unwrap(),
            store.approvals(ApprovalFilter::default()).await.unwrap(),
            store.calls(CallFilter::default()).await.unwrap(),
        )
    };
    let before = everything().await;
    let end = CallEnd { outcome: ToolOutcome::Ok, text: "late".into(), duration_ms: 1 };
    for token in stale {
        let claim = Claim::new(token);
        let results = [
            store.append(&claim, vec![said("late")]).await,
            store.append(&claim, vec![]).await,
            store.set_personality(&claim, "late").await,
            store.set_summary(&claim, Summary { covers: 0, text: "late".into() }).await,
            store.request_approval(&claim, question()).await.map(drop),
            store.cancel_approval(&claim, &pending.id, "late").await.map(drop),
            store.withdraw_approvals(&claim, "late").await,
            store.acknowledge_denial(&claim, &denied.id).await,
            store.begin_call(&claim, intent(&approved)).await.map(drop),
            store.end_call(&claim, &begun.id, end.clone()).await,
            store.delete(&claim).await,
        ];
        for result in results {
            assert!(matches!(&result, Err(StoreError::ClaimLost { .. })), "{result:?}");
        }
        drop(claim);
    }
    assert_eq!(everything().await, before);
    // The owner is not disturbed.
    store.append(&owner, vec![said("mine")]).await.unwrap();
}
