//! What a sink gets to know: R4.15.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{
    Records, cx, cx_with, dispatch, envelope, model_pre, prompt, started, submit, tool, watched,
};
use pintle::{
    Event, Failure, FailureKind, HandlerOutcome, Hooks, ModelKind, PluginFilter, Verdict,
    points::{BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, ToolPre, UserPromptSubmit},
};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio_util::sync::CancellationToken;

// R4.15
#[tokio::test]
async fn a_record_says_point_model_envelope_and_each_handlers_part() {
    let (hooks, records) = watched();
    hooks
        .named("a")
        .plugin("p")
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("a").prepend_system("a"))
        })
        .unwrap();
    hooks
        .named("b")
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("b").override_system("b"))
        })
        .unwrap();
    hooks
        .named("c")
        .register_modifying(|_: Event<BeforePromptBuild>| async { None::<PromptPatch> })
        .unwrap();
    hooks
        .named("d")
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Err::<Option<PromptPatch>, _>(Failure::new(FailureKind::Exit(3), "no"))
        })
        .unwrap();
    hooks.fire_modifying(&cx(), prompt).await.unwrap();

    let record = records.all().pop().unwrap();
    assert_eq!((record.point, record.model), ("before_prompt_build", ModelKind::Modifying));
    assert_eq!(*record.envelope, envelope());
    let mut json = serde_json::to_value(&record).unwrap();
    for handler in json["handlers"].as_array_mut().unwrap() {
        let duration = handler.as_object_mut().unwrap().remove("durationMs").unwrap();
        assert!(duration.as_f64().unwrap() >= 0.0);
    }
    assert_eq!(
        json["handlers"],
        json!([
            { "name": "a", "plugin": "p", "outcome": "patched", "won": ["prependSystem", "appendSystem"] },
            { "name": "b", "outcome": "patched", "won": ["overrideSystem"], "lost": ["appendSystem"] },
            { "name": "c", "outcome": "passed" },
            { "name": "d", "outcome": { "failed": { "kind": { "exit": 3 }, "message": "no" } } },
        ])
    );
    assert_eq!(json["envelope"]["sessionId"], "s-1");
}

// R4.15
#[tokio::test]
async fn a_record_says_how_long_each_handler_took() {
    let (hooks, records) = watched();
    let wait = Duration::from_millis(30);
    hooks
        .named("slow")
        .register_void(move |_: Event<SessionOpened>| async move { std::thread::sleep(wait) })
        .unwrap();
    hooks.named("quick").register_void(|_: Event<SessionOpened>| async {}).unwrap();
    hooks.fire_void(&cx(), started).await.unwrap();
    let handlers = records.only();
    assert!(handlers[0].duration >= wait, "{:?}", handlers[0].duration);
}

// R4.15: one record per fire, listened to or not.
#[tokio::test]
async fn a_fire_that_reaches_nobody_is_recorded_all_the_same() {
    let (hooks, records) = watched();
    hooks.fire_void(&cx(), started).await.unwrap();
    hooks.fire_modifying(&cx(), prompt).await.unwrap();
    hooks.fire_claiming(&cx(), dispatch).await.unwrap();
    let _ = hooks.fire_gate(&cx(), submit).await;
    hooks
        .options()
        .plugin("p")
        .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
        .unwrap();
    let _ = hooks.fire_gate(&cx_with(PluginFilter::BuiltinsOnly), model_pre).await;
    hooks
        .options()
        .tools(["write_*"])
        .register_gate(|_: Event<ToolPre>| async { Verdict::allow() })
        .unwrap();
    let _ = hooks.fire_gate(&cx(), || tool("read_file")).await;

    let all = records.all();
    let points: Vec<_> = all.iter().map(|record| record.point).collect();
    assert_eq!(
        points,
        [
            "session_start",
            "before_prompt_build",
            "before_dispatch",
            "user.prompt.submit",
            "model.pre",
            "tool.pre"
        ]
    );
    assert!(all.iter().all(|record| record.handlers.is_empty()));
}

// R4.15: a handler the gate keeps out did not take part.
#[tokio::test]
async fn only_the_handlers_a_fire_reaches_are_in_its_record() {
    let (hooks, records) = watched();
    hooks.named("in").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    hooks
        .named("out")
        .plugin("p")
        .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
        .unwrap();
    let _ = hooks.fire_gate(&cx_with(PluginFilter::BuiltinsOnly), model_pre).await;
    assert_eq!(records.outcomes(), [("in".into(), "allowed")]);
}

