//! §14, circuit breaker: a gate's handler that times out again and again blocks at once, and is tried again after a pause.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::common::{cx, model_pre, prompt, submit, tool, watched};
use futures_util::FutureExt;
use pintle::{
    Event, Failure, FailureKind, HandlerInfo, Hooks, Verdict,
    points::{BeforePromptBuild, ModelPre, PromptPatch, ToolPre, UserPromptSubmit},
};
use tokio::time::{Instant, advance};

const SECOND: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(30);

/// A tool that writes a marker file if a gate lets it run. Its one handler does what `next` says, and counts its calls.
struct Gated {
    hooks: Hooks,
    calls: Arc<AtomicU32>,
    next: Arc<Mutex<Does>>,
    marker: PathBuf,
    _dir: tempfile::TempDir,
}

#[derive(Clone, Copy)]
enum Does {
    Hang,
    Allow,
    Fail(FailureKind),
}

impl Gated {
    fn new() -> Self {
        let (hooks, calls, next) =
            (Hooks::new(), Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Does::Hang)));
        let (count, does) = (calls.clone(), next.clone());
        hooks
            .named("slow")
            .deadline(5 * SECOND)
            .register_gate(move |_: Event<ToolPre>| {
                count.fetch_add(1, Ordering::Relaxed);
                let does = *does.lock().unwrap();
                async move {
                    match does {
                        Does::Hang => std::future::pending().await,
                        Does::Allow => Ok(Verdict::allow()),
                        Does::Fail(kind) => Err(Failure::new(kind, "")),
                    }
                }
            })
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let marker = dir.path().join("the-tool-ran");
        Self { hooks, calls, next, marker, _dir: dir }
    }

    fn next(&self, does: Does) {
        *self.next.lock().unwrap() = does;
    }

    fn called(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Fires the gate and runs the tool if it may. Says why it may not, and how long that took.
    async fn run(&self) -> (Option<String>, Duration) {
        let _ = std::fs::remove_file(&self.marker);
        let begun = Instant::now();
        let outcome = self.hooks.fire_gate(&cx(), || tool("terminal")).await;
        let reason = outcome.blocked().map(|block| block.reason.clone());
        if reason.is_none() {
            std::fs::write(&self.marker, "").unwrap();
        }
        assert_eq!(Path::exists(&self.marker), reason.is_none());
        (reason, begun.elapsed())
    }

    async fn open() -> Self {
        let gated = Self::new();
        for _ in 0..HandlerInfo::FAILING_AFTER {
            assert_eq!(gated.run().await.1, 5 * SECOND);
        }
        gated
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_timed_out_three_times_blocks_at_once_and_says_why() {
    let gated = Gated::open().await;
    advance(7 * SECOND).await;
    let (reason, took) = gated.run().await;
    assert_eq!((took, gated.called()), (Duration::ZERO, 3), "it is not called");
    assert_eq!(
        reason.unwrap(),
        "`slow` timed out: the hook is failing, so it was not called (3 timeouts without an answer, the first 17 s ago); it is \
         tried again in 23 s"
    );
    let listed = gated.hooks.list()[0].failing.clone().expect("it stands out in the list");
    assert_eq!(listed.kind, FailureKind::TimedOut);
    assert!(listed.message.contains("is failing"), "{listed}");
}

#[tokio::test(start_paused = true)]
async fn after_the_pause_one_call_tries_it_and_the_others_still_block() {
    let gated = Gated::open().await;
    advance(PAUSE).await;
    assert!(gated.hooks.list()[0].failing.as_ref().unwrap().message.ends_with("at its next call"));
    let mut trying = Box::pin(gated.hooks.fire_gate(&cx(), || tool("terminal")));
    assert!((&mut trying).now_or_never().is_none(), "the try waits for its answer");
    let (reason, took) = gated.run().await;
    assert!(reason.unwrap().contains("tried again in 30 s"));
    assert_eq!((took, gated.called()), (Duration::ZERO, 4));
    assert!(trying.await.blocked().is_some(), "the try timed out too");
    advance(PAUSE - SECOND).await;
    assert_eq!(gated.run().await.1, Duration::ZERO, "the pause is counted from the last timeout");
    advance(SECOND).await;
    gated.next(Does::Allow);
    assert_eq!(gated.run().await, (None, Duration::ZERO), "an answer closes it");
    assert_eq!(gated.hooks.list()[0].failing, None);
    gated.next(Does::Hang);
    assert_eq!(gated.run().await.1, 5 * SECOND, "the count starts anew");
}

#[tokio::test(start_paused = true)]
async fn a_try_that_is_dropped_leaves_the_gate_blocked_until_the_next_pause() {
    let gated = Gated::open().await;
    advance(PAUSE).await;
    assert!(
        gated.hooks.fire_gate(&cx(), || tool("terminal")).now_or_never().is_none(),
        "tried, and dropped"
    );
    assert!(gated.run().await.0.is_some());
    assert_eq!(gated.called(), 4);
    advance(PAUSE).await;
    gated.next(Does::Allow);
    assert_eq!(gated.run().await.0, None);
}

#[tokio::test(start_paused = true)]
async fn only_timeouts_count_and_only_an_answer_in_time_clears_them() {
    for (kind, clears) in [
        (FailureKind::Gone, false),
        (FailureKind::Exit(2), true),
        (FailureKind::Errored, true),
        (FailureKind::BadOutput, true),
    ] {
        let gated = Gated::new();
        for does in [Does::Hang, Does::Hang, Does::Fail(kind), Does::Hang] {
            gated.next(does);
            assert!(gated.run().await.0.is_some(), "every failure blocks");
        }
        assert_eq!(gated.hooks.list()[0].failing.is_none(), clears, "{kind}");
        gated.next(Does::Fail(kind));
        assert!(gated.run().await.0.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_handlers_after_a_failing_adviser_are_called_and_a_new_registration_starts_closed() {
    let (hooks, records) = watched();
    let slow = hooks
        .named("slow")
        .register_gate(|_: Event<ModelPre>| std::future::pending::<Verdict>())
        .unwrap();
    hooks
        .named("quick")
        .priority(-1)
        .register_gate(|_: Event<ModelPre>| Verdict::allow().with_context("still here"))
        .unwrap();
    for _ in 0..4 {
        let advice = hooks.fire_gate(&cx(), model_pre).await;
        assert_eq!(advice.verdicts[1].additional_context.as_deref(), Some("still here"));
    }
    let newest = records.all().pop().unwrap();
    assert_eq!(newest.handlers[0].outcome.name(), "timed_out");
    assert!(newest.handlers[0].outcome.reason().unwrap().contains("was not called"));
    slow.unregister();
    hooks
        .named("slow")
        .register_gate(|_: Event<ModelPre>| std::future::pending::<Verdict>())
        .unwrap();
    let begun = Instant::now();
    let _ = hooks.fire_gate(&cx(), model_pre).await;
    assert_eq!(begun.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn handlers_of_other_models_are_waited_for_each_time() {
    let hooks = Hooks::new();
    hooks
        .options()
        .deadline(SECOND)
        .register_modifying(|_: Event<BeforePromptBuild>| {
            std::future::pending::<Option<PromptPatch>>()
        })
        .unwrap();
    let begun = Instant::now();
    for _ in 0..5 {
        hooks.fire_modifying(&cx(), prompt).await.unwrap();
    }
    assert_eq!(begun.elapsed(), 5 * SECOND);
    hooks.register_gate(|_: Event<UserPromptSubmit>| Verdict::allow()).unwrap();
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_none());
}
