//! The by-name face: JSON in and out, with typed errors. R3.1, R4.5, R4.7, R5.1, R7.1, R13.3.

use crate::common::{Diary, Records, cx, watched};
use pintle::{
    DynEvent, DynFireError, DynOutcome, Event, Failure, FailureKind, HandlerOutcome, Hooks,
    ModelKind, RegisterError, Verdict, points::BeforePromptBuild, points::PromptPatch,
    points::UserPromptSubmit,
};
use serde_json::{Value, json};

/// Binds a dynamic handler that always answers `answer`.
fn says(hooks: &Hooks, name: &str, point: &str, model: ModelKind, answer: Value) {
    hooks
        .named(name)
        .register_dyn(point, model, move |_: DynEvent| {
            let answer = answer.clone();
            async move { Ok::<_, Failure>(answer) }
        })
        .unwrap();
}

const MODIFYING: (&str, ModelKind) = ("before_prompt_build", ModelKind::Modifying);
const CLAIMING: (&str, ModelKind) = ("before_ticket_complete", ModelKind::Claiming);
const GATE: (&str, ModelKind) = ("user.prompt.submit", ModelKind::Gate);
const ADVISORY: (&str, ModelKind) = ("session.end", ModelKind::Gate);

fn payload(point: &str) -> Value {
    match point {
        "before_prompt_build" => json!({ "history": [], "system": "You help." }),
        "before_ticket_complete" => json!({ "taskId": "t", "summary": "done" }),
        "user.prompt.submit" => json!({ "prompt": "hi" }),
        "session.end" => json!({ "reason": "end_turn" }),
        _ => json!({ "resumed": false }),
    }
}

/// One handler, one answer: what comes out, and what the record says of it.
async fn answered(
    (point, model): (&str, ModelKind),
    answer: Value,
) -> (DynOutcome, HandlerOutcome, Vec<String>) {
    let (hooks, records) = watched();
    says(&hooks, "h", point, model, answer);
    let outcome = hooks.fire_dyn(point, &cx(), payload(point)).await.unwrap();
    let handler = records.only().remove(0);
    (outcome, handler.outcome, handler.notes)
}

fn bad(detail: &str) -> HandlerOutcome {
    HandlerOutcome::Failed(Failure::new(FailureKind::BadOutput, detail))
}

