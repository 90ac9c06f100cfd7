//! Calls and questions as rows.

use pintle_agent::Refused;
use serde::Deserialize;
use serde_json::Value;

use super::{Announced, CallKey, Timeline, number, word};
use crate::page::{
    format::{cut, duration, one_line},
    row::{Kind, Mark},
};

impl Timeline {
    pub(super) fn announce(&mut self, run: &str, event: &Value) {
        let said = self.kept(word(event, "text"));
        // A run that was parked announces its calls again.
        let request = self.runs.get(run).and_then(|place| place.request);
        if let Some(request) = request.filter(|_| !said.is_empty()) {
            self.change(request, |row| row.more = vec![("It said".into(), said)]);
        }
        for made in event.get("calls").and_then(Value::as_array).into_iter().flatten() {
            let key = (run.to_string(), word(made, "toolCallId").to_string());
            let args = made.get("args").cloned().unwrap_or_default();
            let is_known = self.calls.contains_key(&key)
                || self.announced.iter().any(|announced| announced.key == key);
            if !is_known {
                let tool = word(made, "toolName").to_string();
                self.announced.push(Announced { key, tool, args });
            }
        }
    }

    /// The row of the call that this event is about, made if there is none.
    pub(super) fn call(&mut self, run: &str, event: &Value, at: f64) -> usize {
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        let (tool, args) = (word(event, "toolName").to_string(), event.get("args").cloned());
        self.row_of(key, tool, args, at)
    }

    pub(super) fn row_of(
        &mut self,
        key: CallKey,
        tool: String,
        args: Option<Value>,
        at: f64,
    ) -> usize {
        let before = self.announced.iter().position(|announced| announced.key == key);
        let before = before.map(|at| self.announced.remove(at));
        let args = args.or(before.as_ref().map(|it| it.args.clone()));
        if let Some(row) = self.calls.get(&key).copied() {
            return row;
        }
        let tool = if tool.is_empty() { before.map_or(tool, |it| it.tool) } else { tool };
        let args = args.unwrap_or_default();
        let kind = if tool == "delegate" { Kind::Agent } else { Kind::Tool };
        let mut row = self.of_run(&key.0, kind, tool, at);
        row.is_open = true;
        (row.mark, row.word, row.took) = (Mark::Idle, "judged".into(), "not started".into());
        let text = |key: &str| args.get(key).and_then(Value::as_str);
        let said = ["command", "path", "task", "url", "query"].iter().find_map(|key| text(key));
        row.detail = match said {
            Some(said) => one_line(said, 160),
            None if args.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
            None => cut(&args.to_string(), 160),
        };
        let args = serde_json::to_string_pretty(&args).unwrap_or_default();
        row.more = vec![("Arguments".into(), self.kept(&args))];
        let row = self.add(row);
        self.calls.insert(key, row);
        row
    }

    pub(super) fn end(&mut self, run: &str, event: &Value, at: f64) {
        let call = self.call(run, event, at);
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        self.calls.remove(&key);
        self.ended.insert(key, call);
        self.head.calls += 1;
        let said = event.get("content").or(event.get("error")).and_then(Value::as_str);
        let said = said.unwrap_or_default();
        let (mark, outcome) = match word(event, "outcome") {
            "ok" => (Mark::Ok, "ok"),
            "rejected" => (Mark::Block, "blocked"),
            "timed_out" => (Mark::Fail, "timed out"),
            "unknown" => (Mark::Fail, "unknown"),
            "cancelled" => (Mark::Idle, "stopped"),
            "panicked" => (Mark::Fail, "panicked"),
            _ => (Mark::Fail, "failed"),
        };
        self.head.blocked += usize::from(mark == Mark::Block);
        self.head.failed += usize::from(mark == Mark::Fail);
        let kept = self.kept(said);
        let from =
            if event.get("untrusted").is_some() { "It said, from outside" } else { "It said" };
        self.change(call, |row| {
            (row.mark, row.is_open) = (mark, false);
            row.took = match outcome {
                "blocked" => "never ran".into(),
                "unknown" => "unknown".into(),
                _ => duration(number(event, "durationMs")),
            };
            match outcome {
                "blocked" if row.why.is_empty() => row.why = one_line(said, 240),
                "unknown" => row.why = "Pintle ended while it ran. It was not run again.".into(),
                "failed" | "timed out" if row.why.is_empty() => {
                    row.why = one_line(said.lines().last().unwrap_or_default(), 240);
                }
                _ => {}
            }
            // A person's denial keeps its word.
            if row.word != "denied" {
                row.word = outcome.into();
            }
            row.to = if mark == Mark::Block { row.from } else { at };
            if !kept.is_empty() {
                row.more.push((from.into(), kept));
            }
        });
    }

