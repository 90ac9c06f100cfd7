//! A session belongs to one run at a time, in all processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use pintle_agent::{Store, StoreError};
use pintle_store::{Options, SqliteStore};

use crate::child::{Other, role, tell, wait_for_parent};
use crate::support::{Place, key, session};

async fn impatient(place: &Place) -> SqliteStore {
    let claim_patience = Duration::from_millis(50);
    SqliteStore::open_with(place.db(), Options { claim_patience, ..Options::default() })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_session_another_process_uses_is_refused_by_name_and_freed_by_its_death() {
    if let Some(db) = role() {
        let store = SqliteStore::open(db).await.unwrap();
        let _claim = store.claim(&session(&store).await).await.unwrap();
        tell(&std::process::id().to_string());
        wait_for_parent();
        return;
    }
    let place = Place::new();
    let store = impatient(&place).await;
    let (mine, free) = (session(&store).await, store.create(key("other")).await.unwrap());
    let mut other = Other::start(
        "claims::a_session_another_process_uses_is_refused_by_name_and_freed_by_its_death",
        &place.db(),
    );
    let pid = other.next().unwrap();
    let refused = store.claim(&mine).await.unwrap_err();
    assert!(matches!(&refused, StoreError::InUse { session, .. } if *session == mine.key));
    let words = refused.to_string();
    for part in ["cli:default", &format!("process {pid}"), "--session", "--new"] {
        assert!(words.contains(part), "{words}");
    }
    assert!(store.try_claim(&mine.id).unwrap().is_none());
    assert!(store.try_claim(&free.id).unwrap().is_some(), "other sessions are not concerned");
    // kill -9: nobody tidies up but the kernel.
    other.kill();
    store.claim(&mine).await.unwrap();
}

#[tokio::test]
async fn a_claim_ends_when_it_is_dropped_and_its_file_when_the_session_is_deleted() {
    let place = Place::new();
    let store = impatient(&place).await;
    let session = session(&store).await;
    let claim = store.claim(&session).await.unwrap();
    assert!(store.claim(&session).await.is_err());
    drop(claim);
    drop(store.claim(&session).await.unwrap());
    store.delete(&session.id).await.unwrap();
    assert_eq!(std::fs::read_dir(place.folder.path().join("locks")).unwrap().count(), 0);
}

#[tokio::test]
async fn who_waits_gets_the_session_when_it_is_given_back() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    let claim = store.claim(&session).await.unwrap();
    let waiting = tokio::spawn({
        let (store, session) = (store.clone(), session.clone());
        async move { store.claim(&session).await }
    });
    tokio::task::yield_now().await;
    drop(claim);
    waiting.await.unwrap().unwrap();
}

// The lock's file is removed and made again all the time: two of one name must never both count.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_two_at_once_however_often_it_changes_hands() {
    let place = Place::new();
    let store = Arc::new(place.open().await);
    let session = session(&store).await;
    let (inside, times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let users = (0..4).map(|_| {
        let (store, id) = (store.clone(), session.id.clone());
        let (inside, times) = (inside.clone(), times.clone());
        tokio::task::spawn_blocking(move || {
            while times.load(Ordering::SeqCst) < 2_000 {
                if let Some(claim) = store.try_claim(&id).unwrap() {
                    assert!(!inside.swap(true, Ordering::SeqCst), "two at once");
                    times.fetch_add(1, Ordering::SeqCst);
                    inside.store(false, Ordering::SeqCst);
                    drop(claim);
                }
            }
        })
    });
    for user in users.collect::<Vec<_>>() {
        user.await.unwrap();
    }
}
