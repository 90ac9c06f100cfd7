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

/// Level, name, detail, word and time of each row.
fn drawn(timeline: &Timeline) -> Vec<String> {
    let row = |row: &super::Row| {
        let (indent, why) = ("  ".repeat(row.level), if row.why.is_empty() { "" } else { " | " });
        format!("{indent}{} {} [{}] {}{why}{}", row.name, row.detail, row.word, row.took, row.why)
    };
    timeline.rows.iter().map(row).collect()
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
    event("tool.calls", 2000, json!({ "calls": [call] }))
}

fn fired(name: &str, outcome: &str) -> Value {
    let handler =
        json!({ "name": name, "outcome": outcome, "durationMs": 140.0, "plugin": "ours" });
    event(
        "hook.fired",
        2010,
        json!({ "point": "tool.pre", "model": "gate", "handlers": [handler] }),
    )
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
        fired("no-prod", "blocked"),
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
    assert_eq!(drawn(&timeline), expected);
    assert_eq!((timeline.head.blocked, timeline.head.calls), (1, 1));
    assert_eq!(timeline.rows[3].plugin.as_deref(), Some("ours"));
}

/// A hook after the call can object, but the call has run.
#[test]
fn a_hook_that_objects_afterwards_does_not_make_a_call_that_ran_a_blocked_one() {
    let post = |name: &str| {
        let handler = json!({ "name": name, "outcome": "exit", "durationMs": 5.0 });
        event(
            "hook.fired",
            2100,
            json!({ "point": "tool.post", "model": "gate", "handlers": [handler] }),
        )
    };
    let object = |reason: &str| json!({ "point": "tool.post", "handler": "lint", "reason": reason, "toolCallId": "1" });
    let end = json!({ "toolCallId": "1", "toolName": "terminal", "ok": true, "outcome": "ok", "durationMs": 90 });
    let timeline = read(&[
        start(),
        event("tool.start", 2000, json!({ "toolCallId": "1", "toolName": "terminal" })),
        post("lint"),
        post("lint"),
        event("hook.blocked", 2101, object("one")),
        event("tool.end", 2102, end),
        event("hook.blocked", 2103, object("two")),
    ]);
    let expected = [
        "Message push it [ok] ",
        "terminal  [ok] 90 ms",
        "  lint tool.post [blocked] 5.0 ms | one",
        "  lint tool.post [blocked] 5.0 ms | two",
    ];
    assert_eq!(drawn(&timeline), expected);
    assert_eq!((timeline.head.blocked, timeline.head.failed), (0, 0));
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
    assert_eq!(drawn(&timeline), expected);
    assert!(timeline.head.waiting.is_empty());
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
    assert_eq!(drawn(&timeline), expected);
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
    assert_eq!(drawn(&timeline), expected);
    assert!(timeline.rows[1].changed && !timeline.rows[4].changed);
}

/// A sub-agent has a run of its own; it stands in its parent's timeline.
#[test]
fn a_sub_agents_rows_stand_below_its_parents_call() {
    let of_child = |kind: &str, mut fields: Value| {
        fields["runId"] = "child".into();
        fields["sessionId"] = "child-session".into();
        fields["parentSessionId"] = "s".into();
        event(kind, 3000, fields)
    };
    let call = json!({ "toolCallId": "1", "toolName": "delegate", "args": { "task": "review" } });
    let events = [
        start(),
        event("tool.start", 2000, call),
        of_child("run.start", json!({ "prompt": "review" })),
        of_child("usage", json!({ "inputTokens": 1, "outputTokens": 2, "durationMs": 5 })),
        of_child("done", json!({ "text": "fine", "outcome": "end_turn" })),
    ];
    let timeline = read(&events);
    let kinds: Vec<(Kind, usize)> = timeline.rows.iter().map(|row| (row.kind, row.level)).collect();
    assert_eq!(kinds, [(Kind::Message, 0), (Kind::Agent, 0), (Kind::Model, 1)]);
    assert_eq!((timeline.head.sub_agents, timeline.head.outcome.as_deref()), (1, None));

    let mut followed = Timelines::default();
    let told: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(&followed.push(event)).unwrap()).collect();
    assert!(told.iter().all(|told| told["run"] == "r"), "{told:?}");
    assert_eq!(followed.rows("r").unwrap().len(), 3);
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
