//! R4.16, R4.13: many threads fire, register and unregister at once. No handler is lost, no list is torn, no fire
//! sees half a plugin.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::common::{Records, cx, model_pre, started, submit};
use futures_util::FutureExt;
use pintle::{
    Event, HandlerOutcome, Hooks, PluginFilter, Verdict,
    points::{ModelPre, SessionOpened, UserPromptSubmit},
};

/// The outcome of a fire whose handlers answer at once.
fn now<T>(fire: impl Future<Output = T>) -> T {
    fire.now_or_never().expect("its handlers answer at once")
}

const THREADS: usize = 8;

// R4.16
#[test]
fn no_handler_is_lost_when_many_threads_register_at_once() {
    const EACH: usize = 50;
    let hooks = Hooks::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let barrier = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (hooks, calls, barrier) = (hooks.clone(), calls.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                for _ in 0..EACH {
                    let calls = calls.clone();
                    hooks
                        .register_void(move |_: Event<SessionOpened>| {
                            calls.fetch_add(1, Ordering::Relaxed);
                            async {}
                        })
                        .unwrap();
                    hooks.register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    assert_eq!(hooks.list().len(), 2 * THREADS * EACH);
    let names: std::collections::BTreeSet<_> =
        hooks.list().into_iter().map(|info| (info.point, info.name)).collect();
    assert_eq!(names.len(), 2 * THREADS * EACH, "no name was given twice");
    now(hooks.fire_void(&cx(), started)).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), THREADS * EACH);
}

