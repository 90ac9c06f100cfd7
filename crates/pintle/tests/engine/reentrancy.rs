//! Handlers that use the registry they are bound to: R4.12.

use std::{sync::mpsc, time::Duration};

use crate::common::{Diary, cx, dispatch, model_pre, started, submit};
use pintle::{
    Event, Hooks, PluginFilter, RegisterError, Verdict,
    points::{BeforeDispatch, ModelPre, SessionOpened, Suppressed, UserPromptSubmit},
};

/// Runs `test` on a thread of its own: a deadlock fails the test instead of hanging it.
fn without_deadlock(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(Duration::from_secs(60)) {
        panic!("it hangs");
    }
    thread.join().unwrap();
}

fn block_on(future: impl Future) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future);
}

// R4.12
#[test]
fn a_handler_may_fire_its_own_point() {
    without_deadlock(|| {
        block_on(async {
            let hooks = Hooks::new();
            let diary = Diary::default();
            let (inner, note) = (hooks.clone(), diary.clone());
            hooks
                .register_void(move |e: Event<SessionOpened>| {
                    let (hooks, note) = (inner.clone(), note.clone());
                    async move {
                        note.write(format!("resumed {}", e.resumed));
                        if !e.resumed {
                            hooks
                                .fire_void(&cx(), || SessionOpened::default().resumed(true))
                                .await
                                .unwrap();
                        }
                    }
                })
                .unwrap();
            hooks.fire_void(&cx(), started).await.unwrap();
            assert_eq!(diary.lines(), ["resumed false", "resumed true"]);
        });
    });
}

// R4.12
#[test]
fn a_handler_may_fire_points_of_other_models() {
    without_deadlock(|| {
        block_on(async {
            let hooks = Hooks::new();
            let inner = hooks.clone();
            hooks
                .register_gate(move |_: Event<UserPromptSubmit>| {
                    let hooks = inner.clone();
                    async move {
                        hooks.fire_void(&cx(), started).await.unwrap();
                        let claimed = hooks.fire_claiming(&cx(), dispatch).await.unwrap();
                        claimed.map_or(Verdict::allow(), |claimed| Verdict::block(&*claimed.by))
                    }
                })
                .unwrap();
            hooks
                .named("claimer")
                .register_claiming(|_: Event<BeforeDispatch>| async { Some(Suppressed::default()) })
                .unwrap();
            assert_eq!(hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason, "claimer");
        });
    });
}

// R4.12
#[test]
fn a_handler_may_register_and_unregister_itself_and_others() {
    without_deadlock(|| {
        block_on(async {
            let hooks = Hooks::new();
            let inner = hooks.clone();
            let registration =
                std::sync::Arc::new(std::sync::OnceLock::<pintle::Registration>::new());
            let own = registration.clone();
            let bound = hooks
                .named("once")
                .register_gate(move |_: Event<ModelPre>| {
                    let (hooks, own) = (inner.clone(), own.clone());
                    async move {
                        own.get().unwrap().unregister();
                        hooks
                            .named("successor")
                            .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
                            .unwrap();
                        hooks.unregister_plugin("nobody");
                        Verdict::allow()
                    }
                })
                .unwrap();
            registration.set(bound).ok().unwrap();
            assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
            let names: Vec<_> = hooks.list().iter().map(|info| info.name.to_string()).collect();
            assert_eq!(names, ["successor"]);
        });
    });
}

// R4.12: what a handler captured may unregister when it is dropped.
#[test]
fn removing_a_handler_that_holds_another_ones_guard_removes_both() {
    without_deadlock(|| {
        let hooks = Hooks::new();
        let guard = hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap().guard();
        let holder = hooks
            .register_gate(move |_: Event<ModelPre>| {
                let _held = &guard;
                async { Verdict::allow() }
            })
            .unwrap();
        assert_eq!(hooks.list().len(), 2);
        holder.unregister();
        assert!(hooks.list().is_empty());
        assert!(!hooks.has_handlers::<SessionOpened>(&PluginFilter::All));
    });
}

// R4.12: also when its registration is refused.
#[test]
fn a_refused_handler_that_holds_a_guard_lets_go_of_it() {
    without_deadlock(|| {
        let hooks = Hooks::new();
        hooks
            .named("taken")
            .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
            .unwrap();
        let guard = hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap().guard();
        let refused = hooks.named("taken").register_gate(move |_: Event<ModelPre>| {
            let _held = &guard;
            async { Verdict::allow() }
        });
        assert!(matches!(refused.err(), Some(RegisterError::DuplicateName { .. })));
        assert!(!hooks.has_handlers::<SessionOpened>(&PluginFilter::All));
    });
}

// R4.12: a handler may own a handle to the registry it is bound to, and remove its own plugin.
#[test]
fn a_handler_may_remove_its_own_plugin() {
    without_deadlock(|| {
        block_on(async {
            let hooks = Hooks::new();
            let inner = hooks.clone();
            hooks
                .named("one")
                .plugin("p")
                .register_gate(move |_: Event<ModelPre>| {
                    assert_eq!(inner.unregister_plugin("p"), 2);
                    async { Verdict::allow() }
                })
                .unwrap();
            hooks
                .named("two")
                .plugin("p")
                .register_gate(|_: Event<ModelPre>| async { Verdict::block("gone") })
                .unwrap();
            assert!(hooks.fire_gate(&cx(), model_pre).await.verdicts.is_empty());
            assert!(hooks.list().is_empty());
        });
    });
}
