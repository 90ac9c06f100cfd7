//! A gate handler may want a person to be asked. A caller that does not ask is stopped.

use pintle::{
    Cx, DynEvent, Event, FailureKind, Hooks, ModelKind, Point, Verdict,
    points::{ModelPre, ToolPre, UserPromptSubmit},
};
use proptest::{collection::hash_map, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::common::cases;

fn call() -> ToolPre {
    ToolPre::default().tool_call_id("1").tool_name("buy").tool_input(json!({})).zone(4)
}

// R3.2, P2
#[tokio::test]
async fn a_question_nobody_takes_blocks() {
    let hooks = Hooks::new();
    hooks.named("money").register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "it costs")).unwrap();
    let mut outcome = hooks.fire_gate(&Cx::test(), call).await;
    assert_eq!(outcome.blocked().unwrap().reason, "it costs");
    assert_eq!(outcome.take_questions().len(), 1);
    assert!(outcome.blocked().is_none());
}

#[tokio::test]
async fn every_later_handler_still_has_its_say_and_a_block_leaves_nothing_to_ask() {
    let hooks = Hooks::new();
    hooks.named("ask").register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "may I?")).unwrap();
    hooks.named("no").register_gate(|_: Event<ToolPre>| async { Verdict::block("never") }).unwrap();
    let mut outcome = hooks.fire_gate(&Cx::test(), call).await;
    assert!(outcome.take_questions().is_empty());
    assert_eq!(outcome.blocked().unwrap().reason, "never");
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_question_is_a_failure_and_blocks() {
    let hooks = Hooks::new();
    let ask = |_: DynEvent| json!({ "decision": "ask", "reason": "may I?" });
    hooks.register_dyn(UserPromptSubmit::NAME, ModelKind::Gate, ask).unwrap();
    hooks.register_dyn(ModelPre::NAME, ModelKind::Gate, ask).unwrap();
    let prompt = hooks.fire_gate(&Cx::test(), || UserPromptSubmit::default().prompt("hi")).await;
    assert_eq!(prompt.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::BadOutput);
    let pre =
        hooks.fire_gate(&Cx::test(), || ModelPre::default().model("m").message_count(1)).await;
    assert_eq!(
        pre.objections().next().unwrap().failure.as_ref().unwrap().kind,
        FailureKind::BadOutput
    );
}

// R13.3
#[tokio::test]
async fn asking_is_a_capability() {
    let hooks = Hooks::new();
    let registrar = hooks.named("quiet").capabilities(["output"]);
    registrar.register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "may I?")).unwrap();
    let outcome = hooks.fire_gate(&Cx::test(), call).await;
    assert_eq!(outcome.blocked().unwrap().failure.as_ref().unwrap().kind, FailureKind::BadOutput);
}

/// Objects that look like verdicts, ours or another agent's, more often than chance would have it.
fn answers() -> impl Strategy<Value = Map<String, Value>> {
    let words = ["allow", "approve", "ask", "block", "deny", "", "maybe"];
    let value = || {
        prop_oneof![
            select(words.to_vec()).prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
            Just(json!({})),
        ]
    };
    let inner = [
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "additionalContext",
        "updatedInput",
        "decision",
    ];
    let inner = hash_map(select(inner.to_vec()).prop_map(String::from), value(), 0..4);
    let outer = [
        "continue",
        "decision",
        "reason",
        "stopReason",
        "output",
        "systemMessage",
        "permission",
        "updatedInput",
        "hookSpecificOutput",
    ];
    let outer = hash_map(select(outer.to_vec()).prop_map(String::from), value(), 0..5);
    (outer, proptest::option::of(inner)).prop_map(|(outer, inner)| {
        let mut object = Map::from_iter(outer);
        if let Some(inner) = inner {
            object.insert("hookSpecificOutput".into(), Map::from_iter(inner).into());
        }
        object
    })
}

proptest! {
    #![proptest_config(cases(500))]

    // R8.2: an answer can tighten what silence would give, never loosen it, wherever it stands in the chain.
    #[test]
    fn no_answer_in_json_takes_away_anothers_block_or_question(answer in answers(), priority in -1..2_i32) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for blocks in [false, true] {
            let hooks = Hooks::new();
            let answer = Value::from(answer.clone());
            let json = move |_: DynEvent| answer.clone();
            hooks.named("json").priority(priority).register_dyn("tool.pre", ModelKind::Gate, json).unwrap();
            hooks.named("other").register_gate(move |e: Event<ToolPre>| {
                if blocks { Verdict::block("never") } else { Verdict::ask(&e, "sure?") }
            }).unwrap();
            let mut outcome = runtime.block_on(hooks.fire_gate(&Cx::test(), call));
            prop_assert!(outcome.blocked().is_some());
            let asked = outcome.take_questions().iter().any(|question| question.reason == "sure?");
            prop_assert!(outcome.blocked().is_some() || (asked && !blocks));
        }
    }
}
