//! A reload: a handler takes the place of the one with its name.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use futures_util::FutureExt;
use pintle::{
    Cx, DynEvent, Event, Hooks, ModelKind, RegisterError, Verdict,
    points::{AgentDone, ModelPre, SessionOpened},
};

use crate::common::{model_pre, watched};

fn says(hooks: &Hooks, name: &str, priority: i32, says: &'static str) {
    let registrar = hooks.named(name).priority(priority).replace();
    registrar.register_gate(move |_: Event<ModelPre>| Verdict::block(says)).unwrap();
}

#[tokio::test]
async fn a_replacement_keeps_the_place_of_the_handler_it_replaces() {
    let hooks = Hooks::new();
    for name in ["a", "b", "c"] {
        says(&hooks, name, 0, "old");
    }
    says(&hooks, "b", 0, "new");
    let said = |advice: pintle::Advice| -> Vec<String> {
        advice.verdicts.iter().map(|said| format!("{} {}", said.handler, said.reason)).collect()
    };
    let cx = Cx::test();
    assert_eq!(said(hooks.fire_gate(&cx, model_pre).await), ["a old", "b new", "c old"]);
    says(&hooks, "b", 1, "first");
    assert_eq!(said(hooks.fire_gate(&cx, model_pre).await), ["b first", "a old", "c old"]);
}

#[test]
fn without_replace_a_name_that_is_taken_is_still_an_error() {
    let hooks = Hooks::new();
    says(&hooks, "a", 0, "old");
    let refused = hooks.named("a").register_gate(|_: Event<ModelPre>| Verdict::allow());
    assert!(matches!(refused, Err(RegisterError::DuplicateName { .. })));
}

#[test]
fn the_handle_of_a_replaced_handler_does_not_remove_its_replacement() {
    let hooks = Hooks::new();
    let old = hooks.named("a").register_gate(|_: Event<ModelPre>| Verdict::allow()).unwrap();
    says(&hooks, "a", 0, "new");
    old.unregister();
    assert_eq!(hooks.list().len(), 1);
}

// R4.8
#[test]
fn a_fire_under_way_goes_on_with_the_handler_that_was_replaced() {
    let (hooks, records) = watched();
    let reload = hooks.clone();
    hooks
        .named("first")
        .register_gate(move |_: Event<ModelPre>| {
            says(&reload, "guard", 0, "new");
            Verdict::allow()
        })
        .unwrap();
    says(&hooks, "guard", 0, "old");
    let advice = hooks.fire_gate(&Cx::test(), model_pre).now_or_never().unwrap();
    assert_eq!(advice.verdicts[0].reason, "old");
    assert_eq!(records.outcomes(), [("first".into(), "allowed"), ("guard".into(), "blocked")]);
}

// R4.16
#[test]
fn while_a_handler_is_replaced_no_fire_sees_none_or_two() {
    let hooks = Hooks::new();
    says(&hooks, "guard", 0, "0");
    let over = Arc::new(AtomicBool::new(false));
    let fired = Arc::new(AtomicUsize::new(0));
    let firing: Vec<_> = (0..3)
        .map(|_| {
            let (hooks, over, fired) = (hooks.clone(), over.clone(), fired.clone());
            thread::spawn(move || {
                let cx = Cx::test();
                while !over.load(Ordering::Relaxed) {
                    let advice = hooks.fire_gate(&cx, model_pre).now_or_never().unwrap();
                    assert_eq!(advice.verdicts.len(), 1);
                    fired.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut round = 0;
    // As long as it takes the others to fire often, and at least this often.
    while round < 2_000 || fired.load(Ordering::Relaxed) < 2_000 {
        says(&hooks, "guard", round % 2, "again");
        round += 1;
    }
    over.store(true, Ordering::Relaxed);
    firing.into_iter().for_each(|thread| thread.join().unwrap());
}

fn staged(hooks: &Hooks, plugin: &str, name: &str, point: &str) -> pintle::Staged {
    let registrar = hooks.named(name).plugin(plugin);
    let model = if point == "before_prompt_build" { ModelKind::Modifying } else { ModelKind::Void };
    registrar.stage_dyn(point, model, |_: DynEvent| serde_json::Value::Null).unwrap()
}

// R13.1
#[test]
fn the_handlers_of_a_plugin_come_and_go_in_one_step() {
    let hooks = Hooks::new();
    let first = ["session_start", "agent_done"].map(|point| staged(&hooks, "p", "p", point));
    assert!(hooks.list().is_empty(), "what is staged is not in force");
    assert_eq!(hooks.replace_plugin("p", first.into()), Ok(0));
    assert_eq!(hooks.replace_plugin("p", vec![staged(&hooks, "p", "p", "agent_done")]), Ok(2));
    let points: Vec<_> = hooks.list().iter().map(|it| it.point).collect();
    assert_eq!(points, ["agent_done"]);
    assert_eq!(hooks.replace_plugin("p", Vec::new()), Ok(1));
    assert!(hooks.list().is_empty());
}

// R13.1
#[tokio::test]
async fn a_replacement_that_is_refused_changes_nothing_and_what_was_there_still_fires() {
    let (hooks, records) = watched();
    hooks.named("taken").register_void(|_: Event<AgentDone>| ()).unwrap();
    hooks.replace_plugin("p", vec![staged(&hooks, "p", "p", "session_start")]).unwrap();
    let fresh = vec![
        staged(&hooks, "p", "p", "before_prompt_build"),
        staged(&hooks, "p", "taken", "agent_done"),
    ];
    let refused = hooks.replace_plugin("p", fresh);
    assert!(matches!(refused, Err(RegisterError::DuplicateName { .. })));
    let other = hooks.replace_plugin("p", vec![staged(&hooks, "q", "q", "session_start")]);
    assert!(matches!(other, Err(RegisterError::OtherPlugin { .. })));
    // A later removal must not take along what the refused one had marked.
    hooks.unregister_plugin("nobody");
    hooks.fire_void(&Cx::test(), SessionOpened::default).await.unwrap();
    assert_eq!(records.outcomes(), [("p".into(), "finished")]);
    assert_eq!(hooks.list().len(), 2);
}
