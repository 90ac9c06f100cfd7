//! Several processes, one file.

use std::time::Duration;

use pintle_agent::store::{AnswerResult, ApprovalFilter, Approvals, Claims, Sessions};
use pintle_store::{Options, SqliteStore};

use crate::child::{Other, role, tell, wait_for_parent};
use crate::support::{Place, claimed, integrity, question, said, session, texts, yes};

#[tokio::test]
async fn processes_that_start_together_share_one_new_database() {
    if let Some(db) = role() {
        tell("ready");
        wait_for_parent();
        let store = SqliteStore::open(db).await.unwrap();
        return tell(&session(&store).await.id);
    }
    let place = Place::new();
    let mut others: Vec<_> = (0..4)
        .map(|_| {
            Other::start(
                "processes::processes_that_start_together_share_one_new_database",
                &place.db(),
            )
        })
        .collect();
    assert!(others.iter_mut().all(|other| other.next().as_deref() == Some("ready")));
    others.iter_mut().for_each(Other::go);
    let ids: Vec<_> = others.into_iter().flat_map(Other::finish).collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| *id == ids[0]), "one key, one session: {ids:?}");
    assert_eq!(place.open().await.sessions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn two_processes_take_turns_in_one_session_while_a_third_reads() {
    if let Some(db) = role() {
        // Turns are not given out in order: one of two may wait for all of the other's.
        let options = Options { claim_timeout: Duration::from_secs(60), ..Options::default() };
        let store = SqliteStore::open_with(db, options).await.unwrap();
        let session = session(&store).await;
        tell("ready");
        wait_for_parent();
        let me = std::process::id();
        for i in 0..40 {
            let claim = store.claim(&session).await.unwrap();
            let both = vec![said(&format!("{me} {i} a")), said(&format!("{me} {i} b"))];
            store.append(&claim, both).await.unwrap();
        }
        return;
    }
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    let mut others: Vec<_> = (0..2)
        .map(|_| {
            Other::start(
                "processes::two_processes_take_turns_in_one_session_while_a_third_reads",
                &place.db(),
            )
        })
        .collect();
    assert!(others.iter_mut().all(|other| other.next().as_deref() == Some("ready")));
    others.iter_mut().for_each(Other::go);
    let finished =
        tokio::task::spawn_blocking(move || others.into_iter().map(Other::finish).count());
    while !finished.is_finished() {
        let (seen, listed) = (texts(&store, &id).await, store.sessions().await.unwrap());
        assert!(seen.len() % 2 == 0, "an append is seen whole or not at all");
        assert_eq!(listed.len(), 1);
    }
    assert_eq!(finished.await.unwrap(), 2);
    let all = texts(&store, &id).await;
    assert_eq!(all.len(), 2 * 40 * 2);
    for pair in all.chunks(2) {
        assert_eq!(pair[0].strip_suffix(" a"), pair[1].strip_suffix(" b"));
    }
    let first = all[0].split(' ').next().unwrap();
    let (mine, theirs): (Vec<_>, Vec<_>) = all.iter().partition(|text| text.starts_with(first));
    for told in [mine, theirs] {
        let order: Vec<usize> =
            told.iter().map(|text| text.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        assert!(order.is_sorted() && order.len() == 80);
    }
    drop(store);
    assert_eq!(integrity(&place.db()), "ok");
}

// R11.4
#[tokio::test]
async fn of_two_processes_that_answer_at_once_exactly_one_is_accepted() {
    if let Some(db) = role() {
        let store = SqliteStore::open(db).await.unwrap();
        let asked = store.approvals(ApprovalFilter::default()).await.unwrap();
        tell("ready");
        wait_for_parent();
        for approval in asked {
            match store.answer_approval(yes(&approval)).await.unwrap() {
                AnswerResult::Accepted(_) => tell(&format!("accepted {}", approval.id)),
                AnswerResult::AlreadyAnswered(_) => tell(&format!("late {}", approval.id)),
                other => panic!("{other:?}"),
            }
        }
        return;
    }
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(store.request_approval(&claim, question()).await.unwrap().id);
    }
    let mut others: Vec<_> = (0..2)
        .map(|_| {
            Other::start(
                "processes::of_two_processes_that_answer_at_once_exactly_one_is_accepted",
                &place.db(),
            )
        })
        .collect();
    assert!(others.iter_mut().all(|other| other.next().as_deref() == Some("ready")));
    others.iter_mut().for_each(Other::go);
    let told: Vec<_> = others.into_iter().flat_map(Other::finish).collect();
    for id in ids {
        for (word, times) in [("accepted", 1), ("late", 1)] {
            let line = format!("{word} {id}");
            assert_eq!(told.iter().filter(|told| **told == line).count(), times, "{line}");
        }
    }
}

#[tokio::test]
async fn a_waiting_run_notices_an_answer_from_another_process() {
    if let Some(db) = role() {
        let store = SqliteStore::open(db).await.unwrap();
        let asked = store.approvals(ApprovalFilter::default()).await.unwrap();
        tell("ready");
        wait_for_parent();
        assert!(matches!(
            store.answer_approval(yes(&asked[0])).await.unwrap(),
            AnswerResult::Accepted(_)
        ));
        return;
    }
    let place = Place::new();
    let store = place.open().await;
    let asked = store.request_approval(&claimed(&store).await, question()).await.unwrap();
    let mut other = Other::start(
        "processes::a_waiting_run_notices_an_answer_from_another_process",
        &place.db(),
    );
    assert_eq!(other.next().as_deref(), Some("ready"));
    let waiting = tokio::spawn({
        let (store, id) = (store.clone(), asked.id.clone());
        async move { store.wait_for_answer(&id).await.unwrap() }
    });
    other.go();
    let answered = waiting.await.unwrap();
    assert_eq!(answered.answered_by.as_deref(), Some("operator"));
    other.finish();
}
