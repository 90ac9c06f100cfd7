//! How handlers are bound, ordered, listed and removed: R4.1, R4.2, R4.14.

use std::time::Duration;

use crate::common::{
    Diary, cx, cx_with, dispatch, model_pre, prompt, started, submit, tool, watched,
};
use pintle::{
    DynEvent, Event, Failure, FailurePolicy, Hooks, ModelKind, PluginFilter, RegisterError,
    Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, ModelPre, PromptPatch, SessionOpened, Suppressed,
        ToolPre, UserPromptSubmit,
    },
};
use serde_json::json;

/// Binds a Void handler that writes its name.
fn observe(hooks: &Hooks, diary: &Diary, name: &'static str, priority: i32) {
    let diary = diary.clone();
    hooks
        .named(name)
        .priority(priority)
        .register_void(move |_: Event<SessionOpened>| {
            diary.write(name);
            async {}
        })
        .unwrap();
}

// R4.1
#[tokio::test]
async fn each_model_has_its_register_and_its_fire() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    let note = diary.clone();
    hooks
        .register_void(move |e: Event<SessionOpened>| {
            note.write(format!("resumed {}", e.resumed));
            async {}
        })
        .unwrap();
    hooks
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("more"))
        })
        .unwrap();
    hooks
        .register_claiming(|_: Event<BeforeDispatch>| async { Some(Suppressed::default()) })
        .unwrap();
    hooks.register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("no") }).unwrap();

    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["resumed false"]);
    let merged = hooks.fire_modifying(&cx(), prompt).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("more"));
    assert!(hooks.fire_claiming(&cx(), dispatch).await.unwrap().is_some());
    assert_eq!(hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason, "no");
}

// R4.1
#[tokio::test]
async fn unregister_removes_exactly_that_registration_and_twice_is_harmless() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    let handler = |line: &'static str| {
        let diary = diary.clone();
        move |_: Event<SessionOpened>| {
            diary.write(line);
            async {}
        }
    };
    let first = hooks.register_void(handler("first")).unwrap();
    let _second = hooks.register_void(handler("second")).unwrap();
    first.unregister();
    first.unregister();
    first.clone().unregister();
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["second"]);
}

// R4.1
#[tokio::test]
async fn the_same_function_registered_twice_is_two_registrations() {
    async fn gate(_: Event<ModelPre>) -> Verdict {
        Verdict::allow().with_output("seen")
    }
    let hooks = Hooks::new();
    let one = hooks.register_gate(gate).unwrap();
    let two = hooks.register_gate(gate).unwrap();
    assert_ne!(one.name(), two.name());
    assert_eq!(hooks.fire_gate(&cx(), model_pre).await.verdicts.len(), 2);
    one.unregister();
    assert_eq!(hooks.fire_gate(&cx(), model_pre).await.verdicts.len(), 1);
}

// R4.1
#[tokio::test]
async fn dropping_a_handle_removes_nothing_and_a_handle_outlives_its_registry() {
    let hooks = Hooks::new();
    drop(hooks.register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("no") }).unwrap());
    assert!(hooks.fire_gate(&cx(), submit).await.blocked().is_some());

    let registration = hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();
    drop(hooks);
    registration.unregister();
}

// R4.2
#[tokio::test]
async fn higher_priority_runs_first_and_ties_keep_registration_order() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    for (name, priority) in [("c", 0), ("d", 0), ("a", 10), ("f", -1), ("b", 10), ("e", 0)] {
        observe(&hooks, &diary, name, priority);
    }
    hooks.fire_void(&cx(), started).await.unwrap();
    assert_eq!(diary.lines(), ["a", "b", "c", "d", "e", "f"]);
}

// R4.2
#[test]
fn a_handler_without_a_name_is_called_by_point_and_counter() {
    let hooks = Hooks::new();
    let bind = || hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();
    assert_eq!(bind().name(), "session_start#1");
    let second = bind();
    assert_eq!(second.name(), "session_start#2");
    second.unregister();
    assert_eq!(bind().name(), "session_start#3", "a name is not given again");

    hooks.named("session_start#4").register_void(|_: Event<SessionOpened>| async {}).unwrap();
    assert_eq!(bind().name(), "session_start#5", "nor one that somebody chose");
}

