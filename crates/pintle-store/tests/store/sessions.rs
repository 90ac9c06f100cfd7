//! What is special about conversations in this store: a file, and a queue in front of it.

use futures_util::FutureExt;
use pintle_agent::StoreError;
use pintle_agent::store::{Sessions, Store};

use crate::support::{Place, claimed, said, texts};

#[tokio::test]
async fn a_damaged_message_is_reported_and_kept() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id().to_owned();
    store.append(&claim, vec![said("a")]).await.unwrap();
    place.raw().execute("UPDATE messages SET body = '{\"role\":'", []).unwrap();
    let error = store.history(&id).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("message 0"), "{error}");
    assert_eq!(store.session(&id).await.unwrap().unwrap().message_count, 1);
}

#[tokio::test]
async fn what_was_queued_is_finished_when_the_store_is_dropped() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id().to_owned();
    for i in 0..50 {
        // Queued by the first poll, and then nobody waits for it.
        let _ = store.append(&claim, vec![said(&i.to_string())]).now_or_never();
    }
    drop((claim, store));
    assert_eq!(texts(&place.open().await, &id).await.len(), 50);
}

#[tokio::test]
async fn a_closed_store_says_so_to_its_other_users() {
    let place = Place::new();
    let store = place.open().await;
    let other = store.clone();
    let claim = claimed(&store).await;
    let id = claim.session_id().to_owned();
    store.close().await;
    let error = other.append(&claim, vec![said("late")]).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
    assert!(texts(&place.open().await, &id).await.is_empty());
}
