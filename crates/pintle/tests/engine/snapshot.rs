//! A fire works on the handlers there were when it began: R4.8, R4.13.

use std::sync::{Arc, OnceLock};

use crate::common::{Diary, cx, dispatch, model_pre, prompt, started, submit, watched};
use pintle::{
    Event, Hooks, PluginFilter, Registration, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, Suppressed,
        UserPromptSubmit,
    },
};
use tokio::sync::Notify;

// R4.8
#[tokio::test]
async fn a_handler_registered_during_a_fire_waits_for_the_next() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    let (inner, note) = (hooks.clone(), diary.clone());
    hooks
        .named("first")
        .register_void(move |_: Event<SessionOpened>| {
            note.write("first");
            let late = note.clone();
            let _ =
                inner.named("late").priority(-1).register_void(move |_: Event<SessionOpened>| {
                    late.write("late");
                    async {}
                });
            async {}
        })
        .unwrap();
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["first"]);
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["first", "first", "late"]);
}

// R4.8
#[tokio::test]
async fn a_handler_removed_during_a_fire_is_not_started_and_the_record_says_so() {
    let (hooks, records) = watched();
    let second = Arc::new(OnceLock::<Registration>::new());
    let own = second.clone();
    hooks
        .named("remover")
        .register_gate(move |_: Event<ModelPre>| {
            own.get().unwrap().unregister();
            async { Verdict::allow() }
        })
        .unwrap();
    let bound = hooks
        .named("removed")
        .register_gate(|_: Event<ModelPre>| async { Verdict::block("too late") })
        .unwrap();
    second.set(bound).ok().unwrap();
    hooks.named("third").register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
    assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
    assert_eq!(
        records.outcomes(),
        [("remover".into(), "allowed"), ("removed".into(), "removed"), ("third".into(), "allowed"),]
    );
}

// R4.8: one that has started finishes, and its answer counts.
#[tokio::test]
async fn a_handler_removed_after_it_has_started_finishes() {
    let hooks = Hooks::new();
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (begun.clone(), go_on.clone());
    let registration = hooks
        .register_gate(move |_: Event<UserPromptSubmit>| {
            let (tell, wait) = (tell.clone(), wait.clone());
            async move {
                tell.notify_one();
                wait.notified().await;
                Verdict::block("still here")
            }
        })
        .unwrap();
    let fire = tokio::spawn({
        let hooks = hooks.clone();
        async move { hooks.fire_gate(&cx(), submit).await }
    });
    begun.notified().await;
    registration.unregister();
    assert!(!hooks.has_handlers::<UserPromptSubmit>(&PluginFilter::All));
    go_on.notify_one();
    assert_eq!(fire.await.unwrap().blocked().unwrap().reason, "still here");
}

// R4.13
#[tokio::test]
async fn unregister_plugin_removes_all_its_registrations_under_all_models() {
    let hooks = Hooks::new();
    for plugin in ["a", "b"] {
        hooks.options().plugin(plugin).register_void(|_: Event<SessionOpened>| async {}).unwrap();
        hooks.options().plugin(plugin).register_void(|_: Event<SessionOpened>| async {}).unwrap();
        hooks
            .options()
            .plugin(plugin)
            .register_modifying(|_: Event<BeforePromptBuild>| async { None::<PromptPatch> })
            .unwrap();
        hooks
            .options()
            .plugin(plugin)
            .register_claiming(|_: Event<BeforeDispatch>| async { Some(Suppressed::default()) })
            .unwrap();
        hooks
            .options()
            .plugin(plugin)
            .register_gate(|_: Event<ModelPre>| async { Verdict::block("no") })
            .unwrap();
    }
    hooks.named("built-in").register_void(|_: Event<SessionOpened>| async {}).unwrap();

    assert_eq!(hooks.unregister_plugin("a"), 5);
    assert_eq!(hooks.unregister_plugin("a"), 0, "again is harmless");
    assert_eq!(hooks.unregister_plugin(""), 0, "a built-in has no plugin id, not an empty one");
    assert!(hooks.list().iter().all(|info| info.plugin.as_deref() != Some("a")));
    assert_eq!(hooks.list().len(), 6);
    assert!(!hooks.has_handlers::<ModelPre>(&PluginFilter::only(["a"])));
    assert!(hooks.has_handlers::<ModelPre>(&PluginFilter::only(["b"])));

    hooks.unregister_plugin("b");
    assert!(hooks.fire_claiming(&cx(), dispatch).await.unwrap().is_none());
    assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
    hooks.fire_modifying(&cx(), prompt).await.unwrap();
}

// R4.13, R4.8: of a plugin removed under way, nothing more is started, at any point.
#[tokio::test]
async fn a_fire_under_way_starts_no_more_of_a_removed_plugin() {
    let (hooks, records) = watched();
    let inner = hooks.clone();
    hooks
        .named("remover")
        .register_gate(move |_: Event<ModelPre>| {
            inner.unregister_plugin("p");
            let hooks = inner.clone();
            async move {
                let nested = hooks.fire_gate(&cx(), submit).await;
                if nested.blocked().is_some() {
                    Verdict::block("half a plugin")
                } else {
                    Verdict::allow()
                }
            }
        })
        .unwrap();
    for name in ["one", "two", "three"] {
        hooks
            .named(name)
            .plugin("p")
            .register_gate(|_: Event<ModelPre>| async { Verdict::block("half") })
            .unwrap();
    }
    hooks
        .options()
        .plugin("p")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("half") })
        .unwrap();
    assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
    let record = records.all().pop().unwrap();
    let outcomes: Vec<_> = record.handlers.iter().map(|h| h.outcome.name()).collect();
    assert_eq!(outcomes, ["allowed", "removed", "removed", "removed"]);
}

// R4.13: a plugin that comes back is a new one.
#[tokio::test]
async fn a_plugin_can_be_registered_again_after_it_was_removed() {
    let hooks = Hooks::new();
    let bind = |reason: &'static str| {
        hooks
            .named("guard")
            .plugin("p")
            .register_gate(move |_: Event<UserPromptSubmit>| async move { Verdict::block(reason) })
    };
    bind("old").unwrap();
    hooks.unregister_plugin("p");
    bind("new").unwrap();
    assert_eq!(hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason, "new");
}
