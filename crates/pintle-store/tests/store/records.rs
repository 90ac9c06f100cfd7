use pintle_agent::Store;
use pintle_store::{NewEvent, NewRun, Options, RunEnd, SqliteStore};

use crate::support::{Place, key, said, session, texts};

fn run(run_id: &str, session_id: &str) -> NewRun {
    NewRun {
        run_id: run_id.into(),
        session_id: session_id.into(),
        model: "offline".into(),
        started_at: 1000,
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
        ended_at: 2000,
        outcome: "end_turn".into(),
        input_tokens: 10,
        output_tokens: 20,
        cost_usd: 0.25,
    }
}

#[tokio::test]
async fn a_run_is_told_in_order_and_survives_closing() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.record_run_start(run("r1", &id));
    store.record_events((0..500).map(|i| event("r1", i)));
    store.record_run_end("r1", end());
    store.record_run_start(run("r2", &id));
    drop(store);

    let store = place.open().await;
    let runs = store.runs(10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["r2", "r1"]);
    assert_eq!((runs[0].ended_at, runs[0].outcome.clone()), (None, None));
    let told = &runs[1];
    assert_eq!(
        (told.started_at, told.ended_at, told.outcome.as_deref()),
        (1000, Some(2000), Some("end_turn"))
    );
    assert_eq!(
        (told.input_tokens, told.output_tokens, told.cost_usd, told.dropped_events),
        (10, 20, 0.25, 0)
    );
    let events = store.events("r1").await.unwrap();
    assert_eq!(events.len(), 500);
    for (i, told) in (0..).zip(&events) {
        assert_eq!((told.seq, told.at, told.kind.as_str()), (i + 1, 1000 + i, "text.delta"));
        assert_eq!(told.json, event("r1", i).json);
    }
    assert_eq!(store.runs(1).await.unwrap().len(), 1);
    assert_eq!(store.run("r1").await.unwrap().as_ref(), Some(told));
    assert_eq!(store.run("nope").await.unwrap(), None);
}

#[tokio::test]
async fn a_reader_sees_what_this_process_recorded_before() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.record_run_start(run("r1", &id));
    for i in 0..20 {
        store.record_event(event("r1", i));
        assert_eq!(store.events("r1").await.unwrap().len(), usize::try_from(i).unwrap() + 1);
    }
}

#[tokio::test]
async fn recording_never_waits_and_what_does_not_fit_is_counted() {
    let place = Place::new();
    let options = Options { record_queue_bytes: 20_000, ..Default::default() };
    let store = SqliteStore::open_with(place.db(), options).await.unwrap();
    let id = session(&store).await.id;
    store.record_run_start(run("r1", &id));
    store.flush_records().await;
    // Somebody else writes, so nothing reaches the disk until this very thread lets go: waiting would be for ever.
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.record_events((0..5000).map(|i| event("r1", i)));
    store.record_run_end("r1", end());
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

#[tokio::test]
async fn records_of_a_deleted_session_are_lost_by_count_and_harm_no_message() {
    let place = Place::new();
    let store = place.open().await;
    let (gone, kept) =
        (store.create(key("a")).await.unwrap(), store.create(key("b")).await.unwrap());
    store.record_run_start(run("r1", &gone.id));
    store.record_event(event("r1", 0));
    store.record_run_start(run("r2", &kept.id));
    store.flush_records().await;
    assert!(store.delete(&gone.id).await.unwrap());
    assert!(store.events("r1").await.unwrap().is_empty(), "they went with the session");

    store.record_events([event("r1", 1), event("r2", 1), event("r1", 2)]);
    store.append(&kept.id, vec![said("still here")]).await.unwrap();
    assert_eq!(store.events("r2").await.unwrap().len(), 1);
    assert_eq!(store.record_loss().count, 2);
    assert!(store.record_loss().reason.unwrap().contains("FOREIGN KEY"));
    assert_eq!(texts(&store, &kept.id).await, ["still here"]);
}

#[tokio::test]
async fn a_resumed_run_goes_on_where_it_was() {
    let place = Place::new();
    let store = place.open().await;
    let id = session(&store).await.id;
    store.record_run_start(run("r1", &id));
    store.record_event(event("r1", 0));
    store.close().await;
    let store = place.open().await;
    store.record_run_start(run("r1", &id));
    store.record_event(event("r1", 1));
    store.record_run_end("r1", end());
    assert_eq!(
        store.events("r1").await.unwrap().iter().map(|told| told.seq).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(store.runs(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_hook_that_fired_once_long_ago_has_fired() {
    let place = Place::new();
    let store = place.open().await;
    let session = session(&store).await;
    for run in 0..200 {
        store.record_run_start(self::run(&format!("r{run}"), &session.id));
        let name = if run == 0 { "first" } else { "later" };
        let handlers = format!(r#"[{{"name":"{name}","outcome":"allowed"}}]"#);
        store.record_event(NewEvent {
            kind: "hook.fired".into(),
            json: format!(r#"{{"point":"tool.pre","handlers":{handlers}}}"#),
            ..event(&format!("r{run}"), 0)
        });
    }
    store.flush_records().await;
    let fired = store.fired_hooks().await.unwrap();
    let expected = ["first", "later"].map(|name| ("tool.pre".to_string(), name.to_string()));
    assert_eq!(fired, expected.into());
}
