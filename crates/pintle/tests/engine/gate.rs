//! How a Gate combines: R3.2, R3.3, R3.4, R7.1, and the Gate row of §3.

use crate::common::{cx, model_pre, submit, watched};
use pintle::{
    DynOutcome, Event, Failure, FailureKind, FailurePolicy, Hooks, Point, PointInfo, RegisterError,
    Verdict,
    points::{AgentDone, ModelPre, SessionEnd, ToolPre, UserPromptSubmit},
};
use serde_json::json;

// R3.4
#[tokio::test]
async fn at_a_binding_point_the_first_block_ends_the_chain() {
    let (hooks, records) = watched();
    hooks
        .named("allows")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() })
        .unwrap();
    hooks
        .named("blocks")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("no") })
        .unwrap();
    hooks
        .named("never")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("also no") })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), submit).await;
    assert_eq!(outcome.verdicts.len(), 1);
    let block = outcome.blocked().unwrap();
    assert_eq!((&*block.handler, &*block.reason, &block.failure), ("blocks", "no", &None));
    assert_eq!(records.outcomes(), [("allows".into(), "allowed"), ("blocks".into(), "blocked")]);
}

// R3.4: one bad observer must not silence the next.
#[tokio::test]
async fn at_an_advisory_point_a_block_does_not_stop_later_handlers() {
    let (hooks, records) = watched();
    hooks
        .named("blocks")
        .register_gate(|_: Event<ModelPre>| async { Verdict::block("no") })
        .unwrap();
    hooks
        .named("crashes")
        .register_gate(|_: Event<ModelPre>| async {
            if true {
                panic!("oh no")
            }
            Verdict::allow()
        })
        .unwrap();
    hooks
        .named("speaks")
        .register_gate(|_: Event<ModelPre>| async { Verdict::allow().with_context("hello") })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), model_pre).await;
    let reasons: Vec<_> = outcome.objections().map(|block| &*block.reason).collect();
    assert_eq!(reasons, ["no", "`crashes` panicked: oh no"]);
    assert_eq!(outcome.verdicts.len(), 3);
    assert_eq!(outcome.verdicts[2].additional_context.as_deref(), Some("hello"));
    assert_eq!(
        records.outcomes(),
        [
            ("blocks".into(), "blocked"),
            ("crashes".into(), "panicked"),
            ("speaks".into(), "allowed"),
        ]
    );
}

// R3.4
#[test]
fn the_point_says_whether_a_block_is_binding() {
    assert_eq!(PointInfo::of::<ToolPre>().binding, Some(true));
    assert_eq!(PointInfo::of::<UserPromptSubmit>().binding, Some(true));
    let binding: Vec<_> = Hooks::new()
        .known_points()
        .into_iter()
        .filter_map(|info| info.binding.map(|binding| (info.name, binding)))
        .collect();
    assert_eq!(
        binding,
        [
            ("error", false),
            ("model.post", false),
            ("model.pre", false),
            ("session.end", false),
            ("session.start", false),
            ("tool.post", false),
            ("tool.pre", true),
            ("user.prompt.submit", true),
        ]
    );
    assert_eq!(SessionEnd::NAME, "session.end");
}

// R3.2: a block that was decided and a block that is a failure can be told apart.
#[tokio::test]
async fn a_failure_is_never_confused_with_a_verdict() {
    let hooks = Hooks::new();
    hooks
        .named("broken")
        .register_gate(|_: Event<UserPromptSubmit>| async {
            let port: u16 = "not a port".parse()?;
            Ok::<_, Failure>(if port > 0 { Verdict::allow() } else { Verdict::block("no port") })
        })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), submit).await;
    let block = outcome.blocked().unwrap();
    assert_eq!(block.failure.as_ref().unwrap().kind, FailureKind::Errored);
    assert_eq!(block.reason, "`broken` returned an error: invalid digit found in string");
}

// R3.3
#[test]
fn a_gate_cannot_be_loosened() {
    let hooks = Hooks::new();
    let refused = hooks
        .options()
        .failure_policy(FailurePolicy::FailOpen)
        .register_gate(|_: Event<ToolPre>| async { Verdict::allow() });
    assert_eq!(refused.err(), Some(RegisterError::Loosened { point: "tool.pre" }));
    assert!(hooks.list().is_empty());
}

// R4.6 in spirit: a block without words is a block.
#[tokio::test]
async fn a_block_with_an_empty_reason_still_blocks_and_says_who() {
    let hooks = Hooks::new();
    hooks
        .named("mute")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::block("") })
        .unwrap();
    assert_eq!(hooks.fire_gate(&cx(), submit).await.blocked().unwrap().reason, "blocked by mute");
}

// R7.1: allow and block both may carry output and context, and a block's context is kept.
#[tokio::test]
async fn what_handlers_say_besides_is_kept_in_order() {
    let hooks = Hooks::new();
    hooks
        .named("quiet")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() })
        .unwrap();
    hooks
        .named("shows")
        .register_gate(|_: Event<UserPromptSubmit>| async {
            Verdict::allow().with_output("1 file")
        })
        .unwrap();
    hooks
        .named("blocks")
        .register_gate(|_: Event<UserPromptSubmit>| async {
            Verdict::block("off limits").with_context("use staging").with_output("denied")
        })
        .unwrap();
    assert_eq!(
        serde_json::to_value(DynOutcome::from(hooks.fire_gate(&cx(), submit).await)).unwrap(),
        json!({
            "continue": false,
            "blocks": [{
                "handler": "blocks",
                "reason": "off limits",
                "output": "denied",
                "additionalContext": "use staging",
            }],
            "notes": [{ "handler": "shows", "output": "1 file" }],
        })
    );
}

// §3
#[tokio::test]
async fn nobody_at_the_gate_is_an_allow() {
    let outcome = Hooks::new().fire_gate(&cx(), submit).await;
    assert!(outcome.blocked().is_none() && outcome.verdicts.is_empty());
}

#[tokio::test]
async fn a_handler_in_shadow_mode_is_recorded_and_has_no_effect() {
    let (hooks, records) = watched();
    let shadow = |name: &str| hooks.named(name).shadow(true);
    shadow("blocks")
        .register_gate(|_: Event<UserPromptSubmit>| async {
            Verdict::block("no").with_context("psst")
        })
        .unwrap();
    shadow("crashes")
        .register_gate(|_: Event<UserPromptSubmit>| async {
            if true {
                panic!("oh no")
            }
            Verdict::allow()
        })
        .unwrap();
    hooks
        .named("decides")
        .register_gate(|_: Event<UserPromptSubmit>| async { Verdict::allow() })
        .unwrap();
    let outcome = hooks.fire_gate(&cx(), submit).await;
    assert!(outcome.verdicts.is_empty(), "{outcome:?}");
    assert_eq!(
        records.outcomes(),
        [
            ("blocks".into(), "blocked"),
            ("crashes".into(), "panicked"),
            ("decides".into(), "allowed")
        ]
    );
    assert!(hooks.list().iter().all(|info| info.shadow == (&*info.name != "decides")));
}

#[test]
fn only_a_gate_has_a_shadow() {
    let hooks = Hooks::new();
    let refused = hooks.options().shadow(true).register_void(async |_: Event<AgentDone>| {});
    assert_eq!(refused.err(), Some(RegisterError::NoShadow { point: AgentDone::NAME }));
}
