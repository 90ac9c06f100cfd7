//! Deadlines and cancellation: R4.10, R4.11.

use std::time::Duration;

use crate::common::{Diary, OnDrop, cx, dispatch, model_pre, prompt, started, submit, watched};
use futures_util::FutureExt;
use pintle::{
    Event, FailureKind, FireError, Hooks, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, Suppressed,
        UserPromptSubmit,
    },
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Waits for ever, and writes `dropped` when it is dropped.
async fn hang(diary: Diary) {
    let _note = OnDrop(diary, "dropped");
    std::future::pending::<()>().await;
}

/// A registry whose handlers, one per model, all hang.
fn hanging(diary: &Diary) -> Hooks {
    let hooks = Hooks::new();
    let d = diary.clone();
    hooks.register_void(move |_: Event<SessionOpened>| hang(d.clone())).unwrap();
    let d = diary.clone();
    hooks
        .register_modifying(move |_: Event<BeforePromptBuild>| {
            let d = d.clone();
            async move {
                hang(d).await;
                None::<PromptPatch>
            }
        })
        .unwrap();
    let d = diary.clone();
    hooks
        .register_claiming(move |_: Event<BeforeDispatch>| {
            let d = d.clone();
            async move {
                hang(d).await;
                None::<Suppressed>
            }
        })
        .unwrap();
    let d = diary.clone();
    hooks
        .register_gate(move |_: Event<UserPromptSubmit>| {
            let d = d.clone();
            async move {
                hang(d).await;
                Verdict::allow()
            }
        })
        .unwrap();
    hooks
}

// R4.10
#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_drops_the_handler_and_counts_as_timed_out() {
    let (hooks, records) = watched();
    let diary = Diary::default();
    let d = diary.clone();
    hooks
        .named("hangs")
        .deadline(Duration::from_secs(2))
        .register_gate(move |_: Event<UserPromptSubmit>| {
            let d = d.clone();
            async move {
                hang(d).await;
                Verdict::allow()
            }
        })
        .unwrap();
    let begun = Instant::now();
    let outcome = hooks.fire_gate(&cx(), submit).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2), "on the paused clock");
    let block = outcome.blocked().unwrap();
    assert_eq!(block.reason, "`hangs` timed out: no answer within 2s");
    assert_eq!(block.failure.as_ref().unwrap().kind, FailureKind::TimedOut);
    assert_eq!(diary.lines(), ["dropped"], "before the fire returned");
    assert_eq!(records.outcomes(), [("hangs".into(), "timed_out")]);
}

// R4.10
#[tokio::test(start_paused = true)]
async fn each_of_several_void_handlers_has_its_own_deadline() {
    let (hooks, records) = watched();
    for (name, deadline) in [("one", 1), ("three", 3), ("ten", 10)] {
        hooks
            .named(name)
            .deadline(Duration::from_secs(deadline))
            .register_void(|_: Event<SessionOpened>| sleep(Duration::from_secs(5)))
            .unwrap();
    }
    hooks.fire_void(&cx(), started).await.unwrap();
    let outcomes = [("one", "timed_out"), ("three", "timed_out"), ("ten", "finished")];
    assert_eq!(records.outcomes(), outcomes.map(|(name, outcome)| (name.to_string(), outcome)));
}

// R4.10: an answer that is there when the deadline passes is not lost.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_ready_at_the_deadline_counts() {
    let hooks = Hooks::new();
    hooks.deadline_test(Duration::from_secs(2));
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_none());
}

trait DeadlineTest {
    fn deadline_test(&self, at: Duration);
}
impl DeadlineTest for Hooks {
    /// Binds a gate that answers exactly when its time is up.
    fn deadline_test(&self, at: Duration) {
        self.options()
            .deadline(at)
            .register_gate(move |_: Event<UserPromptSubmit>| async move {
                sleep(at).await;
                Verdict::allow()
            })
            .unwrap();
    }
}

// R4.10: the registry's default is for handlers that say nothing themselves. A gate never gets longer by it.
#[tokio::test(start_paused = true)]
async fn a_default_deadline_can_be_set_on_the_registry() {
    let hooks = Hooks::builder().default_deadline(Duration::from_secs(7)).build();
    hooks
        .named("default")
        .register_void(|_: Event<SessionOpened>| std::future::pending::<()>())
        .unwrap();
    hooks
        .named("own")
        .deadline(Duration::from_secs(9))
        .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
        .unwrap();
    hooks.named("gate").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    let deadlines: Vec<_> = hooks
        .list()
        .iter()
        .map(|info| (info.name.to_string(), info.deadline.unwrap().as_secs()))
        .collect();
    assert_eq!(deadlines, [("own".into(), 9), ("gate".into(), 5), ("default".into(), 7)]);

    let begun = Instant::now();
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(7));

    let hooks = Hooks::builder().default_deadline(Duration::from_secs(2)).build();
    hooks.register_gate(|_: Event<ModelPre>| Verdict::allow()).unwrap();
    assert_eq!(hooks.list()[0].deadline, Some(Duration::from_secs(2)), "it shortens a gate's");
}

