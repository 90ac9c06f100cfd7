//! R8.2: hooks that were written for other agents decide here what they decide there, and never loosen anything.

use pintle::{Cx, Envelope, FailureKind::BadOutput, Hooks, ModelKind, PluginFilter};
use pintle_exec::CommandHook;
use serde_json::{Value, json};

use crate::support::{Judged, Profile, tool_call};

/// What a hook that prints this and exits with 0 makes of a call.
async fn says(answer: &Value) -> Judged {
    let profile = Profile::new();
    std::fs::write(profile.path().join("says"), answer.to_string()).unwrap();
    profile.judge(profile.argv(["/bin/cat", "says"])).await
}

/// The form of Claude Code and of those who copied it.
fn specific(mut fields: Value) -> Value {
    fields["hookEventName"] = "PreToolUse".into();
    json!({ "hookSpecificOutput": fields })
}

#[tokio::test]
async fn a_no_in_another_agents_words_blocks_with_its_reason() {
    for answer in [
        json!({"decision": "block", "reason": "no"}),
        json!({"decision": "deny", "reason": "no"}),
        json!({"decision": "deny", "reason": "no", "mood": 1}),
        json!({"continue": true, "decision": "block", "reason": "no"}),
        json!({"continue": false, "stopReason": "no"}),
        json!({"continue": false, "reason": "no", "stopReason": "another"}),
        json!({"continue": false, "decision": "approve", "reason": "no"}),
        json!({"decision": "allow", "reason": "no", "hookSpecificOutput": {"permissionDecision": "deny"}}),
        specific(json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
    ] {
        let judged = says(&answer).await;
        assert_eq!((judged.reason(), judged.kind()), ("no", None), "{answer}");
        assert!(!judged.tool_ran, "{answer}");
    }
    let judged = says(&json!({"decision": "block"})).await;
    assert_eq!((judged.reason(), judged.tool_ran), ("blocked by guard", false));
}

#[tokio::test]
async fn a_no_keeps_what_the_model_and_the_person_should_know() {
    let mut answer =
        specific(json!({"permissionDecision": "deny", "additionalContext": "ask ops"}));
    answer["systemMessage"] = "production is frozen".into();
    answer["suppressOutput"] = true.into();
    let judged = says(&answer).await;
    assert!(!judged.tool_ran);
    assert_eq!(judged.block.unwrap().additional_context.as_deref(), Some("ask ops"));
    let notes = ["ignored unknown field `suppressOutput`", "production is frozen"];
    assert_eq!(judged.record_notes, notes);
}

#[tokio::test]
async fn a_question_waits_for_a_person() {
    for answer in [
        json!({"decision": "ask", "reason": "it costs"}),
        json!({"decision": "allow", "hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it costs"}}),
        specific(json!({"permissionDecision": "ask", "permissionDecisionReason": "it costs"})),
    ] {
        let judged = says(&answer).await;
        let waits = "it costs";
        assert_eq!(
            (judged.reason(), judged.kind(), judged.tool_ran),
            (waits, None, false),
            "{answer}"
        );
    }
    let judged = says(&json!({"decision": "ask"})).await;
    assert_eq!(judged.reason(), "`guard` wants a person to be asked");
}

