//! What a timeline makes of events.

use serde_json::{Value, json};

use super::{
    row::{Kind, Mark},
    timeline::Timeline,
    timelines::Timelines,
};

fn event(kind: &str, ts: u64, fields: Value) -> Value {
    let mut event = json!({ "type": kind, "runId": "r", "sessionId": "s", "ts": ts });
    if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
        event.extend(fields);
    }
    event
}

fn read(events: &[Value]) -> Timeline {
    let mut timeline = Timeline::new(2000);
    for event in events {
        timeline.push(event);
    }
    timeline
}

/// Level, name, detail, word and time of each row, as they stand.
fn drawn(timeline: Timeline) -> Vec<String> {
    let row = |row: &super::Row| {
        let (indent, why) = ("  ".repeat(row.level), if row.why.is_empty() { "" } else { " | " });
        format!("{indent}{} {} [{}] {}{why}{}", row.name, row.detail, row.word, row.took, row.why)
    };
    timeline.in_order().iter().map(row).collect()
}

fn start() -> Value {
    event(
        "run.start",
        1000,
        json!({ "prompt": "push it", "platform": "http", "sessionKey": "http:c" }),
    )
}

fn calls(id: &str) -> Value {
    let call =
        json!({ "toolCallId": id, "toolName": "terminal", "args": { "command": "git push" } });
    event("tool.calls", 2000, json!({ "calls": [call], "text": "I push." }))
}

fn fired(call: &str, point: &str, name: &str, outcome: &str) -> Value {
    let handler =
        json!({ "name": name, "outcome": outcome, "durationMs": 140.0, "plugin": "ours" });
    let fired =
        json!({ "point": point, "model": "gate", "handlers": [handler], "toolCallId": call });
    event("hook.fired", 2010, fired)
}

#[test]
fn a_blocked_call_says_who_blocked_it_and_that_it_never_ran() {
    let blocked = json!({ "point": "tool.pre", "handler": "no-prod", "reason": "not main", "toolCallId": "1" });
    let end = json!({ "toolCallId": "1", "toolName": "terminal", "ok": false, "outcome": "rejected",
                      "error": "blocked", "durationMs": 0 });
    let timeline = read(&[
        start(),
        event(
            "usage",
            1900,
            json!({ "inputTokens": 6204, "outputTokens": 311, "durationMs": 800 }),
        ),
        calls("1"),
        fired("1", "tool.pre", "no-prod", "blocked"),
        event("hook.blocked", 2011, blocked),
        event("tool.end", 2012, end),
        event("done", 2100, json!({ "text": "I may not.", "outcome": "end_turn" })),
    ]);
    let expected = [
        "Message push it [ok] ",
        "Model request 1 6,204 in · 311 out [ok] 800 ms",
        "terminal git push [blocked] never ran | no-prod: not main",
        "  no-prod tool.pre [blocked] 140 ms | not main",
        "Answer I may not. [done] ",
    ];
    assert_eq!((timeline.head.blocked, timeline.head.calls), (1, 1));
    assert_eq!(timeline.rows[3].plugin.as_deref(), Some("ours"));
    assert_eq!(timeline.rows[1].more, [("It said".to_string(), "I push.".to_string())]);
    assert_eq!(drawn(timeline), expected);
}

/// R6.6: a hook names its call, so it stands below that one, whatever other calls do meanwhile.
#[test]
fn hooks_of_two_calls_at_the_same_time_stand_below_their_own_call() {
    let made = |id: &str, command: &str| json!({ "toolCallId": id, "toolName": "terminal", "args": { "command": command } });
    let end = |id: &str, outcome: &str| {
        let end = json!({ "toolCallId": id, "toolName": "terminal", "outcome": outcome, "error": "x", "durationMs": 90 });
        event("tool.end", 2100, end)
    };
    let begin = |id: &str, command: &str| event("tool.start", 2050, made(id, command));
    let blocked =
        json!({ "point": "tool.pre", "handler": "guard", "reason": "no", "toolCallId": "2" });
    let events = [
        start(),
        event(
            "tool.calls",
            2000,
            json!({ "calls": [made("1", "one"), made("2", "two"), made("3", "three")] }),
        ),
        fired("1", "tool.pre", "guard", "allowed"),
        fired("2", "tool.pre", "guard", "blocked"),
        event("hook.blocked", 2011, blocked),
        fired("3", "tool.pre", "guard", "allowed"),
        begin("1", "one"),
        begin("3", "three"),
        end("2", "rejected"),
        end("3", "ok"),
        fired("3", "after_tool_call", "audit", "finished"),
        end("1", "ok"),
        fired("3", "tool.post", "lint", "timed_out"),
        fired("1", "after_tool_call", "audit", "finished"),
    ];
    let timeline = read(&events);
    let expected = [
        "Message push it [ok] ",
        "terminal one [ok] 90 ms",
        "  guard tool.pre [allowed] 140 ms",
        "  audit after_tool_call [ok] 140 ms",
        "terminal two [blocked] never ran | guard: no",
        "  guard tool.pre [blocked] 140 ms | no",
        "terminal three [ok] 90 ms",
        "  guard tool.pre [allowed] 140 ms",
        "  audit after_tool_call [ok] 140 ms",
        "  lint tool.post [timed out] 140 ms",
    ];
    assert_eq!(drawn(timeline), expected);
}

