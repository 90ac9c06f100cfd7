//! The events of a run as rows of a timeline. The live page, the page of a past run and the list of runs all read these.

mod calls;
mod hooks;

use std::collections::HashMap;

use serde_json::Value;

use super::{
    format::{cut, duration, grouped, one_line, plural},
    row::{Head, Kind, Mark, Row},
};

/// A call that the model made and that has no other event yet.
struct Announced {
    key: CallKey,
    tool: String,
    args: Value,
}

/// Calls of sub-agents may have the same ids.
type CallKey = (String, String);

/// The place of a run in the timeline. A sub-agent's run is below the call that started it.
#[derive(Clone, Default)]
struct Place {
    level: usize,
    under: Option<usize>,
    requests: usize,
    /// The row of its newest model request, and whether that is under way.
    request: Option<usize>,
    is_asking: bool,
    prompt: Option<usize>,
}

/// A run's timeline, event by event.
pub(crate) struct Timeline {
    pub(crate) head: Head,
    pub(crate) rows: Vec<Row>,
    /// How much of a text is kept.
    longest: usize,
    announced: Vec<Announced>,
    /// Calls that have not ended, and those that have: hooks after a call are still about it.
    calls: HashMap<CallKey, usize>,
    ended: HashMap<CallKey, usize>,
    questions: HashMap<String, (usize, CallKey)>,
    runs: HashMap<String, Place>,
    /// The run of each session.
    sessions: HashMap<String, String>,
    /// The rows that the current event changed.
    touched: Vec<usize>,
}

impl Timeline {
    /// An empty timeline that keeps at most so many characters of each text.
    pub(crate) fn new(longest: usize) -> Self {
        Self {
            head: Head::default(),
            rows: Vec::new(),
            longest,
            announced: Vec::new(),
            calls: HashMap::new(),
            ended: HashMap::new(),
            questions: HashMap::new(),
            runs: HashMap::new(),
            sessions: HashMap::new(),
            touched: Vec::new(),
        }
    }

