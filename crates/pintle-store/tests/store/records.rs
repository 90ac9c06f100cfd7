//! What is special about the records of this store: they wait in a queue.

use pintle_agent::store::{JudgedBy, NewEvent, NewRun, Record, Records, RunEnd};
use pintle_store::{Options, SqliteStore};

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