// R4.16: what a thread has registered it sees fire, and what it has unregistered it does not.
#[test]
fn every_thread_sees_its_own_registrations_at_once() {
    let hooks = Hooks::new();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let hooks = hooks.clone();
            thread::spawn(move || {
                let mine = PluginFilter::only([number.to_string()]);
                let cx = crate::common::cx_with(mine.clone());
                for round in 0..200 {
                    let calls = Arc::new(AtomicUsize::new(0));
                    let counted = calls.clone();
                    let registration = hooks
                        .options()
                        .plugin(number.to_string())
                        .priority(round % 3)
                        .register_void(move |_: Event<SessionOpened>| {
                            counted.fetch_add(1, Ordering::Relaxed);
                            async {}
                        })
                        .unwrap();
                    assert!(hooks.has_handlers::<SessionOpened>(&mine));
                    now(hooks.fire_void(&cx, started)).unwrap();
                    assert_eq!(calls.load(Ordering::Relaxed), 1);
                    if round % 2 == 0 {
                        registration.unregister();
                    } else {
                        assert_eq!(hooks.unregister_plugin(&number.to_string()), 1);
                    }
                    assert!(!hooks.has_handlers::<SessionOpened>(&mine));
                    now(hooks.fire_void(&cx, started)).unwrap();
                    assert_eq!(calls.load(Ordering::Relaxed), 1, "not after it was removed");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(hooks.list().is_empty());
}

// R4.16: a list is always whole and in order.
#[test]
fn a_list_taken_at_any_moment_is_whole_and_in_order() {
    let hooks = Hooks::new();
    for priority in [5, -5] {
        hooks
            .named(format!("fixed {priority}"))
            .priority(priority)
            .register_void(|_: Event<SessionOpened>| async {})
            .unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|number| {
            let (hooks, stop) = (hooks.clone(), stop.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let bound: Vec<_> = [3, -3, 0, 9]
                        .map(|priority| {
                            hooks
                                .options()
                                .priority(priority + number)
                                .register_void(|_: Event<SessionOpened>| async {})
                                .unwrap()
                        })
                        .into();
                    bound.iter().for_each(pintle::Registration::unregister);
                }
            })
        })
        .collect();
    for _ in 0..2_000 {
        let list = hooks.list();
        assert!(list.is_sorted_by(|a, b| a.priority >= b.priority), "torn: {list:?}");
        assert_eq!(list.iter().filter(|info| info.name.starts_with("fixed")).count(), 2);
    }
    stop.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(hooks.list().len(), 2);
}

/// How many handlers the plugin has at each of the two points.
const AT_MODEL_PRE: usize = 4;
const AT_SUBMIT: usize = 2;
const ROUNDS: usize = 400;

fn plugin(round: usize) -> String {
    format!("round {round}")
}

/// What a record shows of each round's plugin: who ran and who was removed, in order.
fn by_round(records: &Records) -> BTreeMap<usize, Vec<bool>> {
    let mut rounds: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for handler in records.only() {
        let round = handler.plugin.unwrap().strip_prefix("round ").unwrap().parse().unwrap();
        rounds.entry(round).or_default().push(handler.outcome != HandlerOutcome::Removed);
    }
    rounds
}

// R4.13: no fire sees half a plugin, at one point or across points.
#[test]
fn no_fire_sees_half_a_plugin() {
    let hooks = Hooks::new();
    // Rounds whose plugin is whole, and rounds whose plugin is gone: the numbers only grow.
    let (whole, gone) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let stop = Arc::new(AtomicBool::new(false));
    let seen_whole = Arc::new(AtomicUsize::new(0));
    let firing: Vec<_> = (0..3)
        .map(|_| {
            let (hooks, whole, gone) = (hooks.clone(), whole.clone(), gone.clone());
            let (stop, seen_whole) = (stop.clone(), seen_whole.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let gone_before = gone.load(Ordering::Acquire);
                    let whole_before = whole.load(Ordering::Acquire);
                    let records = Arc::new(Records::default());
                    let _ = now(hooks.fire_gate(&cx().observed_by(records.clone()), model_pre));
                    let first = by_round(&records);
                    let records = Arc::new(Records::default());
                    let _ = now(hooks.fire_gate(&cx().observed_by(records.clone()), submit));
                    let second = by_round(&records);

                    for (rounds, all) in [(&first, AT_MODEL_PRE), (&second, AT_SUBMIT)] {
                        for (&round, handlers) in rounds {
                            assert!(round > gone_before, "fired after it was removed");
                            let started_after_removal =
                                handlers.iter().skip_while(|ran| **ran).any(|ran| *ran);
                            assert!(
                                !started_after_removal,
                                "removed in more than one step: {handlers:?}"
                            );
                            if round <= whole_before {
                                assert_eq!(handlers.len(), all, "half a plugin");
                                seen_whole.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                    // Seen as removed at one point, it is gone at the other.
                    for (round, handlers) in &first {
                        if handlers.contains(&false) {
                            assert!(!second.contains_key(round), "gone here and there still");
                        }
                    }
                }
            })
        })
        .collect();

    for round in 1..=ROUNDS {
        for _ in 0..AT_MODEL_PRE {
            hooks
                .options()
                .plugin(plugin(round))
                .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
                .unwrap();
        }
        for _ in 0..AT_SUBMIT {
            hooks
                .options()
                .plugin(plugin(round))
                .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() })
                .unwrap();
        }
        whole.store(round, Ordering::Release);
        thread::yield_now();
        assert_eq!(hooks.unregister_plugin(&plugin(round)), AT_MODEL_PRE + AT_SUBMIT);
        gone.store(round, Ordering::Release);
    }
    // The last one stays until somebody has seen it whole, so that the test cannot pass by seeing nothing.
    let last = ROUNDS + 1;
    for _ in 0..AT_MODEL_PRE {
        hooks
            .options()
            .plugin(plugin(last))
            .register_gate(|_: Event<ModelPre>| async { Verdict::allow() })
            .unwrap();
    }
    for _ in 0..AT_SUBMIT {
        hooks
            .options()
            .plugin(plugin(last))
            .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() })
            .unwrap();
    }
    whole.store(last, Ordering::Release);
    let before = seen_whole.load(Ordering::Relaxed);
    while seen_whole.load(Ordering::Relaxed) == before
        && firing.iter().any(|thread| !thread.is_finished())
    {
        thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    firing.into_iter().for_each(|thread| thread.join().unwrap());
}

// R4.16, R4.8: fires that wait while others register and unregister end with what they began with.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn waiting_fires_and_writers_do_not_disturb_each_other() {
    let hooks = Hooks::new();
    hooks
        .register_void(|_: Event<SessionOpened>| async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        })
        .unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let hooks = hooks.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    let plugin = format!("p{number}");
                    hooks
                        .options()
                        .plugin(&plugin)
                        .register_void(|_: Event<SessionOpened>| async {})
                        .unwrap();
                    hooks.fire_void(&cx(), started).await.unwrap();
                    assert_eq!(hooks.unregister_plugin(&plugin), 1);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(hooks.list().len(), 1);
}
