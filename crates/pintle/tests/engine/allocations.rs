//! P7: no handler, no cost. A fire that reaches nobody allocates nothing.

use crate::common::{cx, cx_with, dispatch, model_pre, prompt, started, submit};
use futures_util::FutureExt;
use pintle::{
    Cx, Event, Hooks, PluginFilter, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, Suppressed,
        ToolPre, UserPromptSubmit,
    },
};

/// Fires each model once and counts what that allocates.
fn allocated_by_each(hooks: &Hooks, cx: &Cx) -> [u64; 5] {
    let count = |fire: &dyn Fn()| {
        fire();
        allocation_counter::measure(fire).count_total
    };
    [
        count(&|| hooks.fire_void(cx, started).now_or_never().unwrap().unwrap()),
        count(&|| drop(hooks.fire_modifying(cx, prompt).now_or_never().unwrap().unwrap())),
        count(&|| drop(hooks.fire_claiming(cx, dispatch).now_or_never().unwrap().unwrap())),
        count(&|| drop(hooks.fire_gate(cx, submit).now_or_never().unwrap())),
        count(&|| drop(hooks.fire_gate(cx, model_pre).now_or_never().unwrap())),
    ]
}

fn bind_everywhere(hooks: &Hooks, plugin: &str) {
    let options = || hooks.options().plugin(plugin);
    options().register_void(|_: Event<SessionOpened>| async {}).unwrap();
    options()
        .register_modifying(|_: Event<BeforePromptBuild>| async { None::<PromptPatch> })
        .unwrap();
    options().register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> }).unwrap();
    options().register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() }).unwrap();
    options().register_gate(|_: Event<ModelPre>| async { Verdict::allow() }).unwrap();
}

// P7
#[test]
fn an_empty_fire_allocates_nothing() {
    assert_eq!(allocated_by_each(&Hooks::new(), &cx()), [0; 5]);
}

// P7
#[test]
fn an_empty_fire_allocates_nothing_when_other_points_have_handlers() {
    let hooks = Hooks::new();
    for _ in 0..100 {
        hooks.register_gate(|_: Event<ToolPre>| async { Verdict::allow() }).unwrap();
    }
    assert_eq!(allocated_by_each(&hooks, &cx()), [0; 5]);
}

// P7, R4.3: nor does a fire whose plugin filter keeps everybody out, nor one whose handlers are gone.
#[test]
fn a_fire_that_reaches_nobody_allocates_nothing() {
    let hooks = Hooks::new();
    for plugin in ["a", "b"] {
        bind_everywhere(&hooks, plugin);
    }
    assert_eq!(allocated_by_each(&hooks, &cx_with(PluginFilter::BuiltinsOnly)), [0; 5]);
    assert_eq!(allocated_by_each(&hooks, &cx_with(PluginFilter::only(["c"]))), [0; 5]);
    hooks.unregister_plugin("a");
    hooks.unregister_plugin("b");
    assert_eq!(allocated_by_each(&hooks, &cx()), [0; 5]);
}

// R4.15: with no sink the record is not built; and the counter counts.
#[test]
fn a_record_is_paid_for_only_where_there_is_a_sink() {
    let hooks = Hooks::new();
    bind_everywhere(&hooks, "a");
    let unwatched = allocated_by_each(&hooks, &cx());
    assert!(unwatched.iter().all(|count| *count > 0), "the counter counts: {unwatched:?}");

    let sink = |_: std::sync::Arc<pintle::FireRecord>| {};
    let watched = allocated_by_each(&hooks, &cx().observed_by(std::sync::Arc::new(sink)));
    assert!(
        unwatched.iter().zip(watched).all(|(without, with)| *without < with),
        "{unwatched:?} {watched:?}"
    );
}
