//! Workers that misbehave: each trick fails the request it harms, and only that one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pintle::FailureKind::{self, BadOutput, Errored, Gone, Spawn, TimedOut, TooMuchOutput};
use pintle_exec::{Worker, WorkerSpec};
use serde_json::json;

use crate::support::{Profile, SLACK};

/// Long enough for an interpreter to start on a busy machine.
const SHORT: Duration = Duration::from_secs(6);

pub(crate) async fn fails_only_its_request(trick: &str, kind: FailureKind, starts: usize) {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    profile.ask(&worker, json!({})).await.unwrap();
    let started = Instant::now();
    let failure = profile.ask(&worker, json!({ "do": trick })).await.unwrap_err();
    assert!(started.elapsed() < SLACK, "{trick} was noticed only at the deadline");
    assert_eq!(failure.kind, kind, "{trick}: {failure:?}");
    profile.ask(&worker, json!({})).await.unwrap_or_else(|it| panic!("after {trick}: {it:?}"));
    assert_eq!(profile.starts(), starts, "{trick}");
    worker.shutdown().await;
    profile.nobody_left().await;
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_fails_its_request_and_the_worker_lives_on() {
    // R8.7
    for trick in ["no id", "number as id", "garbage", "twice", "array", "neither", "both", "beside"]
    {
        fails_only_its_request(trick, BadOutput, 1).await;
    }
    fails_only_its_request("error", Errored, 1).await;
    fails_only_its_request("long line", TooMuchOutput, 1).await;
}

#[tokio::test]
async fn death_mid_request_is_gone_and_the_next_request_starts_it_anew() {
    for trick in ["die", "kill", "close stdout"] {
        fails_only_its_request(trick, Gone, 2).await; // R8.7
    }
}

#[tokio::test]
async fn what_a_dead_worker_said_on_stderr_is_in_the_message() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    let failure = profile.ask(&worker, json!({ "do": "die" })).await.unwrap_err();
    assert!(failure.message.contains("exit status: 3"), "{failure:?}");
    assert!(failure.message.contains("out of ideas"), "{failure:?}");
}

#[tokio::test]
async fn a_silent_worker_is_ended_and_started_anew() {
    let silenced = ["silence", "stop"].map(|trick| async move {
        let profile = Profile::new();
        let mut spec = profile.odd_spec(&[]);
        spec.process.timeout = SHORT;
        let worker = Worker::new(spec);
        let failure = profile.ask(&worker, json!({ "do": trick })).await.unwrap_err();
        assert_eq!(failure.kind, TimedOut);
        // Queued while the silent one is still given its last chance; served by the next.
        profile.ask(&worker, json!({})).await.unwrap();
        assert_eq!(profile.starts(), 2);
    });
    join_all(silenced).await;
}

#[tokio::test]
async fn a_worker_that_stops_reading_in_the_middle_of_a_request_is_ended_and_started_anew() {
    let profile = Profile::new();
    let mut spec = profile.odd_spec(&["--concurrent"]);
    spec.process.timeout = SHORT;
    let worker = Worker::new(spec);
    profile.ask(&worker, json!({})).await.unwrap();
    let busy = profile.ask(&worker, json!({ "do": "late", "seconds": 3600 }));
    // More than a pipe holds. Nothing else can be told before it.
    let long = profile.ask(&worker, json!({ "content": "x".repeat(1 << 20) }));
    let (busy, long) = tokio::join!(busy, long);
    assert_eq!((busy.unwrap_err().kind, long.unwrap_err().kind), (TimedOut, TimedOut));
    profile.ask(&worker, json!({})).await.unwrap(); // R8.7
    assert_eq!(profile.starts(), 2);
}