/// The system prompt, part by part, and the hooks around a request.
#[test]
fn the_prompt_has_its_parts_and_a_request_has_its_hooks() {
    let part = |part: &str, by: &str, text: &str| json!({ "part": part, "by": by, "text": text });
    let prompt = json!({ "parts": [part("personality", "coder", "You code."), part("append", "style", ""), part("append", "today", "It is Monday.")] });
    let of_request = |at: u64, point: &str, name: &str| {
        let handler = json!({ "name": name, "outcome": "finished", "durationMs": 1.0 });
        event("hook.fired", at, json!({ "point": point, "model": "void", "handlers": [handler] }))
    };
    let usage = |at: u64| {
        event("usage", at, json!({ "inputTokens": 1, "outputTokens": 2, "durationMs": 10 }))
    };
    let mut timeline = read(&[
        start(),
        event("prompt", 1010, prompt.clone()),
        event("prompt", 1011, prompt),
        of_request(1020, "before_llm_call", "budget"),
    ]);
    let asking = timeline.rows.iter().find(|row| row.kind == Kind::Model).unwrap();
    assert_eq!((asking.word.as_str(), asking.is_open), ("running", true));
    for event in [
        usage(1100),
        of_request(1101, "after_llm_call", "meter"),
        of_request(1200, "before_llm_call", "budget"),
        event("done", 1300, json!({ "text": "", "outcome": "aborted" })),
    ] {
        timeline.push(&event);
    }
    let parts = [("personality, by coder", "You code."), ("append, by today", "It is Monday.")];
    assert_eq!(timeline.rows[1].more, parts.map(|(by, text)| (by.to_string(), text.to_string())));
    let expected = [
        "Message push it [ok] ",
        "  System prompt 2 parts [ok] ",
        "Model request 1 1 in · 2 out [ok] 10 ms",
        "  budget before_llm_call [ok] 1.0 ms",
        "  meter after_llm_call [ok] 1.0 ms",
        "Model request 2  [stopped] ",
        "  budget before_llm_call [ok] 1.0 ms",
        "Answer  [stopped] ",
    ];
    assert_eq!(drawn(timeline), expected);
}

/// A hook after the call can object, but the call has run.
#[test]
fn a_hook_that_objects_afterwards_does_not_make_a_call_that_ran_a_blocked_one() {
    let post = || fired("1", "tool.post", "lint", "exit");
    let object = |reason: &str| json!({ "point": "tool.post", "handler": "lint", "reason": reason, "toolCallId": "1" });
    let end = json!({ "toolCallId": "1", "toolName": "terminal", "ok": true, "outcome": "ok", "durationMs": 90 });
    let timeline = read(&[
        start(),
        event("tool.start", 2000, json!({ "toolCallId": "1", "toolName": "terminal" })),
        post(),
        post(),
        event("hook.blocked", 2101, object("one")),
        event("tool.end", 2102, end),
        event("hook.blocked", 2103, object("two")),
    ]);
    let expected = [
        "Message push it [ok] ",
        "terminal  [ok] 90 ms",
        "  lint tool.post [blocked] 140 ms | one",
        "  lint tool.post [blocked] 140 ms | two",
    ];
    assert_eq!((timeline.head.blocked, timeline.head.failed), (0, 0));
    assert_eq!(drawn(timeline), expected);
}

/// A parked run starts and asks again when it goes on: nothing stands there twice.
#[test]
fn a_run_that_was_parked_goes_on_in_its_own_rows() {
    let ask =
        json!({ "approvalId": "a", "toolCallId": "1", "toolName": "terminal", "zone": "network" });
    let ask = event("approval.requested", 2020, ask);
    let mut timeline = read(&[start(), calls("1"), ask.clone()]);
    assert_eq!(timeline.head.waiting, ["a"]);
    assert_eq!(timeline.rows[1].mark, Mark::Wait);
    let end = json!({ "toolCallId": "1", "toolName": "terminal", "ok": true, "outcome": "ok", "durationMs": 90 });
    for event in [
        start(),
        calls("1"),
        ask,
        event(
            "approval.resolved",
            9000,
            json!({ "approvalId": "a", "outcome": "approved", "by": "mara" }),
        ),
        event("tool.start", 9010, json!({ "toolCallId": "1", "toolName": "terminal" })),
        event("tool.end", 9100, end),
    ] {
        timeline.push(&event);
    }
    let expected = [
        "Message push it [ok] ",
        "terminal git push [ok] 90 ms",
        "  mara was asked [approved] 7.0 s",
    ];
    assert!(timeline.head.waiting.is_empty());
    assert_eq!(drawn(timeline), expected);
}

