//! Many writes, few commits, each write still on its own.

use futures_util::future::join_all;
use pintle_agent::StoreError;
use pintle_agent::store::{Claim, FencingToken, Sessions};
use rusqlite::Connection;

use crate::support::{Place, claimed, said, texts};

/// Counts the commits in the write-ahead log: a frame that ends a transaction carries the database's size.
fn commits(place: &Place) -> usize {
    let log = std::fs::read(place.folder.path().join("pintle.db-wal")).unwrap();
    log[32..].chunks(24 + 4096).filter(|frame| frame[4..8] != [0; 4]).count()
}

/// Another program that writes right now.
fn lock(place: &Place) -> Connection {
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    raw
}

#[tokio::test]
async fn appends_that_wait_together_share_a_commit() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id();
    let before = commits(&place);
    let writer = lock(&place);
    // The first poll queues all hundred; only then does the other program let go.
    let appends = join_all((0..100).map(|i| store.append(&claim, vec![said(&i.to_string())])));
    let (results, ()) = tokio::join!(appends, async move { drop(writer) });
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(texts(&store, id).await, (0..100).map(|i| i.to_string()).collect::<Vec<_>>());
    // One for whatever the thread had taken when it met the lock, one for the rest.
    let shared = commits(&place) - before;
    assert!(shared <= 2, "{shared} commits for 100 appends");
}

#[tokio::test]
async fn an_append_that_fails_is_undone_alone() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id();
    place
        .raw()
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON messages WHEN NEW.body LIKE '%poison%'
             BEGIN SELECT RAISE(ABORT, 'no poison here'); END",
        )
        .unwrap();
    let stale = Claim::new(FencingToken::new(id, claim.token().epoch));
    let writer = lock(&place);
    let all = join_all([
        store.append(&claim, vec![said("a")]),
        store.append(&claim, vec![said("b"), said("c")]),
        store.append(&claim, vec![said("half"), said("poison")]),
        store.append(&stale, vec![said("d")]),
        store.append(&claim, vec![said("e")]),
    ]);
    let (results, ()) = tokio::join!(all, async move { drop(writer) });
    assert_eq!(
        results.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, false, false, true]
    );
    assert!(results[2].as_ref().unwrap_err().to_string().contains("no poison here"));
    assert!(matches!(results[3], Err(StoreError::ClaimLost { .. })));
    assert_eq!(texts(&store, id).await, ["a", "b", "c", "e"]);
    assert_eq!(store.session(id).await.unwrap().unwrap().message_count, 4);
}

#[tokio::test]
async fn nothing_is_acknowledged_when_the_whole_transaction_is_lost() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id();
    // What a full disk does: SQLite rolls the transaction back by itself.
    place
        .raw()
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON messages WHEN NEW.body LIKE '%poison%'
             BEGIN SELECT RAISE(ROLLBACK, 'no space'); END",
        )
        .unwrap();
    let writer = lock(&place);
    let texts_in = ["first", "a", "b", "poison", "c"];
    let all = join_all(texts_in.map(|text| store.append(&claim, vec![said(text)])));
    let (results, ()) = tokio::join!(all, async move { drop(writer) });
    let acknowledged: Vec<_> = texts_in
        .iter()
        .zip(&results)
        .filter(|(_, result)| result.is_ok())
        .map(|(text, _)| *text)
        .collect();
    assert!(results[3].is_err());
    assert_eq!(texts(&store, id).await, acknowledged);
    // And the store goes on working.
    store.append(&claim, vec![said("after")]).await.unwrap();
}