// R4.10: none is set unless asked, except for lifecycle hooks (5 s).
#[tokio::test(start_paused = true)]
async fn without_a_default_only_gates_have_a_deadline_of_five_seconds() {
    let diary = Diary::default();
    let hooks = hanging(&diary);
    let deadlines: Vec<_> = hooks.list().iter().map(|info| (info.point, info.deadline)).collect();
    assert_eq!(
        deadlines,
        [
            ("before_dispatch", None),
            ("before_prompt_build", None),
            ("session_start", None),
            ("user.prompt.submit", Some(Duration::from_secs(5))),
        ]
    );
    let begun = Instant::now();
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_some());
    assert_eq!(begun.elapsed(), Duration::from_secs(5));

    let void = tokio::time::timeout(Duration::from_secs(86_400), hooks.fire_void(&cx(), started));
    assert!(void.await.is_err(), "a day later it still waits");
}

// R4.10
#[tokio::test(start_paused = true)]
async fn an_endless_deadline_is_no_deadline() {
    let hooks = Hooks::new();
    hooks
        .options()
        .deadline(Duration::MAX)
        .register_gate(|_: Event<ModelPre>| async {
            sleep(Duration::from_secs(3_600)).await;
            Verdict::allow()
        })
        .unwrap();
    assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
}

// R4.11
#[tokio::test(start_paused = true)]
async fn dropping_a_fire_drops_the_handlers_it_started() {
    let diary = Diary::default();
    let hooks = hanging(&diary);
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, hooks.fire_void(&cx(), started)).await.is_err());
    assert_eq!(diary.lines().len(), 1);
    assert!(tokio::time::timeout(second, hooks.fire_modifying(&cx(), prompt)).await.is_err());
    assert_eq!(diary.lines().len(), 2);
    assert!(tokio::time::timeout(second, hooks.fire_claiming(&cx(), dispatch)).await.is_err());
    assert_eq!(diary.lines().len(), 3);
    assert!(tokio::time::timeout(second, hooks.fire_gate(&cx(), submit)).await.is_err());
    assert_eq!(diary.lines().len(), 4);
}

// R4.11
#[tokio::test(start_paused = true)]
async fn cancelling_the_token_drops_the_handlers_and_a_gate_blocks() {
    let diary = Diary::default();
    let hooks = hanging(&diary);
    let token = CancellationToken::new();
    let cx = cx().cancelled_by(token.clone());
    let cancel_soon = || {
        let (token, diary) = (token.clone(), diary.clone());
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            assert!(diary.lines().is_empty());
            token.cancel();
        })
    };
    let fire = hooks.fire_gate(&cx, submit);
    cancel_soon().await.unwrap();
    let outcome = fire.await;
    let block = outcome.blocked().unwrap();
    assert_eq!(block.failure.as_ref().unwrap().kind, FailureKind::Cancelled);
    assert_eq!(block.reason, "was cancelled: firing user.prompt.submit was cancelled");

    // Cancelled from the start: no handler is even started, and nothing passes for an answer.
    let at = |point| FireError::Cancelled { point };
    assert_eq!(hooks.fire_void(&cx, started).await, Err(at("session_start")));
    assert_eq!(hooks.fire_modifying(&cx, prompt).await.unwrap_err(), at("before_prompt_build"));
    assert_eq!(hooks.fire_claiming(&cx, dispatch).await.unwrap_err(), at("before_dispatch"));
    assert_eq!(at("x").to_string(), "firing x was cancelled");
    assert!(diary.lines().is_empty(), "none was started");
}

// R4.11: under way, under every model.
#[tokio::test(start_paused = true)]
async fn cancelling_under_way_drops_what_was_started() {
    for model in 0..4 {
        let diary = Diary::default();
        let hooks = hanging(&diary);
        let token = CancellationToken::new();
        let cx = cx().cancelled_by(token.clone());
        let fire = async {
            match model {
                0 => assert!(hooks.fire_void(&cx, started).await.is_err()),
                1 => assert!(hooks.fire_modifying(&cx, prompt).await.is_err()),
                2 => assert!(hooks.fire_claiming(&cx, dispatch).await.is_err()),
                _ => assert!(hooks.fire_gate(&cx, submit).await.blocked().is_some()),
            }
        };
        let canceller = async {
            sleep(Duration::from_secs(1)).await;
            assert!(diary.lines().is_empty());
            token.cancel();
        };
        tokio::join!(fire, canceller);
        assert_eq!(diary.lines(), ["dropped"]);
    }
}

// R4.11: an outcome that is there is not lost to a cancellation.
#[tokio::test]
async fn an_outcome_that_is_ready_when_the_token_is_cancelled_counts() {
    let hooks = Hooks::new();
    let token = CancellationToken::new();
    let inner = token.clone();
    hooks
        .register_gate(move |_: Event<UserPromptSubmit>| {
            inner.cancel();
            async { Verdict::allow() }
        })
        .unwrap();
    let outcome = hooks.fire_gate(&cx().cancelled_by(token), submit).await;
    assert!(outcome.blocked().is_none());
}

// R4.10: deadlines need a runtime; without one the handler fails, and the host does not fall.
#[test]
fn without_a_runtime_a_handler_that_waits_at_a_gate_blocks() {
    let hooks = Hooks::new();
    hooks
        .register_gate(|_: Event<UserPromptSubmit>| async {
            std::future::pending::<()>().await;
            Verdict::allow()
        })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), submit).now_or_never().expect("it does not hang");
    assert_eq!(outcome.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::Panicked);
}
