use anstream::adapter::strip_str;

use pintle_agent::store::JudgedBy;

use super::*;

/// When the runs of these tests began.
const BEGAN: u64 = 1_763_418_005_000;

fn run(id: &str, session: &str, parent: Option<&str>, from: u64, to: u64) -> Recorded {
    let run = StoredRun {
        run_id: id.into(),
        session_id: session.into(),
        model: "anthropic/claude-sonnet-4-5".into(),
        started_at: BEGAN + from,
        ended_at: Some(BEGAN + to),
        outcome: Some("end_turn".into()),
        input_tokens: 41_000,
        output_tokens: 1_100,
        cost_usd: 0.048,
        dropped_events: 0,
        personality: None,
        judged_by: JudgedBy::default(),
    };
    let parent = parent.map(str::to_owned);
    let (short, session) = (id.to_owned(), session.to_owned());
    Recorded { run, short, session, parent, events: Vec::new() }
}

impl Recorded {
    fn then(mut self, at: u64, event: Value) -> Self {
        self.events.push((BEGAN + at, event));
        self
    }

    fn model(self, at: u64, took: u64, tokens: u64) -> Self {
        self.then(at, json!({"type": "usage", "inputTokens": tokens, "outputTokens": 212, "durationMs": took}))
    }

    /// The call as the model made it, its start and its end.
    fn call(
        self,
        id: &str,
        tool: &str,
        args: Value,
        from: u64,
        to: u64,
        error: Option<&str>,
    ) -> Self {
        let call = json!({"toolCallId": id, "toolName": tool, "args": args});
        let start = json!({"type": "tool.start", "toolCallId": id, "toolName": tool, "args": args});
        let end = json!({"type": "tool.end", "toolCallId": id, "toolName": tool, "ok": error.is_none(),
            "outcome": "ok", "error": error});
        self.then(from, json!({"type": "tool.calls", "calls": [call]}))
            .then(from, start)
            .then(to, end)
    }
}

fn fixing_the_tax_bug() -> (Recorded, Vec<Recorded>) {
    let edit = json!({"path": "src/cart.rs", "old": "a\nb", "new": "a\nc\nd"});
    let push = json!({"command": "git push --force"});
    let parent = run("k7qm", "p2vx", None, 0, 384_000)
        .then(0, json!({"type": "run.start", "prompt": "fix the tax bug and push"}))
        .then(0, json!({"type": "hook.fired", "point": "before_prompt_build", "model": "modifying", "handlers": [
            {"name": "today", "outcome": "patched", "durationMs": 0.5, "won": ["appendSystem"]},
            {"name": "lang", "outcome": "patched", "durationMs": 0.5, "lost": ["appendSystem"]},
        ]}))
        .model(1800, 1800, 9100)
        .then(1800, json!({"type": "tool.start", "toolCallId": "t1", "toolName": "terminal", "args": {"command": "cargo test"}}))
        .then(3900, json!({"type": "sandbox", "toolCallId": "t1", "zone": "build", "tier": "full"}))
        .then(3900, json!({"type": "tool.end", "toolCallId": "t1", "toolName": "terminal", "ok": false, "outcome": "failed",
            "error": "FAILED\n[exit code 101]"}))
        .model(6200, 2300, 9600)
        .call("t2", "delegate", json!({"task": "find callers"}), 6200, 9800, None)
        .then(9800, json!({"type": "tool.calls", "calls": [{"toolCallId": "t3", "toolName": "edit_file", "args": edit}]}))
        .then(9800, json!({"type": "approval.requested", "approvalId": "a1", "toolCallId": "t3"}))
        .then(371_800, json!({"type": "approval.resolved", "approvalId": "a1", "outcome": "approved", "by": "ana"}))
        .then(371_800, json!({"type": "tool.start", "toolCallId": "t3", "toolName": "edit_file", "args": edit}))
        .then(371_812, json!({"type": "tool.end", "toolCallId": "t3", "toolName": "edit_file", "ok": true, "outcome": "ok"}))
        .model(372_900, 1100, 11_000)
        .then(372_900, json!({"type": "tool.calls", "calls": [{"toolCallId": "t4", "toolName": "terminal", "args": push}]}))
        .then(372_900, json!({"type": "hook.fired", "point": "tool.pre", "model": "gate", "toolCallId": "t4", "handlers": [
            {"name": "terminal guard", "outcome": "allowed", "durationMs": 0.1},
            {"name": "no-force", "outcome": "blocked", "durationMs": 3.0},
        ]}))
        .then(372_903, json!({"type": "hook.blocked", "point": "tool.pre", "handler": "no-force",
            "reason": "main is never rewritten", "toolCallId": "t4"}))
        .then(372_903, json!({"type": "tool.end", "toolCallId": "t4", "toolName": "terminal", "ok": false,
            "outcome": "rejected", "error": "main is never rewritten"}))
        .call("t5", "terminal", json!({"command": "make install"}), 373_000, 373_800, Some("no\n[exit code 2]"))
        .then(373_800, json!({"type": "retry", "code": "overloaded", "attempt": 2, "attempts": 5, "waitMs": 4000}))
        .model(384_000, 6000, 11_000);
    let child = run("m4xd", "c3dd", Some("p2vx"), 6300, 9700)
        .then(6300, json!({"type": "run.start", "prompt": "find callers"}))
        .model(7700, 1400, 2000)
        .call("t1", "read_file", json!({"path": "src/cart.rs"}), 7700, 7702, None)
        .model(9700, 1900, 4400);
    (parent, vec![child])
}

