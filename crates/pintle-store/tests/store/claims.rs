//! A session belongs to one run at a time, in all processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use pintle_agent::StoreError;
use pintle_agent::store::{Claims, Sessions};
use pintle_store::{Options, SqliteStore};

use crate::child::{Other, role, tell, wait_for_parent};
use crate::support::{Place, key, session};

async fn impatient(place: &Place) -> SqliteStore {
    let claim_timeout = Duration::from_millis(50);
    SqliteStore::open_with(place.db(), Options { claim_timeout, ..Options::default() })
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
    assert!(store.try_claim(&mine.id).await.unwrap().is_none());
    assert!(store.try_claim(&free.id).await.unwrap().is_some(), "other sessions are not concerned");
    // kill -9: nobody tidies up but the kernel.
    other.kill();
    store.claim(&mine).await.unwrap();
}

fn locks(place: &Place) -> usize {
    std::fs::read_dir(place.folder.path().join("locks")).unwrap().count()
}

#[tokio::test]
async fn a_process_has_one_lock_file_however_many_sessions_it_uses_and_takes_it_away() {
    if let Some(db) = role() {
        let store = SqliteStore::open(db).await.unwrap();
        let _claim = store.claim(&session(&store).await).await.unwrap();
        tell("claimed");
        wait_for_parent();
        return;
    }
    let place = Place::new();
    let store = place.open().await;
    let mut claims = Vec::new();
    for i in 0..20 {
        let session = store.create(key(&i.to_string())).await.unwrap();
        claims.push(store.claim(&session).await.unwrap());
    }
    assert_eq!(locks(&place), 1);
    let mut other = Other::start(
        "claims::a_process_has_one_lock_file_however_many_sessions_it_uses_and_takes_it_away",
        &place.db(),
    );
    assert_eq!(other.next().as_deref(), Some("claimed"));
    assert_eq!(locks(&place), 2);
    other.kill();
    drop((claims, store));
    assert_eq!(locks(&place), 1, "a killed process cannot take its file away");
    drop(place.open().await.claim(&session(&place.open().await).await).await.unwrap());
    assert_eq!(locks(&place), 0, "the next one does");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_two_at_once_however_often_it_changes_hands() {
    let place = Place::new();
    let stores = [place.open().await, place.open().await];
    let session = session(&stores[0]).await;
    let (inside, times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let users = (0..4).map(|i| {
        let (store, id) = (stores[i % 2].clone(), session.id.clone());
        let (inside, times) = (inside.clone(), times.clone());
        tokio::spawn(async move {
            while times.load(Ordering::SeqCst) < 200 {
                if let Some(claim) = store.try_claim(&id).await.unwrap() {
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
