//! What becomes of recorded events.

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use super::*;

const TRACE: &str = "01a1ec52-1426-70db-9fd0-48a62e54cea3";

fn events(run: &[(u64, Value)]) -> Vec<Event> {
    let envelope =
        json!({"traceId": TRACE, "sessionId": "s1", "runId": "r1", "personalityId": "main"});
    let event = |(seq, (at, event)): (usize, &(u64, Value))| {
        let mut json = envelope.clone();
        json.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        Event { seq: seq as u64 + 1, at: *at, json }
    };
    run.iter().enumerate().map(event).collect()
}

/// A run with a request, a call that a hook let pass, a question, and at the same time a call that was refused.
fn run() -> Vec<Event> {
    let hook = |name: &str, point: &str, outcome: &str| {
        let handlers = json!([{"name": name, "outcome": outcome, "durationMs": 2.5}]);
        json!({"type": "hook.fired", "point": point, "model": "gate", "handlers": handlers})
    };
    let of_call = |call: &str, mut fired: Value| {
        fired["toolCallId"] = call.into();
        fired
    };
    events(&[
        (1000, json!({"type": "run.start", "model": "anthropic/claude", "prompt": "secret plan"})),
        (1001, hook("early", "model.pre", "allowed")),
        (1100, json!({"type": "usage", "inputTokens": 7, "outputTokens": 3, "durationMs": 90})),
        (1105, of_call("t1", hook("gate", "tool.pre", "allowed"))),
        (1105, of_call("t2", hook("other gate", "tool.pre", "blocked"))),
        (
            1105,
            json!({"type": "judged", "toolCallId": "t1", "verdict": "ask", "decidedBy": {"step": "zone"}}),
        ),
        (
            1110,
            json!({"type": "approval.requested", "approvalId": "a1", "toolCallId": "t1", "toolName": "send"}),
        ),
        (
            1500,
            json!({"type": "approval.resolved", "approvalId": "a1", "outcome": "approved", "by": "ann"}),
        ),
        (
            1501,
            json!({"type": "tool.start", "toolCallId": "t1", "toolName": "send", "args": {"to": "bob"}}),
        ),
        (
            1600,
            json!({"type": "tool.end", "toolCallId": "t1", "toolName": "send", "ok": true, "outcome": "ok", "content": "sent"}),
        ),
        (
            1602,
            json!({"type": "tool.end", "toolCallId": "t2", "toolName": "rm", "ok": false, "outcome": "rejected", "error": "no"}),
        ),
        (1603, of_call("t1", hook("after", "tool.post", "timed_out"))),
        (1700, json!({"type": "done", "text": "done it", "outcome": "end_turn"})),
    ])
}

fn named<'a>(ended: &'a [Ended], name: &str) -> &'a Span {
    &ended.iter().find(|it| it.span.name == name).unwrap_or_else(|| panic!("no {name}")).span
}

fn is_below(child: &Span, parent: &Span) -> bool {
    child.parent_span_id == parent.span_id && child.trace_id == parent.trace_id
}

#[test]
fn hooks_and_questions_are_below_what_they_belong_to() {
    let ended = spans(&run(), false);
    let root = named(&ended, "invoke_agent main");
    assert!(root.parent_span_id.is_empty());
    assert_eq!(
        (root.start_time_unix_nano, root.end_time_unix_nano),
        (1_000_000_000, 1_700_000_000)
    );
    let (chat, call) = (named(&ended, "chat anthropic/claude"), named(&ended, "execute_tool send"));
    assert!(is_below(chat, root) && is_below(call, root));
    assert_eq!(chat.start_time_unix_nano, 1_010_000_000);
    assert!(is_below(named(&ended, "pintle.hook early"), chat));
    assert!(is_below(named(&ended, "pintle.hook gate"), call));
    assert!(is_below(named(&ended, "pintle.hook other gate"), named(&ended, "execute_tool rm")));
    assert!(is_below(named(&ended, "pintle.approval"), call));
    assert!(is_below(named(&ended, "pintle.hook after"), call));
    let failed = |span: &Span| span.status.as_ref().is_some_and(|status| status.code == 2);
    let failures: Vec<&str> =
        ended.iter().filter(|it| failed(&it.span)).map(|it| it.span.name.as_str()).collect();
    assert_eq!(failures, ["pintle.hook other gate", "execute_tool rm", "pintle.hook after"]);
    assert!(ended.is_sorted_by_key(|it| it.seq));
    let again = spans(&run(), false);
    assert!(ended.iter().zip(&again).all(|(one, other)| one.span == other.span), "the same ids");
}

#[test]
fn content_is_left_out_unless_it_is_wanted() {
    let text = |content| format!("{:?}", spans(&run(), content));
    for words in ["secret plan", "done it", "bob", "sent"] {
        assert!(!text(false).contains(&format!("{words}\"")), "{words}");
        assert!(text(true).contains(words), "{words}");
    }
}

#[test]
fn a_sub_agent_is_below_the_run_that_started_it() {
    let mut child = run();
    for event in &mut child {
        let json = event.json.as_object_mut().unwrap();
        json.insert("sessionId".into(), "s2".into());
        json.insert("parentSessionId".into(), "s1".into());
    }
    let (parent, child) = (spans(&run(), false), spans(&child, false));
    assert!(is_below(named(&child, "invoke_agent main"), named(&parent, "invoke_agent main")));
}

#[test]
fn a_message_can_be_read_by_any_reader_of_the_protocol() {
    let sent: Vec<Span> = spans(&run(), true).into_iter().map(|it| it.span).collect();
    let bytes = encode(sent.clone(), "1.2.3");
    let read = ExportTraceServiceRequest::decode(&*bytes).unwrap();
    let scope = &read.resource_spans[0].scope_spans[0];
    assert_eq!(scope.spans, sent);
    assert_eq!(scope.scope.as_ref().unwrap().version, names::VERSION);
}
