//! Panics, wherever they happen: R4.9.

use std::{
    future::Future,
    panic::panic_any,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use crate::common::{Records, cx, dispatch, prompt, started, submit, watched};
use pintle::{
    DynEvent, Event, Failure, FailureKind, FireRecord, Hooks, IntoAnswer, ModelKind, RecordSink,
    Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, PromptPatch, SessionOpened, Suppressed, UserPromptSubmit,
    },
};
use serde_json::Value;
use tokio::time::sleep;

/// Where in a handler's life the panic happens.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    CreatingTheFuture,
    BeforeTheFirstAwait,
    AfterTheFirstAwait,
    AfterAWhile,
    DroppingTheFuture,
}

const ALL: [When; 5] = [
    When::CreatingTheFuture,
    When::BeforeTheFirstAwait,
    When::AfterTheFirstAwait,
    When::AfterAWhile,
    When::DroppingTheFuture,
];

/// Answers at once; its destructor panics.
struct AnswersThenPanics<A>(Option<A>);

impl<A: Unpin> Future for AnswersThenPanics<A> {
    type Output = A;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<A> {
        Poll::Ready(self.0.take().unwrap())
    }
}

impl<A> Drop for AnswersThenPanics<A> {
    fn drop(&mut self) {
        panic!("boom")
    }
}

fn answer<A: Send + Unpin + 'static>(
    when: When,
    answer: A,
) -> Pin<Box<dyn Future<Output = A> + Send>> {
    if when == When::CreatingTheFuture {
        panic!("boom");
    }
    if when == When::DroppingTheFuture {
        return Box::pin(AnswersThenPanics(Some(answer)));
    }
    Box::pin(async move {
        if when == When::BeforeTheFirstAwait {
            panic!("boom");
        }
        tokio::task::yield_now().await;
        if when == When::AfterAWhile {
            sleep(Duration::from_secs(1)).await;
        }
        if true {
            panic!("boom");
        }
        answer
    })
}

// R4.9
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_under_every_model_whenever_it_happens() {
    for when in ALL {
        let (hooks, records) = watched();
        hooks.register_void(move |_: Event<SessionOpened>| answer(when, ())).unwrap();
        hooks
            .register_modifying(move |_: Event<BeforePromptBuild>| {
                answer(when, None::<PromptPatch>)
            })
            .unwrap();
        hooks
            .register_claiming(move |_: Event<BeforeDispatch>| {
                answer(when, Some(Suppressed::default()))
            })
            .unwrap();
        hooks
            .named("gate")
            .register_gate(move |_: Event<UserPromptSubmit>| answer(when, Verdict::allow()))
            .unwrap();

        hooks.fire_void(&cx(), started).await.unwrap();
        hooks.fire_modifying(&cx(), prompt).await.unwrap();
        assert_eq!(hooks.fire_claiming(&cx(), dispatch).await, Ok(None), "{when:?}");
        let outcome = hooks.fire_gate(&cx(), submit).await;
        let block = outcome.blocked().unwrap_or_else(|| panic!("{when:?} let it through"));
        assert_eq!(block.reason, "`gate` panicked: boom", "{when:?}");
        for record in records.all() {
            assert_eq!(
                record.handlers[0].outcome.name(),
                "panicked",
                "{when:?} at {}",
                record.point
            );
        }
    }
}

// R4.9
#[tokio::test]
async fn a_dynamic_handler_that_panics_blocks_too() {
    let hooks = Hooks::new();
    hooks
        .named("dynamic")
        .register_dyn("user.prompt.submit", ModelKind::Gate, |_: DynEvent| {
            if true {
                panic!("before there is a future");
            }
            async { Ok::<_, Failure>(Value::Null) }
        })
        .unwrap();
    let reason = hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason.clone();
    assert_eq!(reason, "`dynamic` panicked: before there is a future");
}