// R4.15, R4.11: a fire dropped half-way is recorded too.
#[tokio::test(start_paused = true)]
async fn a_fire_that_is_dropped_half_way_shows_who_was_cancelled() {
    let (hooks, records) = watched();
    hooks.named("done").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    hooks
        .named("hangs")
        .register_gate(|_: Event<ModelPre>| async {
            std::future::pending::<()>().await;
            Verdict::allow()
        })
        .unwrap();
    hooks.named("never").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    let fire = hooks.fire_gate(&cx(), model_pre);
    assert!(tokio::time::timeout(Duration::from_secs(1), fire).await.is_err());
    assert_eq!(records.outcomes(), [("done".into(), "allowed"), ("hangs".into(), "cancelled")]);
}

// R4.15
#[tokio::test]
async fn a_fire_that_is_never_awaited_or_cancelled_from_the_start_is_recorded_as_reaching_nobody() {
    let (hooks, records) = watched();
    hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();
    drop(hooks.fire_void(&cx(), started));
    let token = CancellationToken::new();
    token.cancel();
    hooks.fire_void(&cx().cancelled_by(token), started).await.unwrap_err();
    let all = records.all();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|record| record.handlers.is_empty()));
}

// R4.15
#[tokio::test]
async fn a_contexts_own_sink_gets_the_record_besides_the_registrys() {
    let (hooks, records) = watched();
    let own = Arc::new(Records::default());
    hooks.fire_void(&cx().observed_by(own.clone()), started).await.unwrap();
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!((records.all().len(), own.all().len()), (2, 1));

    let unwatched = Hooks::new();
    unwatched.fire_void(&cx().observed_by(own.clone()), started).await.unwrap();
    assert_eq!(own.all().len(), 2, "also where the registry has none, and nobody listens");
}

// R4.15
#[tokio::test(start_paused = true)]
async fn every_kind_of_outcome_has_a_name_in_the_record() {
    let names = [
        (HandlerOutcome::Finished, "finished"),
        (HandlerOutcome::Patched, "patched"),
        (HandlerOutcome::Passed, "passed"),
        (HandlerOutcome::Claimed, "claimed"),
        (HandlerOutcome::Allowed, "allowed"),
        (HandlerOutcome::Blocked("no".into()), "blocked"),
        (HandlerOutcome::Removed, "removed"),
    ];
    for (outcome, name) in names {
        assert_eq!(outcome.name(), name);
    }
    use FailureKind::*;
    let kinds = [
        (Panicked, "panicked"),
        (Errored, "errored"),
        (TimedOut, "timed_out"),
        (Cancelled, "cancelled"),
        (Spawn, "spawn"),
        (Exit(1), "exit"),
        (Signal(9), "signal"),
        (BadOutput, "bad_output"),
        (TooMuchOutput, "too_much_output"),
        (Untrusted, "untrusted"),
        (Gone, "gone"),
    ];
    for (kind, name) in kinds {
        assert_eq!(HandlerOutcome::Failed(Failure::new(kind, "")).name(), name);
    }
}

static SERIALISED: AtomicUsize = AtomicUsize::new(0);

fn counted<S: Serializer>(value: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    SERIALISED.fetch_add(1, Ordering::Relaxed);
    value.serialize(serializer)
}

pintle::point! {
    /// Counts how often it is turned into JSON.
    pub struct Costly = "test_costly": pintle::Void {
        /// Anything.
        #[serde(serialize_with = "counted")]
        pub value: u8,
    }
}

// R4.15, P7: neither the record nor the JSON is built for nobody. That no record is allocated: tests/allocations.rs.
#[tokio::test]
async fn nothing_is_serialised_that_no_dynamic_handler_asks_for_and_then_only_once() {
    let hooks = Hooks::new();
    hooks.register_void(|_: Event<Costly>| async {}).unwrap();
    let observed = cx().observed_by(Arc::new(Records::default()));
    hooks.fire_void(&observed, || Costly { value: 1 }).await.unwrap();
    assert_eq!(SERIALISED.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        hooks
            .register_dyn("test_costly", ModelKind::Void, |e: pintle::DynEvent| async move {
                assert_eq!(e.json["value"], 1);
                Ok::<_, Failure>(json!(null))
            })
            .unwrap();
    }
    hooks.fire_void(&observed, || Costly { value: 1 }).await.unwrap();
    assert_eq!(SERIALISED.load(Ordering::Relaxed), 1);
}

// R4.15
#[tokio::test]
async fn a_block_is_recorded_with_its_reason() {
    let (hooks, records) = watched();
    hooks.register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("not now") }).unwrap();
    let _ = hooks.fire_gate(&cx(), submit).await;
    assert_eq!(records.only()[0].outcome, HandlerOutcome::Blocked("not now".into()));
}