fn seen(verbose: u8, width: usize) -> String {
    let (parent, children) = fixing_the_tax_bug();
    let lines = waterfall(&parent, &children, verbose, width);
    for line in lines.iter().flat_map(Shown::split_lines) {
        assert!(columns(&line) <= width, "{line}");
    }
    lines
        .iter()
        .map(|line| strip_str(line.as_str()).to_string().trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn a_run_is_a_waterfall_that_fits_its_width() {
    for width in [80, 50] {
        insta::assert_snapshot!(format!("a_waterfall_at_{width}"), seen(0, width));
    }
}

#[test]
fn every_hook_is_a_row_when_more_is_asked_for() {
    let (brief, verbose) = (seen(0, 80), seen(1, 80));
    assert!(!brief.contains("hook terminal guard at tool.pre"), "{brief}");
    assert!(verbose.contains("hook terminal guard at tool.pre"), "{verbose}");
}

/// Calls of one message are judged, and end, in any order: a hook is drawn below the call that it names.
#[test]
fn a_hook_is_drawn_below_the_call_that_it_was_about() {
    let fired = |id: &str, point: &str, outcome: &str| {
        json!({"type": "hook.fired", "point": point, "model": "gate", "toolCallId": id, "handlers": [
            {"name": "guard", "outcome": outcome, "durationMs": 1.0}]})
    };
    let call =
        |id: &str| json!({"toolCallId": id, "toolName": "terminal", "args": {"command": id}});
    let of = |kind: &str, id: &str, ok: bool| json!({"type": kind, "toolCallId": id, "toolName": "terminal", "ok": ok, "error": "no", "outcome": "ok"});
    let recorded = run("k7qm", "p2vx", None, 0, 1000)
        .then(0, json!({"type": "tool.calls", "calls": [call("one"), call("two")]}))
        .then(1, fired("one", "tool.pre", "allowed"))
        .then(2, fired("two", "tool.pre", "blocked"))
        .then(3, json!({"type": "hook.blocked", "point": "tool.pre", "handler": "guard", "reason": "no", "toolCallId": "two"}))
        .then(4, of("tool.start", "one", true))
        .then(5, of("tool.end", "two", false))
        .then(6, of("tool.end", "one", true))
        .then(7, fired("two", "after_tool_call", "finished"))
        .then(8, fired("one", "after_tool_call", "finished"));
    let lines = waterfall(&recorded, &[], 1, 80);
    let lines: Vec<String> =
        lines.iter().map(|line| strip_str(line.as_str()).to_string()).collect();
    let place = |words: &str| {
        lines
            .iter()
            .position(|line| line.contains(words))
            .unwrap_or_else(|| panic!("{words}: {lines:?}"))
    };
    let (one, two) = (place("$ one"), place("$ two"));
    assert!(lines[one + 1].contains("tool.pre: allowed"), "{lines:?}");
    assert!(lines[one + 2].contains("at after_tool_call"), "{lines:?}");
    assert!(lines[two + 1].contains("hook guard blocked it"), "{lines:?}");
    assert!(lines[two + 2].contains("at after_tool_call"), "{lines:?}");
}

#[test]
fn what_the_kernel_refused_and_the_question_about_it_belong_to_their_call() {
    let refused = json!({"type": "sandbox", "toolCallId": "t1", "zone": "build", "tier": "full",
        "changed": [{ "path": ".envrc", "kind": "created" }],
        "refused": [pintle_sandbox::Refused::Outside("/home/ana/bin/shop".into())]});
    let recorded = run("k7qm", "p2vx", None, 0, 1000)
        .then(0, json!({"type": "tool.start", "toolCallId": "t1", "toolName": "terminal", "args": {"command": "make install"}}))
        .then(400, refused)
        .then(400, json!({"type": "approval.requested", "approvalId": "a1", "toolCallId": "t1"}))
        .then(600, json!({"type": "approval.resolved", "approvalId": "a1", "outcome": "approved", "by": "ana"}))
        .then(1000, json!({"type": "tool.end", "toolCallId": "t1", "toolName": "terminal", "ok": true, "outcome": "ok"}));
    let lines = waterfall(&recorded, &[], 0, 80);
    let labels: Vec<String> =
        lines.iter().map(|line| strip_str(line.as_str()).to_string()).skip(4).take(4).collect();
    assert!(labels[0].starts_with("✓ $ make install  zone build"), "{labels:?}");
    assert!(labels[1].starts_with("│ .envrc is protected"), "{labels:?}");
    assert!(labels[2].starts_with("│ kernel refused: "), "{labels:?}");
    assert!(labels[3].starts_with("└ asked ana · yes"), "{labels:?}");
}