// R4.9
#[tokio::test]
async fn what_a_panic_says_is_kept_where_it_can_be_read() {
    for (text, expected) in [(true, "`gate` panicked: number 7"), (false, "`gate` panicked")] {
        let hooks = Hooks::new();
        hooks
            .named("gate")
            .register_gate(move |_: Event<UserPromptSubmit>| async move {
                if text {
                    panic!("number {}", 7);
                }
                panic_any(7_u8);
                #[expect(unreachable_code, reason = "says what the handler would answer")]
                Verdict::allow()
            })
            .unwrap();
        assert_eq!(hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason, expected);
    }
}

/// A panic payload that panics again when it is dropped, and so does what that throws.
struct Matryoshka(u32);

impl Drop for Matryoshka {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Self(self.0 - 1));
        }
    }
}

// R4.9, P5
#[tokio::test]
async fn a_panic_whose_payload_panics_when_dropped_does_not_reach_the_host() {
    let (hooks, records) = watched();
    hooks
        .register_gate(|_: Event<UserPromptSubmit>| async {
            if true {
                panic_any(Matryoshka(3));
            }
            Verdict::allow()
        })
        .unwrap();
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_some());
    assert_eq!(records.only()[0].outcome.name(), "panicked");
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("in a destructor")
    }
}

// R4.9, R4.10: dropped at its deadline, it panics; it still counts as timed out.
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_while_it_is_dropped_at_its_deadline_timed_out() {
    let (hooks, records) = watched();
    hooks
        .register_gate(|_: Event<UserPromptSubmit>| async {
            let _bomb = PanicsOnDrop;
            std::future::pending::<()>().await;
            Verdict::allow()
        })
        .unwrap();
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_some());
    assert_eq!(records.only()[0].outcome.name(), "timed_out");
}

// R4.9, R4.11: the one who drops a fire is not hit by its handlers.
#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_while_its_fire_is_dropped_does_not_reach_the_host() {
    let hooks = Hooks::new();
    for _ in 0..3 {
        hooks
            .register_void(|_: Event<SessionOpened>| async {
                let _bomb = PanicsOnDrop;
                std::future::pending::<()>().await;
            })
            .unwrap();
    }
    let fire = tokio::time::timeout(Duration::from_secs(1), hooks.fire_void(&cx(), started));
    assert!(fire.await.is_err());
}

// R4.9: what a handler captured is dropped when it is removed; by then nobody should have to care.
#[tokio::test]
async fn a_handler_whose_captured_value_panics_when_dropped_can_be_removed() {
    let hooks = Hooks::new();
    let bomb = Arc::new(PanicsOnDrop);
    let registration = hooks
        .register_void(move |_: Event<SessionOpened>| {
            let _held = &bomb;
            async {}
        })
        .unwrap();
    registration.unregister();
    assert!(hooks.list().is_empty());
    hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();
    hooks.fire_void(&cx(), started).await.unwrap();
}

/// A sink that panics.
struct Falls(Matryoshka);

impl RecordSink for Falls {
    fn record(&self, _: Arc<FireRecord>) {
        panic_any(Matryoshka(self.0.0));
    }
}

// R4.15: the run must not fall because its observer did, and the other observer still gets its record.
#[tokio::test]
async fn a_sink_that_panics_is_ignored() {
    for depth in [0, 2] {
        let falls = std::mem::ManuallyDrop::new(Arc::new(Falls(Matryoshka(depth))));
        let hooks = Hooks::builder().sink(Arc::<Falls>::clone(&falls)).build();
        let records = Arc::new(Records::default());
        hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();
        hooks.fire_void(&cx().observed_by(records.clone()), started).await.unwrap();
        assert_eq!(records.only().len(), 1);
    }
}

/// An answer that panics while it is understood.
struct Riddle;

impl IntoAnswer<Verdict> for Riddle {
    fn into_answer(self) -> Result<Verdict, Failure> {
        panic!("nobody knows")
    }
}

// R4.9
#[tokio::test]
async fn an_answer_that_panics_while_it_is_understood_is_a_failure() {
    let hooks = Hooks::new();
    hooks.register_gate(|_: Event<UserPromptSubmit>| async { Riddle }).unwrap();
    let outcome = hooks.fire_gate(&cx(), submit).await;
    assert_eq!(outcome.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::Panicked);
}
