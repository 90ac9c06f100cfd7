//! How Void handlers run: the Void row of §3.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use crate::common::{Diary, cx, started, watched};
use pintle::{Event, Failure, FireError, Hooks, points::SessionOpened};
use tokio::{sync::Barrier, time::sleep};

// §3: handlers run concurrently. Each waits for all the others: one after another they would never end.
#[tokio::test]
async fn handlers_run_concurrently_and_all_are_awaited() {
    let hooks = Hooks::new();
    let barrier = Arc::new(Barrier::new(10));
    let finished = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let (barrier, finished) = (barrier.clone(), finished.clone());
        hooks
            .register_void(move |_: Event<SessionOpened>| {
                let (barrier, finished) = (barrier.clone(), finished.clone());
                async move {
                    barrier.wait().await;
                    finished.fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
    }
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(finished.load(Ordering::Relaxed), 10);
}

#[tokio::test]
async fn handlers_are_started_in_order_whatever_they_wait_for() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    for name in ["a", "b", "c"] {
        let note = diary.clone();
        hooks
            .named(name)
            .register_void(move |_: Event<SessionOpened>| {
                let note = note.clone();
                async move {
                    note.write(name);
                    tokio::task::yield_now().await;
                }
            })
            .unwrap();
    }
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["a", "b", "c"]);
}

// §3
#[tokio::test(start_paused = true)]
async fn a_failing_handler_is_recorded_the_others_finish_and_the_fire_succeeds() {
    let (hooks, records) = watched();
    hooks
        .named("panics")
        .register_void(|_: Event<SessionOpened>| async {
            if true {
                panic!("oh no")
            }
        })
        .unwrap();
    hooks
        .named("errs")
        .register_void(|_: Event<SessionOpened>| async {
            Err::<(), _>(Failure::errored("no disk"))
        })
        .unwrap();
    hooks
        .named("slow")
        .register_void(|_: Event<SessionOpened>| sleep(Duration::from_secs(60)))
        .unwrap();
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(
        records.outcomes(),
        [("panics".into(), "panicked"), ("errs".into(), "errored"), ("slow".into(), "finished"),]
    );
}

// §3: with fail-closed the others finish, then the fire returns an error naming it.
#[tokio::test(start_paused = true)]
async fn a_fail_closed_failure_is_an_error_after_the_others_have_finished() {
    let (hooks, records) = watched();
    hooks
        .named("must")
        .fail_closed()
        .register_void(|_: Event<SessionOpened>| async {
            Err::<(), _>(Failure::errored("no disk"))
        })
        .unwrap();
    hooks
        .named("slow")
        .register_void(|_: Event<SessionOpened>| sleep(Duration::from_secs(60)))
        .unwrap();
    let error = hooks.fire_void(&cx(), started).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`must` at session_start returned an error: no disk, and it is registered fail-closed"
    );
    assert_eq!(records.outcomes(), [("must".into(), "errored"), ("slow".into(), "finished")]);
}

// P4: of several fatal failures the first in order is named, not the first in time.
#[tokio::test(start_paused = true)]
async fn of_several_fail_closed_failures_the_first_in_order_is_named() {
    let hooks = Hooks::new();
    for (name, seconds) in [("first", 30), ("second", 1), ("third", 0)] {
        hooks
            .named(name)
            .fail_closed()
            .register_void(move |_: Event<SessionOpened>| async move {
                if seconds > 0 {
                    sleep(Duration::from_secs(seconds)).await;
                }
                Err::<(), _>(Failure::errored(""))
            })
            .unwrap();
    }
    let error = hooks.fire_void(&cx(), started).await.unwrap_err();
    assert!(
        matches!(error, FireError::FailClosed { ref handler, .. } if &**handler == "first"),
        "{error}"
    );
}
