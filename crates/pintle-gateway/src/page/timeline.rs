//! The events of a run as rows of a timeline. The live page, the page of a past run and the list of runs all read these.

use std::collections::HashMap;

use pintle_agent::Refused;
use serde::Deserialize;
use serde_json::Value;

use super::{
    row::{Head, Kind, Mark, Row},
    words::{cut, duration, grouped, one_line},
};

/// A call that the model made and of which nothing else is known yet.
struct Announced {
    key: CallKey,
    tool: String,
    args: Value,
}

/// Calls of sub-agents may have the same ids.
type CallKey = (String, String);

/// A run's timeline, event by event.
pub(crate) struct Timeline {
    pub(crate) head: Head,
    pub(crate) rows: Vec<Row>,
    /// How much of a text is kept.
    longest: usize,
    announced: Vec<Announced>,
    calls: HashMap<CallKey, usize>,
    questions: HashMap<String, (usize, CallKey)>,
    /// How deep each run of the timeline is nested, and its number of model requests.
    runs: HashMap<String, (usize, usize)>,
    sessions: HashMap<String, usize>,
    /// The rows that the event under way has touched.
    touched: Vec<usize>,
}

impl Timeline {
    /// An empty one that keeps so many characters of each text.
    pub(crate) fn new(longest: usize) -> Self {
        Self {
            head: Head::default(),
            rows: Vec::new(),
            longest,
            announced: Vec::new(),
            calls: HashMap::new(),
            questions: HashMap::new(),
            runs: HashMap::new(),
            sessions: HashMap::new(),
            touched: Vec::new(),
        }
    }