#[test]
fn a_denied_call_and_one_of_unknown_outcome_say_so() {
    let end = |id: &str, outcome: &str| {
        let end =
            json!({ "toolCallId": id, "toolName": "terminal", "outcome": outcome, "error": "x" });
        event("tool.end", 9100, end)
    };
    let ask = json!({ "approvalId": "a", "toolCallId": "1", "toolName": "terminal" });
    let answer =
        json!({ "approvalId": "a", "outcome": "denied", "by": "mara", "reason": "Not now" });
    let timeline = read(&[
        start(),
        calls("1"),
        event("approval.requested", 2020, ask),
        event("approval.resolved", 3020, answer),
        end("1", "rejected"),
        end("2", "unknown"),
    ]);
    let expected = [
        "Message push it [ok] ",
        "terminal git push [denied] never ran | x",
        "  mara was asked [denied] 1.0 s | Not now",
        "terminal  [unknown] unknown | Pintle ended while it ran. It was not run again.",
    ];
    assert_eq!(drawn(timeline), expected);
}

#[test]
fn what_a_hook_changed_and_lost_and_how_it_failed_are_told_apart() {
    let handlers = json!([
        { "name": "style", "outcome": "patched", "durationMs": 11.0, "won": ["appendSystem"] },
        { "name": "memory", "outcome": "patched", "durationMs": 31.0, "won": ["prependSystem"], "lost": ["appendSystem"] },
        { "name": "lint", "outcome": "timed_out", "durationMs": 5000.0 },
        { "name": "audit", "outcome": "finished", "durationMs": 0.01 },
    ]);
    let fire =
        json!({ "point": "before_prompt_build", "model": "modifying", "handlers": handlers });
    let timeline = read(&[start(), event("hook.fired", 1100, fire)]);
    let expected = [
        "Message push it [ok] ",
        "  style before_prompt_build [changed] 11 ms | changed appendSystem",
        "  memory before_prompt_build [changed] 31 ms | changed prependSystem, lost appendSystem",
        "  lint before_prompt_build [timed out] 5.0 s",
        "  audit before_prompt_build [ok] < 0.1 ms",
    ];
    assert!(timeline.rows[1].changed && !timeline.rows[4].changed);
    assert_eq!(drawn(timeline), expected);
}

/// A sub-agent has a run of its own; it stands in its parent's timeline.
#[test]
fn a_sub_agents_rows_stand_below_its_parents_call() {
    let of_child = |kind: &str, mut fields: Value| {
        fields["runId"] = "child".into();
        fields["sessionId"] = "child-session".into();
        fields["parentSessionId"] = "s".into();
        fields["sessionKey"] = "sub:s:1".into();
        event(kind, 3000, fields)
    };
    let call = |id: &str| json!({ "toolCallId": id, "toolName": "delegate", "args": { "task": "review" } });
    let events = [
        start(),
        event("tool.start", 2000, call("1")),
        event("tool.start", 2000, call("2")),
        of_child("run.start", json!({ "prompt": "review" })),
        of_child("usage", json!({ "inputTokens": 1, "outputTokens": 2, "durationMs": 5 })),
        of_child("done", json!({ "text": "fine", "outcome": "end_turn" })),
    ];
    let timeline = read(&events);
    assert_eq!((timeline.head.sub_agents, timeline.head.outcome.as_deref()), (1, None));
    let rows = timeline.in_order();
    let kinds: Vec<(Kind, usize)> = rows.iter().map(|row| (row.kind, row.level)).collect();
    let expected = [(Kind::Message, 0), (Kind::Agent, 0), (Kind::Model, 1), (Kind::Agent, 0)];
    assert_eq!(kinds, expected);

    let mut followed = Timelines::default();
    let told: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(&followed.push(event)).unwrap()).collect();
    assert!(told.iter().all(|told| told["run"] == "r"), "{told:?}");
    assert_eq!(followed.rows("r").unwrap().len(), 4);
    assert!(!followed.knows("child"));
}

/// However many runs there are, a bounded number is followed.
#[test]
fn old_runs_are_followed_no_longer() {
    let mut followed = Timelines::default();
    for run in 0..1000 {
        let run = format!("r{run}");
        followed.push(&event(
            "run.start",
            1,
            json!({ "runId": run, "sessionId": run, "prompt": "x" }),
        ));
    }
    let known = (0..1000).filter(|run| followed.knows(&format!("r{run}"))).count();
    assert_eq!(known, 64);
    assert!(followed.knows("r999") && !followed.knows("r0"));
}
