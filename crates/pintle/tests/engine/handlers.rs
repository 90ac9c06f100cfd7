//! What a handler may be: async or not, fallible or not, typed or by name.

use pintle::{
    Cx, DynEvent, Event, Failure, FailureKind, Hooks, ModelKind, Verdict,
    points::{
        BeforeDispatch, BeforePromptBuild, PromptPatch, SessionOpened, Suppressed, ToolPre,
        UserPromptSubmit,
    },
};
use serde_json::{Value, json};

use crate::common::{Diary, dispatch, prompt, started, submit, tool};

#[tokio::test]
async fn a_handler_that_is_not_async_answers_under_every_model() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    let seen = diary.clone();
    hooks.register_void(move |_: Event<SessionOpened>| seen.write("void")).unwrap();
    let patch = PromptPatch::default().append_system("x");
    hooks.register_modifying(move |_: Event<BeforePromptBuild>| Some(patch.clone())).unwrap();
    hooks.register_claiming(|_: Event<BeforeDispatch>| Some(Suppressed::default())).unwrap();
    hooks.register_gate(|_: Event<ToolPre>| Verdict::block("no")).unwrap();

    let cx = Cx::test();
    hooks.fire_void(&cx, started).await.unwrap();
    assert_eq!(diary.lines(), ["void"]);
    let merged = hooks.fire_modifying(&cx, prompt).await.unwrap();
    assert_eq!(merged.append_system.as_deref(), Some("x"));
    assert!(hooks.fire_claiming(&cx, dispatch).await.unwrap().is_some());
    assert_eq!(hooks.fire_gate(&cx, || tool("read")).await.blocked().unwrap().reason, "no");
}

// R3.2
#[tokio::test]
async fn a_handler_that_is_not_async_fails_closed_like_any_other() {
    fn unreadable(_: Event<UserPromptSubmit>) -> Result<Verdict, Failure> {
        let _: u16 = "not a port".parse()?;
        Ok(Verdict::allow())
    }
    fn panics(_: Event<UserPromptSubmit>) -> Verdict {
        panic!("on purpose")
    }
    for (kind, registered) in [
        (FailureKind::Errored, {
            let hooks = Hooks::new();
            hooks.register_gate(unreadable).unwrap();
            hooks
        }),
        (FailureKind::Panicked, {
            let hooks = Hooks::new();
            hooks.register_gate(panics).unwrap();
            hooks
        }),
    ] {
        let outcome = registered.fire_gate(&Cx::test(), submit).await;
        assert_eq!(outcome.blocked().unwrap().failure.as_ref().unwrap().kind, kind);
    }
}

#[tokio::test]
async fn a_handler_by_name_may_be_async_or_not_and_fallible_or_not() {
    fn block() -> Value {
        json!({ "continue": false, "reason": "frozen" })
    }
    let by_name = |register: &dyn Fn(&Hooks)| {
        let hooks = Hooks::new();
        register(&hooks);
        hooks
    };
    let at = |hooks: &Hooks| hooks.named("h");
    for hooks in [
        by_name(&|hooks| {
            at(hooks).register_dyn("tool.pre", ModelKind::Gate, |_: DynEvent| block()).unwrap();
        }),
        by_name(&|hooks| {
            let handler = async |_: DynEvent| block();
            at(hooks).register_dyn("tool.pre", ModelKind::Gate, handler).unwrap();
        }),
        by_name(&|hooks| {
            let handler = |_: DynEvent| Ok::<Value, Failure>(block());
            at(hooks).register_dyn("tool.pre", ModelKind::Gate, handler).unwrap();
        }),
        by_name(&|hooks| {
            let handler = |_: DynEvent| async { Err::<Value, _>(Failure::bad_output("frozen")) };
            at(hooks).register_dyn("tool.pre", ModelKind::Gate, handler).unwrap();
        }),
    ] {
        let outcome = hooks.fire_gate(&Cx::test(), || tool("read")).await;
        assert!(outcome.blocked().unwrap().reason.contains("frozen"));
    }
}