    pub(super) fn sandbox(&mut self, run: &str, event: &Value, at: f64) {
        let call = self.call(run, event, at);
        let list = |key: &str| event.get(key).and_then(Value::as_array).into_iter().flatten();
        let refused: Vec<String> = list("refused").filter_map(in_words).collect();
        let is_denied = |host: &&Value| host.get("allowed") == Some(&Value::Bool(false));
        let hosts = list("hosts").filter(is_denied).map(|host| word(host, "host"));
        let denied: Vec<String> = hosts.map(|host| format!("connect to {host}")).collect();
        let refused = [refused, denied].concat().join("; ");
        let held = format!("zone {}, sandbox {}", word(event, "zone"), word(event, "tier"));
        self.change(call, |row| {
            row.more.push(("Held by".into(), held));
            if !refused.is_empty() {
                row.why = format!("The kernel refused: {refused}");
            }
        });
    }

    pub(super) fn asked(&mut self, run: &str, event: &Value, at: f64) {
        let id = word(event, "approvalId").to_string();
        // A run that was parked asks the same question again when it goes on.
        if id.is_empty() || self.questions.contains_key(&id) {
            return;
        }
        let call = self.call(run, event, at);
        let zone = word(event, "zone").to_string();
        self.change(call, |row| {
            (row.mark, row.word, row.took) = (Mark::Wait, "waiting".into(), "not started".into());
            row.question = Some(id.clone());
            if !zone.is_empty() {
                row.more.push(("Zone".into(), zone));
            }
        });
        let mut row = self.below(run, Some(call), Kind::Person, "A person", at);
        (row.mark, row.word, row.is_open) = (Mark::Wait, "waiting".into(), true);
        row.detail = "is asked".into();
        row.question = Some(id.clone());
        let row = self.add(row);
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        self.questions.insert(id.clone(), (row, key));
        self.head.waiting.push(id);
    }

    pub(super) fn answered(&mut self, event: &Value, at: f64) {
        let id = word(event, "approvalId");
        self.head.waiting.retain(|waiting| waiting != id);
        let Some((row, key)) = self.questions.get(id).cloned() else { return };
        let outcome = word(event, "outcome");
        let (mark, said) = match outcome {
            "approved" => (Mark::Ok, "approved".to_string()),
            "denied" => (Mark::Block, "denied".to_string()),
            "no_one_to_ask" => (Mark::Block, "no one to ask".to_string()),
            other => (Mark::Idle, other.replace('_', " ")),
        };
        let by = event.get("by").and_then(Value::as_str).unwrap_or_default().to_string();
        let reason = self.kept(word(event, "reason"));
        self.change(row, |row| {
            (row.mark, row.word, row.is_open) = (mark, said.clone(), false);
            if !by.is_empty() {
                (row.name, row.detail) = (by.clone(), "was asked".into());
            }
            (row.to, row.took) = (at, duration(at - row.from));
            row.why = one_line(&reason, 240);
        });
        if let Some(call) = self.calls.get(&key).copied() {
            self.change(call, |row| {
                row.question = None;
                (row.mark, row.word) = match mark {
                    Mark::Ok => (Mark::Idle, "approved".into()),
                    _ => {
                        (Mark::Block, if outcome == "denied" { "denied" } else { "blocked" }.into())
                    }
                };
            });
        }
    }
}

fn in_words(refused: &Value) -> Option<String> {
    Refused::deserialize(refused).ok().map(|refused| refused.to_string())
}
