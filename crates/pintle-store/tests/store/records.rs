//! What is special about the records of this store: they wait in a queue.

use pintle_agent::store::{JudgedBy, NewEvent, NewRun, Record, Records, RunEnd, Store};
use pintle_store::{Options, SqliteStore};

use crate::child::{Other, role, tell, wait_for_parent};
use crate::support::{Place, session};

fn run(run_id: &str, session_id: &str) -> NewRun {
    NewRun {
        run_id: run_id.into(),
        session_id: session_id.into(),
        model: "offline".into(),
        started_at: 1000,
        personality: None,
        judged_by: JudgedBy::default(),
    }
}

fn event(run_id: &str, i: u64) -> NewEvent {
    NewEvent {
        run_id: run_id.into(),
        at: 1000 + i,
        kind: "text.delta".into(),
        json: format!(r#"{{"text":"{i}"}}"#),
    }
}

fn end() -> RunEnd {
    RunEnd {
        run_id: "r1".into(),
        ended_at: 2000,
        outcome: "end_turn".into(),
        input_tokens: 10,
        output_tokens: 20,
        cost_usd: 0.25,
    }
}

const WRITTEN: u64 = 100;
const WAITING: u64 = 50;

/// Records until it is killed: some that are written, then some that still wait.
async fn record_and_wait(store: SqliteStore) {
    let id = session(&store).await.id;
    store.record(Record::Start(run("r1", &id)));
    (0..WRITTEN).for_each(|i| store.record(Record::Event(event("r1", i))));
    store.flush_records().await;
    (WRITTEN..WRITTEN + WAITING).for_each(|i| store.record(Record::Event(event("r1", i))));
    tell("recorded");
    wait_for_parent();
}

// §14: at most the last batch is lost in a crash, and never one from the middle.
#[tokio::test]
async fn kill_9_loses_at_most_the_records_that_still_waited() {
    if let Some(db) = role() {
        return record_and_wait(SqliteStore::open(db).await.unwrap()).await;
    }
    for _ in 0..5 {
        let place = Place::new();
        let test = "records::kill_9_loses_at_most_the_records_that_still_waited";
        let mut child = Other::start(test, &place.db());
        assert_eq!(child.next().as_deref(), Some("recorded"));
        child.kill();
        let events = place.open().await.events("r1").await.unwrap();
        let found: Vec<u64> = events.iter().map(|event| event.at - 1000).collect();
        let count = found.len() as u64;
        assert!((WRITTEN..=WRITTEN + WAITING).contains(&count), "{count}");
        assert!(found.iter().copied().eq(0..count), "none from the middle: {found:?}");
    }
}

// §14: nothing is lost on a clean exit.
#[tokio::test]
async fn closing_the_store_writes_what_still_waits() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.record(Record::Start(run("r1", &id)));
    (0..WAITING).for_each(|i| store.record(Record::Event(event("r1", i))));
    store.record(Record::End(end()));
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.events("r1").await.unwrap().len() as u64, WAITING);
    assert_eq!(store.run("r1").await.unwrap().unwrap().outcome.as_deref(), Some("end_turn"));
}

#[tokio::test]
async fn recording_never_waits_and_what_does_not_fit_is_counted() {
    let place = Place::new();
    let options = Options { record_queue_bytes: 20_000, ..Default::default() };
    let store = SqliteStore::open_with(place.db(), options).await.unwrap();
    let id = session(&store).await.id;
    store.record(Record::Start(run("r1", &id)));
    store.flush_records().await;
    // Somebody else writes, so nothing reaches the disk until this very thread lets go: waiting would be for ever.
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for i in 0..5000 {
        store.record(Record::Event(event("r1", i)));
    }
    store.record(Record::End(end()));
    drop(other);

    let kept = u64::try_from(store.events("r1").await.unwrap().len()).unwrap();
    let told = store.run("r1").await.unwrap().unwrap();
    assert!(kept > 0 && kept < 5000, "{kept}");
    assert_eq!(told.dropped_events, 5000 - kept);
    assert_eq!(told.outcome.as_deref(), Some("end_turn"), "the end is never dropped");
    let loss = store.record_loss();
    assert_eq!(loss.count, 5000 - kept);
    assert!(loss.reason.unwrap().contains("20000 bytes"));
}