#[tokio::test]
async fn a_question_where_no_one_can_be_asked_blocks() {
    let profile = Profile::new();
    let hooks = Hooks::new();
    let hook = CommandHook::new(profile.shell(r#"echo '{"decision": "ask", "reason": "may I?"}'"#));
    hooks.register_dyn("user.prompt.submit", ModelKind::Gate, hook).unwrap();
    let cx = Cx::new(Envelope::default(), PluginFilter::All);
    let outcome = hooks.fire_dyn("user.prompt.submit", &cx, json!({"prompt": "hi"})).await.unwrap();
    let outcome = serde_json::to_value(&outcome).unwrap();
    assert_eq!(outcome["continue"], false);
    let reason = outcome["blocks"][0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("a person cannot be asked at user.prompt.submit: may I?"), "{reason}");
}

#[tokio::test]
async fn an_allow_loosens_nothing() {
    for answer in [
        json!({"decision": "approve"}),
        json!({"decision": "allow", "reason": "fine"}),
        specific(json!({"permissionDecision": "allow", "permissionDecisionReason": "fine"})),
    ] {
        says(&answer).await.allowed();
        let profile = Profile::new();
        let hooks = Hooks::new();
        let yes = CommandHook::new(profile.shell(&format!("echo '{answer}'")));
        let no =
            CommandHook::new(profile.shell(r#"echo '{"decision": "ask", "reason": "sure?"}'"#));
        hooks.named("yes").register_dyn("tool.pre", ModelKind::Gate, yes).unwrap();
        hooks.named("no").register_dyn("tool.pre", ModelKind::Gate, no).unwrap();
        let cx = Cx::new(Envelope::default(), PluginFilter::All);
        let mut outcome = hooks.fire_gate(&cx, tool_call).await;
        assert_eq!(outcome.take_questions()[0].reason, "sure?", "{answer}");
    }
}

/// Cursor prints `{}` when it has no opinion.
#[tokio::test]
async fn an_empty_object_is_no_answer() {
    let judged = says(&json!({})).await.allowed();
    assert!(judged.notes.is_empty() && judged.record_notes.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_not_understood_blocks_where_a_block_binds() {
    for answer in [
        json!({"permission": "deny"}),
        json!({"permission": "allow"}),
        json!({"verdict": "no"}),
        json!({"continu": false}),
        json!({"reason": "no"}),
        json!({"continu": false, "reason": "no", "output": "x"}),
        json!({"decision": null}),
        json!({"stopReason": "no"}),
        json!({"hookSpecificOutput": {}}),
        specific(json!({"permissionDecisionReason": "no"})),
        specific(json!({"decision": {"behavior": "deny"}})),
    ] {
        says(&answer).await.failed(BadOutput);
    }
}

#[tokio::test]
async fn a_decision_of_the_wrong_type_blocks() {
    for answer in [
        json!({"decision": "maybe"}),
        json!({"decision": "BLOCK"}),
        json!({"decision": true}),
        json!({"decision": "allow", "reason": 7}),
        json!({"continue": true, "stopReason": ["no"]}),
        json!({"continue": true, "systemMessage": 7}),
        json!({"continue": true, "hookSpecificOutput": "deny"}),
        specific(json!({"permissionDecision": "never"})),
        specific(json!({"permissionDecision": "allow", "permissionDecisionReason": 7})),
        specific(json!({"permissionDecision": "allow", "additionalContext": {}})),
    ] {
        says(&answer).await.failed(BadOutput);
    }
}

// R10.3
#[tokio::test]
async fn a_rewrite_blocks() {
    let input = json!({"command": "ls"});
    for answer in [
        json!({"updatedInput": input}),
        json!({"continue": true, "updatedInput": input}),
        specific(json!({"permissionDecision": "allow", "updatedInput": input})),
        json!({"decision": "allow", "hookSpecificOutput": {"tool_input": input}}),
        json!({"continue": true, "modifiedArgs": input}),
        json!({"continue": true, "updated_input": input}),
    ] {
        let judged = says(&answer).await.failed(BadOutput);
        assert!(judged.reason().contains("cannot rewrite"), "{answer}: {judged:?}");
    }
}

#[tokio::test]
async fn a_verdict_of_another_agent_among_other_text_blocks() {
    for text in [
        "checking\n{\"decision\": \"block\"}",
        "checking\n{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"}}",
        "[{\"decision\": \"block\"}]",
    ] {
        for before in [0, 100_000] {
            let profile = Profile::new();
            std::fs::write(profile.path().join("says"), format!("{}{text}", "x".repeat(before)))
                .unwrap();
            profile.judge(profile.argv(["/bin/cat", "says"])).await.failed(BadOutput);
        }
    }
}