    /// Takes the next event, and says which rows it added or changed.
    pub(crate) fn push(&mut self, event: &Value) -> Vec<usize> {
        let run = word(event, "runId").to_string();
        let at = number(event, "ts");
        let level = self.level(&run, event);
        match word(event, "type") {
            "run.start" => self.start(event, at, level),
            "usage" => self.usage(&run, event, at, level),
            "retry" => self.retry(event, at, level),
            "tool.calls" => self.announce(&run, event),
            "tool.start" => {
                let call = self.call(&run, event, at);
                self.change(call, |row| {
                    (row.from, row.to, row.is_open) = (at, at, true);
                    (row.mark, row.word, row.took) = (Mark::Idle, "running".into(), String::new());
                });
            }
            "tool.end" => self.end(&run, event, at),
            "sandbox" => self.sandbox(&run, event, at),
            "hook.fired" => self.fired(&run, event, at, level),
            "hook.blocked" => self.blocked(&run, event, at, level),
            "approval.requested" => self.asked(&run, event, at),
            "approval.resolved" => self.answered(event, at),
            "reminder" => {
                let mut row = Row::new(Kind::Hook, "Reminder", at, at);
                (row.level, row.detail) = (level + 1, one_line(word(event, "text"), 120));
                row.more = vec![("The model was told".into(), self.kept(word(event, "text")))];
                self.add(row);
            }
            "error" => {
                let mut row = Row::new(Kind::Error, "Error", at, at);
                (row.mark, row.word, row.level) = (Mark::Fail, "failed".into(), level);
                row.detail = word(event, "code").to_string();
                row.why = one_line(word(event, "message"), 240);
                row.more = vec![("It says".into(), self.kept(word(event, "message")))];
                self.add(row);
            }
            "done" if level == 0 => self.done(event, at),
            _ => {}
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn kept(&self, text: &str) -> String {
        cut(text, self.longest)
    }

    /// How deep the run of this event is nested.
    fn level(&mut self, run: &str, event: &Value) -> usize {
        if let Some((level, _)) = self.runs.get(run) {
            return *level;
        }
        let parent = self.sessions.get(word(event, "parentSessionId"));
        let level = parent.map_or(0, |level| level + 1);
        self.runs.insert(run.to_string(), (level, 0));
        self.sessions.insert(word(event, "sessionId").to_string(), level);
        self.head.sub_agents += usize::from(level > 0);
        level
    }

    fn add(&mut self, mut row: Row) -> usize {
        row.i = self.rows.len();
        self.touched.push(row.i);
        self.rows.push(row);
        self.rows.len() - 1
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.rows.get_mut(at) {
            change(row);
            self.touched.push(at);
        }
    }

    fn start(&mut self, event: &Value, at: f64, level: usize) {
        // A run that was parked starts again: its rows are there.
        if level > 0 || !self.head.prompt.is_empty() {
            return;
        }
        let prompt = word(event, "prompt");
        self.head.prompt = self.kept(prompt);
        self.head.platform = word(event, "platform").to_string();
        self.head.personality = word(event, "personalityId").to_string();
        let key = word(event, "sessionKey");
        self.head.chat = key.split_once(':').map_or(key, |(_, chat)| chat).to_string();
        let mut row = Row::new(Kind::Message, "Message", at, at);
        row.detail = one_line(prompt, 160);
        row.more = vec![("Asked for".into(), self.kept(prompt))];
        self.add(row);
    }

    fn usage(&mut self, run: &str, event: &Value, at: f64, level: usize) {
        let nth = self.runs.get_mut(run).map_or(0, |(_, requests)| {
            *requests += 1;
            *requests
        });
        self.head.requests += 1;
        self.head.cost_usd += number(event, "costUsd");
        let took = number(event, "durationMs");
        let mut row = Row::new(Kind::Model, format!("Model request {nth}"), at - took, at);
        row.level = level;
        let tokens = |key| grouped(number(event, key) as u64);
        row.detail = format!("{} in · {} out", tokens("inputTokens"), tokens("outputTokens"));
        row.took = duration(took);
        self.add(row);
    }

    fn retry(&mut self, event: &Value, at: f64, level: usize) {
        let mut row = Row::new(Kind::Model, "Model request", at, at + number(event, "waitMs"));
        (row.mark, row.word, row.level) = (Mark::Fail, "failed".into(), level);
        row.detail = format!(
            "try {} of {} follows",
            number(event, "attempt") as u64,
            number(event, "attempts") as u64
        );
        row.why = one_line(word(event, "message"), 240);
        row.took = duration(number(event, "waitMs"));
        self.add(row);
    }

    fn announce(&mut self, run: &str, event: &Value) {
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
    fn call(&mut self, run: &str, event: &Value, at: f64) -> usize {
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        let (tool, args) = (word(event, "toolName").to_string(), event.get("args").cloned());
        self.row_of(key, tool, args, at)
    }

    fn row_of(&mut self, key: CallKey, tool: String, args: Option<Value>, at: f64) -> usize {
        let before = self.announced.iter().position(|announced| announced.key == key);
        let before = before.map(|at| self.announced.remove(at));
        let args = args.or(before.as_ref().map(|it| it.args.clone()));
        if let Some(row) = self.calls.get(&key).copied() {
            return row;
        }
        let tool = if tool.is_empty() { before.map_or(tool, |it| it.tool) } else { tool };
        let (args, level) = (args.unwrap_or_default(), self.runs.get(&key.0).map_or(0, |it| it.0));
        let kind = if tool == "delegate" { Kind::Agent } else { Kind::Tool };
        let mut row = Row::new(kind, tool, at, at);
        (row.level, row.is_open) = (level, true);
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

    fn end(&mut self, run: &str, event: &Value, at: f64) {
        let call = self.call(run, event, at);
        self.calls.remove(&(run.to_string(), word(event, "toolCallId").to_string()));
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
                row.more.push(("It said".into(), kept));
            }
        });
    }

    fn sandbox(&mut self, run: &str, event: &Value, at: f64) {
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

    fn fired(&mut self, run: &str, event: &Value, at: f64, level: usize) {
        let point = word(event, "point");
        // A call begins when its first hook fires.
        if ["before_tool_call", "tool.pre"].contains(&point) {
            let next = self.announced.iter().find(|announced| announced.key.0 == run);
            if let Some(key) = next.map(|announced| announced.key.clone()) {
                self.row_of(key, String::new(), None, at);
            }
        }
        let below = level + usize::from(!self.rows.is_empty());
        let model = word(event, "model");
        for handler in event.get("handlers").and_then(Value::as_array).into_iter().flatten() {
            let took = number(handler, "durationMs");
            let mut row = Row::new(Kind::Hook, word(handler, "name"), at, at + took);
            (row.level, row.detail, row.took) = (below, point.to_string(), duration(took));
            (row.mark, row.word) = match word(handler, "outcome") {
                "finished" | "passed" | "removed" => (Mark::Ok, "ok".into()),
                "patched" => (Mark::Ok, "changed".into()),
                "allowed" => (Mark::Ok, "allowed".into()),
                "claimed" => (Mark::Ok, "claimed".into()),
                "asked" => (Mark::Wait, "asked".into()),
                "blocked" => (Mark::Block, "blocked".into()),
                "cancelled" => (Mark::Idle, "stopped".into()),
                failed => (Mark::Fail, failed.replace('_', " ")),
            };
            let keys = |key: &str| -> String {
                let keys = handler.get(key).and_then(Value::as_array).into_iter().flatten();
                keys.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            };
            let (won, lost, notes) = (keys("won"), keys("lost"), keys("notes"));
            row.changed = !won.is_empty();
            row.why = match (won.as_str(), lost.as_str()) {
                ("", "") => notes.clone(),
                (won, "") => format!("changed {won}"),
                ("", lost) => format!("lost {lost}"),
                (won, lost) => format!("changed {won}, lost {lost}"),
            };
            row.plugin = handler.get("plugin").and_then(Value::as_str).map(str::to_string);
            let from = row.plugin.clone().unwrap_or_else(|| "none; it is built in or yours".into());
            row.more = vec![("Point".into(), format!("{point}, {model}")), ("Plugin".into(), from)];
            let said = [("Won", won), ("Lost", lost), ("Notes", notes)];
            let said = said.into_iter().filter(|(_, keys)| !keys.is_empty());
            row.more.extend(said.map(|(name, keys)| (name.to_string(), keys)));
            self.head.failed += usize::from(row.mark == Mark::Fail);
            self.add(row);
        }
    }

    fn blocked(&mut self, run: &str, event: &Value, at: f64, level: usize) {
        let (handler, point) = (word(event, "handler"), word(event, "point"));
        let reason = self.kept(word(event, "reason"));
        // Calls may be judged at the same time: the first of its fires that has no reason yet is meant.
        let is_it = |row: &&Row| {
            (row.kind, row.name.as_str(), row.detail.as_str()) == (Kind::Hook, handler, point)
                && matches!(row.mark, Mark::Block | Mark::Fail)
                && row.why.is_empty()
        };
        let newest = self.rows.len().saturating_sub(64);
        let hook = match self.rows.iter().skip(newest).find(is_it) {
            Some(row) => row.i,
            None => {
                let mut row = Row::new(Kind::Hook, handler, at, at);
                (row.level, row.detail) = (level + 1, point.to_string());
                (row.mark, row.word) = (Mark::Block, "blocked".into());
                self.add(row)
            }
        };
        // A program says no by its exit code: that is no failure.
        let is_exit = self.rows.get(hook).is_some_and(|row| row.word == "exit");
        self.head.failed = self.head.failed.saturating_sub(usize::from(is_exit));
        self.change(hook, |row| {
            // One that broke keeps the word for that.
            if is_exit {
                (row.mark, row.word) = (Mark::Block, "blocked".into());
            }
            row.why = one_line(&reason, 240);
            row.more.push(("Why".into(), reason.clone()));
        });
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        match self.calls.get(&key).copied() {
            Some(call) => self.change(call, |row| {
                // After it ran, a hook can only object.
                if row.took == "not started" {
                    (row.mark, row.word, row.took) =
                        (Mark::Block, "blocked".into(), "never ran".into());
                    row.why = format!("{handler}: {}", one_line(&reason, 240));
                }
            }),
            None if event.get("toolCallId").is_none() => self.head.blocked += 1,
            None => {}
        }
    }

    fn asked(&mut self, run: &str, event: &Value, at: f64) {
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
        let mut row = Row::new(Kind::Person, "A person", at, at);
        (row.mark, row.word, row.is_open) = (Mark::Wait, "waiting".into(), true);
        row.level = self.rows.get(call).map_or(1, |row| row.level + 1);
        row.detail = "is asked".into();
        row.question = Some(id.clone());
        let row = self.add(row);
        let key = (run.to_string(), word(event, "toolCallId").to_string());
        self.questions.insert(id.clone(), (row, key));
        self.head.waiting.push(id);
    }

    fn answered(&mut self, event: &Value, at: f64) {
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

    fn done(&mut self, event: &Value, at: f64) {
        let (text, outcome) = (word(event, "text"), word(event, "outcome"));
        self.head.answer = self.kept(text);
        self.head.outcome = Some(outcome.to_string());
        let mut row = Row::new(Kind::Answer, "Answer", at, at);
        (row.mark, row.word) = match outcome {
            "end_turn" => (Mark::Ok, "done".into()),
            "aborted" => (Mark::Idle, "stopped".into()),
            "refusal" => (Mark::Block, "refused".into()),
            other => (Mark::Fail, other.replace('_', " ")),
        };
        row.detail = one_line(text, 160);
        row.more = vec![("It answered".into(), self.kept(text))];
        self.add(row);
    }
}

fn word<'e>(event: &'e Value, key: &str) -> &'e str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(event: &Value, key: &str) -> f64 {
    event.get(key).and_then(Value::as_f64).unwrap_or_default()
}

fn in_words(refused: &Value) -> Option<String> {
    Refused::deserialize(refused).ok().map(|refused| refused.to_string())
}