#[tokio::test]
async fn an_unknown_point_is_an_error_that_names_the_nearest() {
    let hooks = Hooks::new();
    let error = hooks.fire_dyn("before_tool_cal", &cx(), json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no hook point `before_tool_cal`; did you mean `before_tool_call`?"
    );
    let error = hooks.fire_dyn("frobnicate", &cx(), json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no hook point `frobnicate`");
    let refused = hooks.register_dyn("tool.pree", ModelKind::Gate, |_: DynEvent| async {
        Ok::<_, Failure>(json!(null))
    });
    assert_eq!(
        refused.err(),
        Some(RegisterError::UnknownPoint { point: "tool.pree".into(), nearest: Some("tool.pre") })
    );
    assert!(hooks.list().is_empty());
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_an_error_that_says_what_and_where() {
    let hooks = Hooks::new();
    for (point, payload, detail) in [
        ("session_start", json!([]), "it is not a JSON object"),
        ("session_start", json!({}), "missing field `resumed`"),
        (
            "session_start",
            json!({ "resumed": false, "resumd": 1 }),
            "unknown field `resumd`; its fields are resumed",
        ),
        (
            "session_start",
            json!({ "resumed": "yes" }),
            "`resumed`: invalid type: string \"yes\", expected a boolean",
        ),
        (
            "tool.pre",
            json!({ "toolCallId": "t", "toolInput": {}, "zone": 1 }),
            "missing field `toolName`",
        ),
        (
            "tool.pre",
            json!({ "toolCallId": "t", "toolName": "x", "toolInput": {}, "zone": 256 }),
            "`zone`: invalid value: integer `256`, expected u8",
        ),
        (
            "message_received",
            json!({ "message": { "id": "m", "platform": "p", "chatId": "c", "sender": {}, "text": "" } }),
            "`message.sender`: missing field `id`",
        ),
        (
            "after_tool_call",
            json!({
                "toolCallId": "t", "toolName": "x", "args": {}, "durationMs": 0, "outcome": "fine",
                "result": { "ok": true, "content": "" },
            }),
            "`outcome`: unknown variant `fine`, expected one of `ok`, `error`, `panicked`, `timed_out`, `rejected`, \
             `cancelled`, `unknown`",
        ),
    ] {
        let error = hooks.fire_dyn(point, &cx(), payload).await.unwrap_err();
        assert_eq!(error.to_string(), format!("this payload does not fit {point}: {detail}"));
        assert!(matches!(error, DynFireError::BadPayload { .. }));
    }
}

#[tokio::test]
async fn a_bad_payload_fires_nothing() {
    let (hooks, records) = watched();
    says(&hooks, "h", "session_start", ModelKind::Void, json!(null));
    hooks.fire_dyn("session_start", &cx(), json!({ "resumed": 1 })).await.unwrap_err();
    assert!(records.all().is_empty());
}

#[tokio::test]
async fn a_dynamic_handler_sees_payload_and_envelope_as_one_object() {
    let hooks = Hooks::new();
    let diary = Diary::default();
    let note = diary.clone();
    hooks
        .register_dyn("session_start", ModelKind::Void, move |e: DynEvent| {
            note.write(format!("{} {} {}", e.point, e.model, e.merged));
            note.write(e.json.to_string());
            async { Ok::<_, Failure>(Value::Null) }
        })
        .unwrap();
    // Envelope fields in the payload are allowed and ignored: the envelope is the context's.
    let payload = json!({ "resumed": true, "sessionId": "somebody else's", "ts": 1 });
    hooks.fire_dyn("session_start", &cx(), payload).await.unwrap();
    let lines = diary.lines();
    assert_eq!(lines[0], "session_start Void null");
    assert_eq!(
        serde_json::from_str::<Value>(&lines[1]).unwrap(),
        json!({
            "resumed": true,
            "sessionId": "s-1",
            "sessionKey": "cli:default",
            "runId": "r-1",
            "turnIndex": 0,
            "platform": "cli",
            "traceId": "t-1",
            "ts": 1_700_000_000_000_u64,
        })
    );
}

#[tokio::test]
async fn typed_and_dynamic_handlers_share_a_point_and_an_order() {
    let hooks = Hooks::new();
    says(
        &hooks,
        "dynamic",
        "before_prompt_build",
        ModelKind::Modifying,
        json!({ "appendSystem": "d", "prependSystem": "d" }),
    );
    hooks
        .named("typed")
        .priority(1)
        .register_modifying(|_: Event<BeforePromptBuild>| async {
            Some(PromptPatch::default().append_system("t"))
        })
        .unwrap();
    let outcome =
        hooks.fire_dyn("before_prompt_build", &cx(), payload("before_prompt_build")).await.unwrap();
    assert_eq!(
        serde_json::to_value(&outcome).unwrap(),
        json!({
            "patch": { "appendSystem": "t", "prependSystem": "d" },
            "winners": { "appendSystem": "typed", "prependSystem": "dynamic" },
        })
    );
}

#[tokio::test]
async fn every_outcome_has_a_shape_on_the_wire() {
    let wire = |outcome: DynOutcome| serde_json::to_value(outcome).unwrap();
    let hooks = Hooks::new();
    let void = hooks.fire_dyn("session_start", &cx(), json!({ "resumed": false })).await.unwrap();
    assert_eq!(wire(void), json!({}));
    assert_eq!(wire(answered(CLAIMING, json!(null)).await.0), json!({ "handled": false }));
    assert_eq!(
        wire(answered(CLAIMING, json!({ "handled": true, "reason": "no tests" })).await.0),
        json!({ "handled": true, "by": "h", "claim": { "reason": "no tests" } })
    );
    assert_eq!(
        wire(answered(GATE, json!({ "continue": false, "reason": "no" })).await.0),
        json!({ "continue": false, "blocks": [{ "handler": "h", "reason": "no" }], "notes": [] })
    );
    let advisory = Hooks::new();
    says(
        &advisory,
        "h",
        "session.end",
        ModelKind::Gate,
        json!({ "continue": false, "reason": "no" }),
    );
    let outcome =
        advisory.fire_dyn("session.end", &cx(), json!({ "reason": "end_turn" })).await.unwrap();
    assert_eq!(wire(outcome)["continue"], true, "an advisory block is told, and the run goes on");

    hooks
        .named("must")
        .fail_closed()
        .register_dyn("session_start", ModelKind::Void, |_: DynEvent| async {
            Err::<Value, _>(Failure::new(FailureKind::Spawn, "no such file"))
        })
        .unwrap();
    let failed = hooks.fire_dyn("session_start", &cx(), json!({ "resumed": false })).await.unwrap();
    assert_eq!(
        wire(failed),
        json!({
            "error": "`must` at session_start could not be started: no such file, and it is registered fail-closed",
        })
    );
}

// R4.5
#[tokio::test]
async fn a_patch_that_does_not_fit_is_bad_output() {
    for (answer, detail) in [
        (json!("text"), "a patch is an object or null, not a string"),
        (json!([1]), "a patch is an object or null, not an array"),
        (json!(true), "a patch is an object or null, not a boolean"),
        (
            json!({ "appendSystem": 3 }),
            "`appendSystem`: invalid type: integer `3`, expected a string",
        ),
    ] {
        let (outcome, said, _) = answered(MODIFYING, answer).await;
        assert_eq!(said, bad(detail));
        assert_eq!(
            outcome,
            DynOutcome::Modifying { patch: json!({}), winners: Default::default() }
        );
    }
    assert_eq!(answered(MODIFYING, json!(null)).await.1, HandlerOutcome::Passed);
    assert_eq!(answered(MODIFYING, json!({})).await.1, HandlerOutcome::Patched);
}

// R4.7: only `handled: true` claims; what cannot be understood is a failure, never a claim.
#[tokio::test]
async fn only_handled_true_is_a_claim() {
    for (answer, said) in [
        (json!(null), HandlerOutcome::Passed),
        (json!({ "handled": false }), HandlerOutcome::Passed),
        (json!({ "handled": false, "reason": "ignored" }), HandlerOutcome::Passed),
        (json!({}), bad("a claim needs `\"handled\": true` (or false to pass)")),
        (json!({ "reason": "no" }), bad("a claim needs `\"handled\": true` (or false to pass)")),
        (
            json!({ "handled": "true", "reason": "no" }),
            bad("`handled` is true or false, not a string"),
        ),
        (json!({ "handled": 1 }), bad("`handled` is true or false, not a number")),
        (json!({ "handled": null }), bad("`handled` is true or false, not null")),
        (json!({ "handled": true }), bad("missing field `reason`")),
        (
            json!({ "handled": true, "reason": 7 }),
            bad("`reason`: invalid type: integer `7`, expected a string"),
        ),
        (json!(true), bad("a claim is an object or null, not a boolean")),
    ] {
        let (outcome, recorded, _) = answered(CLAIMING, answer.clone()).await;
        assert_eq!(recorded, said, "{answer}");
        assert_eq!(outcome, DynOutcome::Claiming(None), "{answer}");
    }
    let (outcome, said, _) =
        answered(CLAIMING, json!({ "handled": true, "reason": " no\n" })).await;
    assert_eq!(said, HandlerOutcome::Claimed);
    assert_eq!(outcome, DynOutcome::Claiming(Some(("h".into(), json!({ "reason": " no\n" })))));
}

// R7.1, P2: a verdict that cannot be understood blocks.
#[tokio::test]
async fn a_verdict_that_does_not_fit_blocks() {
    for (answer, detail) in [
        (json!(true), "a verdict is an object or null, not a boolean"),
        (json!("allow"), "a verdict is an object or null, not a string"),
        (
            json!({ "continue": "yes" }),
            "`continue`: invalid type: string \"yes\", expected a boolean",
        ),
        (json!({ "continue": null }), "`continue`: invalid type: null, expected a boolean"),
        (json!({ "output": {} }), "`output`: invalid type: map, expected a string"),
        (
            json!({ "reason": "no" }),
            "the answer has no decision: a verdict is {\"continue\": false, \"reason\": \"why\"}, or nothing",
        ),
        (
            json!({ "decision": "no" }),
            "`decision`: unknown variant `no`, expected one of `allow`, `approve`, `ask`, `block`, `deny`",
        ),
        (
            json!({ "hookSpecificOutput": { "updatedInput": {} } }),
            "`updatedInput`: a hook cannot rewrite what a tool gets; block the call and give the reason",
        ),
    ] {
        let (outcome, said, _) = answered(GATE, answer).await;
        assert_eq!(said, bad(detail));
        let DynOutcome::Gate(outcome) = outcome else { panic!("{outcome:?}") };
        let reason = format!("`h` gave an answer that cannot be understood: {detail}");
        assert_eq!(outcome.blocked().unwrap().reason, reason);
    }
    for allow in [json!(null), json!({}), json!({ "continue": true })] {
        assert_eq!(answered(GATE, allow).await.1, HandlerOutcome::Allowed);
    }
    let (_, said, _) = answered(GATE, json!({ "continue": false })).await;
    assert_eq!(said, HandlerOutcome::Blocked("blocked by h".into()));
}

// P6: nothing a handler says is dropped in silence.
#[tokio::test]
async fn what_is_ignored_is_noted_in_the_record() {
    for (point, answer, note) in [
        (MODIFYING, json!({ "append_system": "x" }), "ignored unknown field `append_system`"),
        (
            MODIFYING,
            json!({ "appendSystem": "x", "additionalContext": "y" }),
            "ignored `additionalContext`: `appendSystem` is set too",
        ),
        (
            CLAIMING,
            json!({ "handled": true, "reason": "x", "reply": "y" }),
            "ignored unknown field `reply`",
        ),
        (GATE, json!({ "continue": true, "mood": 1 }), "ignored unknown field `mood`"),
        (GATE, json!({ "continue": true, "reason": "fine" }), "fine"),
        (
            ADVISORY,
            json!({ "reason": "no" }),
            "ignored `reason`: it takes `\"continue\": false` to block",
        ),
        (ADVISORY, json!({ "updatedInput": {} }), "ignored unknown field `updatedInput`"),
        (
            ("session_start", ModelKind::Void),
            json!({ "continue": false }),
            "ignored its answer, an object",
        ),
        (("session_start", ModelKind::Void), json!("done"), "ignored its answer, a string"),
    ] {
        let (_, _, notes) = answered(point, answer.clone()).await;
        assert_eq!(notes, [note], "{answer}");
    }
    for nothing in [json!(null), json!({})] {
        assert!(answered(("session_start", ModelKind::Void), nothing).await.2.is_empty());
    }
}

// §15: `additionalContext` from `before_prompt_build` is accepted as `appendSystem`.
#[tokio::test]
async fn additional_context_is_another_name_for_append_system() {
    for answer in [
        json!({ "additionalContext": "hello" }),
        json!({ "additionalContext": "hello", "appendSystem": null }),
    ] {
        let (outcome, _, notes) = answered(MODIFYING, answer).await;
        let DynOutcome::Modifying { patch, winners } = outcome else { panic!("{outcome:?}") };
        assert_eq!(patch, json!({ "appendSystem": "hello" }));
        assert_eq!(winners["appendSystem"], "h");
        assert!(notes.is_empty());
    }
}

// R13.3
#[tokio::test]
async fn a_dynamic_handler_without_the_capability_has_no_effect() {
    let records = std::sync::Arc::new(Records::default());
    let hooks = Hooks::builder().sink(records.clone()).build();
    hooks
        .named("nosy")
        .capabilities(["prependSystem"])
        .register_dyn("before_prompt_build", ModelKind::Modifying, |_: DynEvent| async {
            Ok::<_, Failure>(json!({ "additionalContext": "x" }))
        })
        .unwrap();
    let outcome =
        hooks.fire_dyn("before_prompt_build", &cx(), payload("before_prompt_build")).await.unwrap();
    assert_eq!(outcome, DynOutcome::Modifying { patch: json!({}), winners: Default::default() });
    assert_eq!(records.only()[0].outcome, bad("its capabilities do not include `appendSystem`"));
}

#[tokio::test]
async fn a_typed_gate_is_asked_by_a_fire_by_name() {
    let hooks = Hooks::new();
    hooks
        .named("typed")
        .register_gate(|e: Event<UserPromptSubmit>| async move { Verdict::block(e.prompt.clone()) })
        .unwrap();
    let outcome =
        hooks.fire_dyn("user.prompt.submit", &cx(), json!({ "prompt": "secret" })).await.unwrap();
    let DynOutcome::Gate(outcome) = outcome else { panic!("{outcome:?}") };
    assert_eq!(outcome.blocked().unwrap().reason, "secret");
}

// R17.7
#[tokio::test]
async fn what_a_handler_notes_is_in_the_record_whatever_it_answers() {
    let noting = async |answer: Result<Value, Failure>| {
        let (hooks, records) = watched();
        let handler = move |event: DynEvent| {
            event.note("reached example.org:443");
            answer.clone()
        };
        let (point, model) = MODIFYING;
        hooks
            .named("h")
            .capabilities(["appendSystem"])
            .register_dyn(point, model, handler)
            .unwrap();
        hooks.fire_dyn(point, &cx(), payload(point)).await.unwrap();
        let handler = records.only().remove(0);
        (handler.outcome, handler.notes)
    };
    let (outcome, notes) = noting(Ok(json!({ "appendSystem": "a", "mood": 1 }))).await;
    assert_eq!(outcome, HandlerOutcome::Patched);
    assert_eq!(notes, ["ignored unknown field `mood`", "reached example.org:443"]);
    assert_eq!(noting(Ok(json!(null))).await.1, ["reached example.org:443"]);
    for answer in [Err(Failure::errored("no")), Ok(json!(1)), Ok(json!({ "overrideSystem": "b" }))]
    {
        let (outcome, _) = noting(answer).await;
        let reason = outcome.reason().unwrap_or_default().into_owned();
        assert!(reason.ends_with(" (reached example.org:443)"), "{reason}");
    }
}
