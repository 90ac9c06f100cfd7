//! What runs did.

use super::{
    StorePlace,
    support::{another, claimed, key, said, texts},
};
use crate::store::{HookCalls, JudgedBy, NewEvent, NewRun, Record, Retention, RunEnd};

fn start(run_id: &str, session_id: &str) -> Record {
    Record::Start(NewRun {
        run_id: run_id.into(),
        session_id: session_id.into(),
        model: "offline".into(),
        started_at: 1000,
        personality: Some("writer".into()),
        judged_by: JudgedBy {
            profile: Some("/home/ann/agent".into()),
            profile_hash: Some("ab12".into()),
            workspace: Some("/home/ann/work".into()),
        },
    })
}

fn event(run_id: &str, i: u64) -> NewEvent {
    NewEvent {
        run_id: run_id.into(),
        at: 1000 + i,
        kind: "text.delta".into(),
        json: format!(r#"{{"text":"{i}"}}"#),
    }
}

pub async fn a_run_is_recorded_in_order_and_survives_closing(place: &dyn StorePlace) {
    let (store, session, claim) = claimed(place).await;
    store.record(start("r1", &session.id));
    for i in 0..100 {
        store.record(Record::Event(event("r1", i)));
    }
    store.record(Record::End(RunEnd {
        run_id: "r1".into(),
        ended_at: 2000,
        outcome: "end_turn".into(),
        input_tokens: 10,
        output_tokens: 20,
        cost_usd: 0.25,
    }));
    store.record(start("r2", &session.id));
    drop((claim, store));

    let store = place.open().await;
    let runs = store.runs(10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["r2", "r1"]);
    assert_eq!((runs[0].ended_at, runs[0].outcome.clone()), (None, None));
    let r1 = &runs[1];
    assert_eq!((r1.started_at, r1.ended_at), (1000, Some(2000)));
    assert_eq!((r1.outcome.as_deref(), r1.session_id.as_str()), (Some("end_turn"), &*session.id));
    assert_eq!((r1.input_tokens, r1.output_tokens, r1.cost_usd), (10, 20, 0.25));
    assert_eq!((r1.dropped_events, r1.model.as_str()), (0, "offline"));
    let Record::Start(begun) = start("r1", &session.id) else { unreachable!() };
    assert_eq!((&r1.personality, &r1.judged_by), (&begun.personality, &begun.judged_by));
    let events = store.events("r1").await.unwrap();
    assert_eq!(events.len(), 100);
    for (i, stored) in (0..).zip(&events) {
        assert_eq!((stored.seq, stored.at, stored.kind.as_str()), (i + 1, 1000 + i, "text.delta"));
        assert_eq!(stored.json, event("r1", i).json);
    }
    assert_eq!(store.runs(1).await.unwrap().len(), 1);
    assert_eq!(store.run("r1").await.unwrap().as_ref(), Some(r1));
    assert_eq!(store.run("nope").await.unwrap(), None);
    assert!(store.events("nope").await.unwrap().is_empty());
}

pub async fn a_reader_sees_what_this_process_recorded_before(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    store.record(start("r1", &session.id));
    for i in 0..20 {
        store.record(Record::Event(event("r1", i)));
        assert_eq!(store.events("r1").await.unwrap().len(), usize::try_from(i).unwrap() + 1);
    }
}

pub async fn records_of_a_deleted_session_are_counted_as_lost_and_harm_no_message(
    place: &dyn StorePlace,
) {
    let (store, gone, claim) = claimed(place).await;
    let (kept, kept_claim) = another(&*store, key("kept")).await;
    store.record(start("r1", &gone.id));
    store.record(Record::Event(event("r1", 0)));
    store.record(start("r2", &kept.id));
    store.flush_records().await;
    store.delete(&claim).await.unwrap();
    assert!(store.events("r1").await.unwrap().is_empty(), "they went with the session");

    for (run, i) in [("r1", 1), ("r2", 1), ("r1", 2)] {
        store.record(Record::Event(event(run, i)));
    }
    store.append(&kept_claim, vec![said("still here")]).await.unwrap();
    assert_eq!(store.events("r2").await.unwrap().len(), 1);
    let loss = store.record_loss();
    assert!(loss.count == 2 && loss.reason.is_some(), "{loss:?}");
    assert_eq!(texts(&*store, &kept.id).await, ["still here"]);
}

pub async fn a_hook_that_fired_once_long_ago_has_fired(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    for run in 0..50 {
        let name = format!("r{run}");
        store.record(start(&name, &session.id));
        let (handler, outcome) = match run {
            0 => ("first", "allowed"),
            1 => ("never", "removed"),
            _ => ("later", "allowed"),
        };
        let handlers =
            format!(r#"[{{"name":"{handler}","outcome":"{outcome}","durationMs":{run}.5}}]"#);
        let json = format!(r#"{{"point":"tool.pre","handlers":{handlers}}}"#);
        let fired = NewEvent { kind: "hook.fired".into(), json, ..event(&name, 0) };
        store.record(Record::Event(fired));
    }
    let key = |name: &str| ("tool.pre".to_string(), name.to_string());
    let fired = store.fired_hooks(0).await.unwrap();
    assert_eq!(fired.len(), 2, "{fired:?}");
    assert_eq!(fired[&key("first")].durations, [0.5]);
    assert_eq!(fired[&key("first")].outcomes["allowed"], 1);
    assert_eq!(fired[&key("later")].outcomes["allowed"], 48);
    assert!(fired[&key("later")].shadow.is_empty());
    let lately = store.fired_hooks(u64::MAX).await.unwrap();
    assert!(
        lately.len() == 2 && lately.values().all(|calls| *calls == HookCalls::default()),
        "{lately:?}"
    );
}

pub async fn a_hook_is_failing_while_its_newest_calls_timed_out(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    // The ids of runs say nothing of their order.
    for (run, at, outcome, failing) in [
        ("r9", 1, "timed_out", false),
        ("r8", 2, "timed_out", false),
        ("r7", 3, "gone", false),
        ("r6", 4, "timed_out", true),
        ("r5", 5, "cancelled", true),
        ("r4", 6, "exit", false),
    ] {
        store.record(start(run, &session.id));
        let json = format!(
            r#"{{"point":"tool.pre","handlers":[{{"name":"slow","outcome":"{outcome}"}}]}}"#
        );
        let fired = NewEvent { kind: "hook.fired".into(), json, ..event(run, at) };
        store.record(Record::Event(fired));
        let fired = store.fired_hooks(0).await.unwrap();
        let calls = &fired[&("tool.pre".to_string(), "slow".to_string())];
        assert_eq!(calls.is_failing(), failing, "{at}: {calls:?}");
    }
}

pub async fn what_a_hook_in_shadow_mode_said_is_counted_apart(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    store.record(start("r1", &session.id));
    let said = [r#""blocked","shadow":true"#, r#""allowed","shadow":true"#, r#""blocked""#];
    for (i, said) in (0..).zip(said) {
        let json =
            format!(r#"{{"point":"tool.pre","handlers":[{{"name":"new","outcome":{said}}}]}}"#);
        store.record(Record::Event(NewEvent { kind: "hook.fired".into(), json, ..event("r1", i) }));
    }
    let fired = store.fired_hooks(0).await.unwrap();
    let calls = &fired[&("tool.pre".to_string(), "new".to_string())];
    assert_eq!((calls.outcomes["blocked"], calls.shadow["blocked"]), (1, 1));
    assert_eq!(calls.shadow["allowed"], 1);
}

pub async fn old_runs_are_forgotten_and_the_newest_stay(place: &dyn StorePlace) {
    let (store, session, _claim) = claimed(place).await;
    for n in 0..100 {
        let name = format!("r{n:03}");
        let Record::Start(run) = start(&name, &session.id) else { unreachable!() };
        store.record(Record::Start(NewRun { started_at: 1000 + n, ..run }));
        store.record(Record::Event(event(&name, n)));
        let end = RunEnd { run_id: name, ended_at: 2000, ..RunEnd::default() };
        store.record(Record::End(end));
    }
    store.record(start("goes-on", &session.id));
    store.flush_records().await;
    let forget = async |began_before, max_bytes| {
        let mut gone = 0;
        loop {
            match store.forget_runs(Retention { began_before, max_bytes }).await.unwrap() {
                0 => return gone,
                some => gone += some,
            }
        }
    };
    assert_eq!(forget(0, u64::MAX).await, 0, "within every limit");
    let of_one = event("r000", 0).json.len() as u64;
    assert_eq!(store.runs_since(1040).await.unwrap().len(), 60);
    assert_eq!(store.runs_since(1040).await.unwrap()[0].run_id, "r040", "oldest first");
    // Ten runs have a number of one digit, so their events are one byte shorter.
    let whole = 100 * (of_one + 1) - 10;
    assert_eq!(forget(0, whole - 20 * (of_one + 1)).await, 21, "those that are too much");
    assert!(store.events("r000").await.unwrap().is_empty(), "events go with their run");
    assert_eq!(store.events("r021").await.unwrap().len(), 1);
    assert!(store.run("goes-on").await.unwrap().is_some(), "a run that goes on stays");
    assert_eq!(forget(1090, u64::MAX).await, 70, "by age, and also what never ended");
    let left = store.runs(1000).await.unwrap();
    assert_eq!(left.len(), 10, "{left:?}");
    assert_eq!(left[0].run_id, "r099");
}