    /// Adds the next event, and returns the rows that it added or changed.
    pub(crate) fn push(&mut self, event: &Value) -> Vec<usize> {
        let run = word(event, "runId").to_string();
        let at = number(event, "ts");
        let level = self.place(&run, event).level;
        match word(event, "type") {
            "run.start" => self.start(event, at, level),
            "prompt" => self.prompt(&run, event, at),
            "usage" => self.usage(&run, event, at),
            "retry" => self.retry(&run, event, at),
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
            "hook.fired" => self.fired(&run, event, at),
            "hook.blocked" => self.blocked(&run, event, at),
            "approval.requested" => self.asked(&run, event, at),
            "approval.resolved" => self.answered(event, at),
            "reminder" => {
                let mut row = self.below(&run, None, Kind::Hook, "Reminder", at);
                row.detail = one_line(word(event, "text"), 120);
                row.more = vec![("The model was told".into(), self.kept(word(event, "text")))];
                self.add(row);
            }
            "error" => {
                let mut row = self.of_run(&run, Kind::Error, "Error", at);
                (row.mark, row.word) = (Mark::Fail, "failed".into());
                row.detail = word(event, "code").to_string();
                row.why = one_line(word(event, "message"), 240);
                row.more = vec![("It says".into(), self.kept(word(event, "message")))];
                self.add(row);
            }
            "done" => self.done(&run, event, at),
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

    /// The rows in the order of the page: each after its parent and the parent's earlier rows.
    pub(crate) fn in_order(self) -> Vec<Row> {
        let above: Vec<Option<usize>> = self.rows.iter().map(|row| row.under).collect();
        // Rows are sorted by their path from the top.
        let way = |row: &Row| {
            let way = std::iter::successors(Some(row.i), |i| above.get(*i).copied().flatten());
            let mut way: Vec<usize> = way.collect();
            way.reverse();
            way
        };
        let mut rows = self.rows;
        rows.sort_by_cached_key(way);
        rows
    }

    /// The place of the event's run.
    fn place(&mut self, run: &str, event: &Value) -> Place {
        if let Some(place) = self.runs.get(run) {
            return place.clone();
        }
        let mut place = Place::default();
        if let Some(parent) = self.sessions.get(word(event, "parentSessionId")) {
            place.level = self.runs.get(parent).map_or(0, |parent| parent.level) + 1;
            // The key of a sub-agent's session ends with the call.
            let call = word(event, "sessionKey").rsplit(':').next().unwrap_or_default();
            place.under = self.calls.get(&(parent.clone(), call.to_string())).copied();
            self.head.sub_agents += 1;
        }
        self.runs.insert(run.to_string(), place.clone());
        self.sessions.insert(word(event, "sessionId").to_string(), run.to_string());
        place
    }

    /// A row of a run.
    fn of_run(&self, run: &str, kind: Kind, name: impl Into<String>, at: f64) -> Row {
        let (level, under) = self.runs.get(run).map_or((0, None), |it| (it.level, it.under));
        Row { level, under, ..Row::new(kind, name, at, at) }
    }

    /// A row below another one, or one step below its run.
    fn below(&self, run: &str, above: Option<usize>, kind: Kind, name: &str, at: f64) -> Row {
        let row = self.of_run(run, kind, name, at);
        match above.and_then(|above| self.rows.get(above)) {
            Some(above) => Row { level: above.level + 1, under: Some(above.i), ..row },
            None => Row { level: row.level + usize::from(!self.rows.is_empty()), ..row },
        }
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

    fn prompt(&mut self, run: &str, event: &Value, at: f64) {
        let list = event.get("parts").and_then(Value::as_array).into_iter().flatten();
        let list = list.filter(|part| !word(part, "text").is_empty());
        let part = |part: &Value| {
            let by = format!("{}, by {}", word(part, "part"), word(part, "by"));
            (by, self.kept(word(part, "text")))
        };
        let more: Vec<(String, String)> = list.map(part).collect();
        let detail = plural(more.len(), "part");
        // A run that was parked builds its prompt again.
        let before = self.runs.get(run).and_then(|place| place.prompt);
        let row = before.unwrap_or_else(|| {
            let row = self.below(run, None, Kind::Prompt, "System prompt", at);
            self.add(row)
        });
        self.change(row, |row| (row.detail, row.more) = (detail, more));
        self.runs.entry(run.to_string()).or_default().prompt = Some(row);
    }

    /// The row of the current model request. It begins with the first hook of the request, or is made when the request ends.
    fn request(&mut self, run: &str, at: f64) -> usize {
        let place = self.runs.entry(run.to_string()).or_default();
        if let Some(row) = place.request.filter(|_| place.is_asking) {
            return row;
        }
        let nth = place.requests + 1;
        let mut row = self.of_run(run, Kind::Model, format!("Model request {nth}"), at);
        (row.mark, row.word, row.is_open) = (Mark::Idle, "running".into(), true);
        let row = self.add(row);
        let place = self.runs.entry(run.to_string()).or_default();
        (place.request, place.is_asking) = (Some(row), true);
        row
    }

    fn usage(&mut self, run: &str, event: &Value, at: f64) {
        let took = number(event, "durationMs");
        let row = self.request(run, at);
        let place = self.runs.entry(run.to_string()).or_default();
        (place.requests, place.is_asking) = (place.requests + 1, false);
        self.head.requests += 1;
        self.head.cost_usd += number(event, "costUsd");
        let tokens = |key| grouped(number(event, key) as u64);
        let detail = format!("{} in · {} out", tokens("inputTokens"), tokens("outputTokens"));
        self.change(row, |row| {
            (row.mark, row.word, row.is_open) = (Mark::Ok, "ok".into(), false);
            (row.from, row.to) = (at - took, at);
            (row.detail, row.took) = (detail, duration(took));
        });
    }

    fn retry(&mut self, run: &str, event: &Value, at: f64) {
        let row = self.request(run, at);
        self.runs.entry(run.to_string()).or_default().is_asking = false;
        let count = |key| number(event, key) as u64;
        let (wait, why) = (number(event, "waitMs"), one_line(word(event, "message"), 240));
        let detail = format!("try {} of {} follows", count("attempt"), count("attempts"));
        self.change(row, |row| {
            (row.mark, row.word, row.is_open) = (Mark::Fail, "failed".into(), false);
            (row.to, row.took) = (at + wait, duration(wait));
            (row.detail, row.why) = (detail, why);
        });
    }

    fn done(&mut self, run: &str, event: &Value, at: f64) {
        let Place { level, request, is_asking, .. } = self.place(run, event);
        if let Some(request) = request.filter(|_| is_asking) {
            self.change(request, |row| {
                (row.word, row.is_open, row.to) = ("stopped".into(), false, at);
            });
        }
        if level > 0 {
            return;
        }
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