#[tokio::test]
async fn an_answer_that_is_only_a_little_late_costs_its_request_and_not_the_worker() {
    let profile = Profile::new();
    let mut spec = profile.odd_spec(&["--concurrent"]);
    spec.process.timeout = SHORT;
    let worker = Worker::new(spec);
    let late = json!({ "do": "late", "seconds": SHORT.as_secs_f64() + 0.2 });
    let failure = profile.ask(&worker, late).await.unwrap_err();
    assert_eq!(failure.kind, TimedOut);
    assert_ne!(profile.ask(&worker, json!({})).await.unwrap()["output"], "late");
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn a_request_nobody_waits_for_any_more_does_not_confuse_the_next() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    profile.ask(&worker, json!({})).await.unwrap();
    let late = profile.ask(&worker, json!({ "do": "late", "seconds": 0.3 }));
    assert!(tokio::time::timeout(Duration::from_millis(50), late).await.is_err());
    assert_ne!(profile.ask(&worker, json!({})).await.unwrap()["output"], "late");
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn among_several_requests_garbage_harms_nobody_and_each_error_its_own() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&["--concurrent"]);
    profile.ask(&worker, json!({})).await.unwrap();
    let tricks = ["", "garbage", "error", "neither", ""];
    // A slow one keeps the others company, so that none of them is ever alone under way.
    let slow = profile.ask(&worker, json!({ "do": "late", "seconds": 0.5 }));
    let others = join_all(tricks.map(|trick| profile.ask(&worker, json!({ "do": trick }))));
    let (slow, others) = tokio::join!(slow, others);
    assert_eq!(slow.unwrap()["output"], "late");
    let kinds: Vec<_> = others.iter().map(|it| it.as_ref().err().map(|it| it.kind)).collect();
    assert_eq!(kinds, [None, None, Some(Errored), Some(BadOutput), None]);
    assert_eq!(profile.starts(), 1);
}

#[tokio::test]
async fn death_fails_every_request_under_way() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&["--concurrent"]);
    profile.ask(&worker, json!({})).await.unwrap();
    let tricks = ["silence", "silence", "die"];
    let answers = join_all(tricks.map(|trick| profile.ask(&worker, json!({ "do": trick })))).await;
    for answer in answers {
        assert_eq!(answer.unwrap_err().kind, Gone);
    }
    profile.ask(&worker, json!({})).await.unwrap();
    assert_eq!(profile.starts(), 2);
}

#[tokio::test]
async fn a_worker_that_dies_after_answering_is_simply_started_again() {
    let profile = Profile::new();
    let worker = profile.odd_worker(&[]);
    for _ in 0..4 {
        let bye = profile.ask(&worker, json!({ "do": "die after answering" })).await.unwrap();
        let process = format!("/proc/{}", bye["output"].as_str().unwrap());
        let deadline = Instant::now() + SLACK;
        while std::path::Path::new(&process).exists() {
            assert!(Instant::now() < deadline, "nobody has noticed its end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert_eq!(profile.starts(), 4);
}

#[tokio::test]
async fn a_worker_that_keeps_dying_is_left_alone_for_a_while() {
    let profile = Profile::new();
    let mut spec = WorkerSpec::new(profile.shell("printf x >> starts; echo no config >&2; exit 1"));
    spec.first_backoff = Duration::from_secs(3600);
    spec.longest_backoff = Duration::from_secs(3600);
    let worker = Worker::new(spec);
    for _ in 0..4 {
        let failure = profile.ask(&worker, json!({})).await.unwrap_err();
        assert_eq!(failure.kind, Gone, "{failure:?}"); // R8.7
        assert!(failure.message.contains("no config"), "{failure:?}");
    }
    assert_eq!(profile.starts(), 2);
}

#[tokio::test]
async fn a_worker_that_kept_dying_gets_another_chance() {
    let profile = Profile::new();
    let odd = profile.odd_spec(&[]);
    let line = "if [ -e fixed ]; then exec python3 odd_worker.py; fi; exit 1";
    let mut spec = WorkerSpec { process: profile.shell(line), ..odd };
    spec.first_backoff = Duration::from_millis(100);
    let worker = Worker::new(spec);
    for _ in 0..3 {
        profile.ask(&worker, json!({})).await.unwrap_err();
    }
    std::fs::write(profile.path().join("fixed"), "").unwrap();
    let deadline = Instant::now() + SLACK;
    while let Err(failure) = profile.ask(&worker, json!({})).await {
        assert_eq!(failure.kind, Gone);
        assert!(Instant::now() < deadline, "{failure:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_says_why() {
    let profile = Profile::new();
    let worker = Worker::new(WorkerSpec::new(profile.argv(["./nowhere.py"])));
    let failure = profile.ask(&worker, json!({})).await.unwrap_err();
    assert_eq!(failure.kind, Spawn);
    assert!(failure.message.contains("nowhere.py"), "{failure:?}");
}