// R4.2
#[tokio::test]
async fn a_handler_bound_to_tools_is_not_even_called_for_others() {
    let hooks = Hooks::new();
    hooks
        .named("writes")
        .tools(["write_*", "edit_file"])
        .register_gate(|_: Event<ToolPre>| async { Verdict::block("read only") })
        .unwrap();
    for (name, blocked) in
        [("write_file", true), ("edit_file", true), ("read_file", false), ("rewrite_x", false)]
    {
        let outcome = hooks.fire_gate(&cx(), || tool(name)).await;
        assert_eq!(outcome.blocked().is_some(), blocked, "{name}");
    }
}

// R4.2, R13.3
#[tokio::test]
async fn an_answer_beyond_its_capabilities_is_a_failure_and_not_an_effect() {
    let hooks = Hooks::new();
    hooks
        .named("too-much")
        .capabilities(["appendSystem"])
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("fine").override_system("mine"))
        })
        .unwrap();
    hooks
        .named("modest")
        .capabilities(["prependSystem"])
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().prepend_system("first"))
        })
        .unwrap();
    let merged = hooks.fire_modifying(&cx(), prompt).await.unwrap();
    let expected = PromptPatch::default().prepend_system("first");
    assert_eq!(merged.patch, expected);

    hooks
        .named("may-not-claim")
        .capabilities(Vec::<String>::new())
        .fail_closed()
        .register_claiming(|_: Event<BeforeDispatch>| async { Some(Suppressed::default()) })
        .unwrap();
    assert_eq!(
        hooks.fire_claiming(&cx(), dispatch).await.unwrap_err().to_string(),
        "`may-not-claim` at before_dispatch gave an answer that cannot be understood: its capabilities do not \
         include `claim`, and it is registered fail-closed"
    );
}

// R4.14
#[test]
fn has_handlers_counts_only_those_that_would_fire() {
    let hooks = Hooks::new();
    let reaches = |gate: &PluginFilter| hooks.has_handlers::<SessionOpened>(gate);
    assert!(!reaches(&PluginFilter::All));

    hooks.options().plugin("a").register_void(|_: Event<SessionOpened>| async {}).unwrap();
    assert!(reaches(&PluginFilter::All));
    assert!(reaches(&PluginFilter::only(["a"])));
    assert!(!reaches(&PluginFilter::only(["b"])));
    assert!(!reaches(&PluginFilter::BuiltinsOnly));
    assert!(!hooks.has_handlers_dyn("session_start", &PluginFilter::BuiltinsOnly).unwrap());
    assert!(hooks.has_handlers_dyn("session_start", &PluginFilter::All).unwrap());
    assert!(matches!(
        hooks.has_handlers_dyn("sesion_start", &PluginFilter::All),
        Err(RegisterError::UnknownPoint { nearest: Some("session_start"), .. })
    ));

    hooks.unregister_plugin("a");
    assert!(!reaches(&PluginFilter::All));
}

// R4.14
#[test]
fn list_shows_everything_about_a_registration() {
    let hooks = Hooks::new();
    hooks
        .named("no-prod")
        .plugin("safety")
        .priority(7)
        .deadline(Duration::from_secs(2))
        .tools(["write_*"])
        .capabilities(["block"])
        .source("agent.json:14")
        .register_gate(|_: Event<ToolPre>| async { Verdict::allow() })
        .unwrap();
    hooks.register_void(|_: Event<SessionOpened>| async {}).unwrap();

    let list = hooks.list();
    assert_eq!(
        list.iter().map(|info| info.point).collect::<Vec<_>>(),
        ["session_start", "tool.pre"]
    );
    let plain = &list[0];
    assert_eq!((plain.model, plain.deadline), (ModelKind::Void, None));
    assert_eq!((plain.policy, plain.priority), (FailurePolicy::FailOpen, 0));
    assert!(plain.source.to_string().contains("registration.rs:"), "{}", plain.source);
    assert_eq!(
        serde_json::to_value(&list[1]).unwrap(),
        json!({
            "point": "tool.pre",
            "model": "gate",
            "name": "no-prod",
            "plugin": "safety",
            "priority": 7,
            "deadline": { "secs": 2, "nanos": 0 },
            "policy": "fail-closed",
            "tools": ["write_*"],
            "capabilities": ["block"],
            "source": "agent.json:14",
        })
    );
}

