//! A gate handler may want a person to be asked. Whoever does not know how to ask is stopped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle::{
    Cx, Envelope, Event, FailureKind, Hooks, PluginGate, Verdict,
    points::{ModelPre, ToolPre, UserPromptSubmit},
};
use serde_json::json;

fn cx() -> Cx {
    Cx::new(Envelope::default(), PluginGate::All)
}

fn call() -> ToolPre {
    ToolPre { tool_call_id: "1".into(), tool_name: "buy".into(), tool_input: json!({}), zone: 4 }
}

// R3.2, P2
#[tokio::test]
async fn a_question_nobody_takes_blocks() {
    let hooks = Hooks::new();
    hooks
        .named("money")
        .register_gate(|_: Event<ToolPre>| async { Verdict::ask("it costs") })
        .unwrap();
    let mut outcome = hooks.fire_gate(&cx(), call).await;
    assert_eq!(outcome.blocked().unwrap().reason, "a person has to be asked: it costs");
    assert_eq!(outcome.take_questions().len(), 1);
    assert!(outcome.blocked().is_none());
}

#[tokio::test]
async fn every_later_handler_still_has_its_say_and_a_block_leaves_nothing_to_ask() {
    let hooks = Hooks::new();
    hooks.named("ask").register_gate(|_: Event<ToolPre>| async { Verdict::ask("may I?") }).unwrap();
    hooks.named("no").register_gate(|_: Event<ToolPre>| async { Verdict::block("never") }).unwrap();
    let mut outcome = hooks.fire_gate(&cx(), call).await;
    assert!(outcome.take_questions().is_empty());
    assert_eq!(outcome.blocked().unwrap().reason, "never");
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_question_is_a_failure_and_blocks() {
    let hooks = Hooks::new();
    hooks.register_gate(|_: Event<UserPromptSubmit>| async { Verdict::ask("may I?") }).unwrap();
    hooks.register_gate(|_: Event<ModelPre>| async { Verdict::ask("may I?") }).unwrap();
    let prompt = hooks.fire_gate(&cx(), || UserPromptSubmit { prompt: "hi".into() }).await;
    assert_eq!(prompt.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::BadOutput);
    let pre = hooks.fire_gate(&cx(), || ModelPre { model: "m".into(), message_count: 1 }).await;
    assert_eq!(pre.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::BadOutput);
}

// R13.3
#[tokio::test]
async fn asking_is_a_capability() {
    let hooks = Hooks::new();
    let registrar = hooks.named("quiet").capabilities(["output"]);
    registrar.register_gate(|_: Event<ToolPre>| async { Verdict::ask("may I?") }).unwrap();
    let outcome = hooks.fire_gate(&cx(), call).await;
    assert_eq!(outcome.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::BadOutput);
}