// R4.14: the list is in the order of running, whatever the order of registering.
#[test]
fn list_shows_handlers_of_a_point_in_the_order_they_run() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    observe(&hooks, &diary, "late", -5);
    observe(&hooks, &diary, "early", 5);
    let names: Vec<_> = hooks.list().iter().map(|info| info.name.to_string()).collect();
    assert_eq!(names, ["early", "late"]);
}

// R3.1
#[test]
fn a_dynamic_registration_under_another_model_is_an_error_and_registers_nothing() {
    let hooks = Hooks::new();
    for (point, is) in [
        ("session_start", ModelKind::Void),
        ("before_prompt_build", ModelKind::Modifying),
        ("before_dispatch", ModelKind::Claiming),
        ("tool.pre", ModelKind::Gate),
    ] {
        for asked in [ModelKind::Void, ModelKind::Modifying, ModelKind::Claiming, ModelKind::Gate] {
            if asked == is {
                continue;
            }
            let refused = hooks
                .register_dyn(point, asked, |_: DynEvent| async { Ok::<_, Failure>(json!(null)) });
            assert_eq!(
                refused.unwrap_err().to_string(),
                format!("{point} is a {is} point; a {asked} handler cannot be bound to it")
            );
        }
    }
    assert!(hooks.list().is_empty());
}

// R3.3, R4.2
#[test]
fn every_handler_has_the_policy_of_its_model_or_a_tighter_one() {
    let hooks = Hooks::new();
    hooks.register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> }).unwrap();
    hooks
        .options()
        .priority(-1)
        .failure_policy(FailurePolicy::FailClosed)
        .register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> })
        .unwrap();
    hooks
        .options()
        .fail_closed()
        .register_gate(|_: Event<ToolPre>| async { Verdict::allow() })
        .unwrap();
    let policies: Vec<_> = hooks.list().iter().map(|info| info.policy).collect();
    use FailurePolicy::{FailClosed, FailOpen};
    assert_eq!(policies, [FailOpen, FailClosed, FailClosed]);
    assert!(!hooks.has_handlers::<ModelPre>(cx_with(PluginFilter::All).plugins()));
}

// More handlers than a thread keeps seats for, with futures of two types and two sets of capabilities in turns.
#[tokio::test]
async fn hundreds_of_handlers_each_answer_for_themselves() {
    let (hooks, records) = watched();
    for n in 0..600 {
        let options = hooks.named(format!("h{n}"));
        let options = if n % 3 == 0 { options.capabilities(["output"]) } else { options };
        if n % 2 == 0 {
            options.register_gate(move |_: Event<ModelPre>| async move {
                Verdict::block(format!("{n}"))
            })
        } else {
            options.register_gate(move |_: Event<ModelPre>| async { Verdict::allow() })
        }
        .unwrap();
    }
    for _ in 0..2 {
        let outcome = hooks.fire_gate(&cx(), model_pre).await;
        assert_eq!(outcome.objections().count(), 300);
        for (n, record) in records.all().pop().unwrap().handlers.iter().enumerate() {
            let expected = match (n % 2, n % 3) {
                (0, 0) => "bad_output",
                (0, _) => "blocked",
                _ => "allowed",
            };
            assert_eq!(record.outcome.name(), expected, "h{n}");
        }
    }
}
