//! The events of a run as rows: model requests, calls, questions, hooks.

use std::collections::{BTreeMap, HashMap};

use pintle_sandbox::{ProtectedChange, Refused};
use serde_json::Value;

use super::axis::Span;
use crate::{
    shown::{Show, Shown, bold, dim, red, text},
    term::{Glyph, call, duration_ms, plural, tokens},
};

/// The kind of a part of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bar {
    Tool,
    Model,
    Wait,
    Fold,
    Instant,
}

/// A part of a bar, in milliseconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) bar: Bar,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// One row, and those that belong to it.
pub(super) struct Row {
    pub(super) label: Shown,
    pub(super) segments: Vec<Segment>,
    pub(super) failed: bool,
    /// How long it took, if that is known better than from its bar.
    pub(super) took: Option<f64>,
    pub(super) children: Vec<Row>,
}

impl Row {
    fn new(label: Shown, bar: Bar, from: f64, to: f64) -> Self {
        let segments = vec![Segment { bar, from, to }];
        Self { label, segments, failed: false, took: None, children: Vec::new() }
    }

    pub(super) fn from(&self) -> f64 {
        self.segments.iter().map(|it| it.from).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn to(&self) -> f64 {
        self.segments.iter().map(|it| it.to).fold(0.0, f64::max)
    }

    pub(super) fn took(&self) -> f64 {
        self.took.unwrap_or_else(|| self.to() - self.from())
    }

    /// The times of this row and its children for this kind of bar.
    pub(super) fn spans(&self, wanted: fn(Bar) -> bool, spans: &mut Vec<Span>) {
        let own = self.segments.iter().filter(|it| wanted(it.bar));
        spans.extend(own.map(|it| (it.from, it.to)));
        self.children.iter().for_each(|child| child.spans(wanted, spans));
    }
}

/// A run's rows, and the totals below them.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) prompt: String,
    pub(super) tier: Option<String>,
    /// How many hook calls allowed, and how long they took together.
    pub(super) allowed: (u64, f64),
    /// Notes: which hook won or lost a key, which blocked and why, and which part of an answer was ignored.
    pub(super) notes: Vec<String>,
    pub(super) refused: u64,
    pub(super) calls: u64,
    pub(super) blocked: u64,
}

/// A call while its events are read.
#[derive(Default)]
struct Call {
    tool: String,
    args: Value,
    /// The zone that its process ran in.
    zone: Option<String>,
    started: Option<f64>,
    waits: Vec<Segment>,
    children: Vec<Row>,
}

/// The state while events are read.
struct Reader<'a> {
    /// Milliseconds since 1970 at which the axis begins.
    origin: u64,
    verbose: u8,
    out: Rows,
    models: u64,
    calls: HashMap<String, Call>,
    questions: BTreeMap<String, (String, f64)>,
    /// Where the rows of calls that ended are.
    ended: HashMap<String, usize>,
    /// Rows of gate handlers that stopped something, by call, point and name, until `hook.blocked` says what.
    stopped: HashMap<[String; 3], Row>,
    sub_agents: &'a mut dyn FnMut(&Value, f64, f64) -> Vec<Row>,
}

/// Reads a run's events. `sub_agents` gives the rows of a call's sub-agent.
pub(super) fn read(
    events: &[(u64, Value)],
    origin: u64,
    verbose: u8,
    sub_agents: &mut dyn FnMut(&Value, f64, f64) -> Vec<Row>,
) -> Rows {
    let out = Rows::default();
    let (calls, ended) = (HashMap::new(), HashMap::new());
    let (questions, stopped, models) = (BTreeMap::new(), HashMap::new(), 0);
    let mut reader =
        Reader { origin, verbose, out, models, calls, ended, questions, stopped, sub_agents };
    for (at, event) in events {
        reader.event(*at, event);
    }
    reader.unfinished(events.last().map_or(origin, |(at, _)| *at));
    reader.out.rows.sort_by(|one, other| one.from().total_cmp(&other.from()));
    reader.out
}

impl Reader<'_> {
    fn since(&self, at: u64) -> f64 {
        at.saturating_sub(self.origin) as f64
    }

    fn event(&mut self, at: u64, event: &Value) {
        let at = self.since(at);
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = word("toolCallId").to_owned();
        match word("type") {
            "run.start" => self.out.prompt = word("prompt").to_owned(),
            "usage" => self.usage(at, event),
            "retry" => self.retry(at, event),
            "tool.calls" => {
                for made in event.get("calls").and_then(Value::as_array).into_iter().flatten() {
                    let field = |key: &str| made.get(key).cloned().unwrap_or_default();
                    let id = field("toolCallId").as_str().unwrap_or_default().to_owned();
                    let tool = field("toolName").as_str().unwrap_or_default().to_owned();
                    self.calls.insert(id, Call { tool, args: field("args"), ..Call::default() });
                }
            }
            "tool.start" => {
                let call = self.call(&id, event);
                call.started.get_or_insert(at);
            }
            "approval.requested" => {
                self.call(&id, event);
                self.questions.insert(word("approvalId").to_owned(), (id, at));
            }
            "approval.resolved" => self.answered(at, event),
            "hook.fired" => self.fired(at, &id, event),
            "hook.blocked" => self.blocked(at, &id, event),
            "sandbox" => self.sandbox(at, &id, event),
            "tool.end" => self.end(at, &id, event),
            "error" => {
                let label = text!("{} {}: {}", Glyph::Failed, word("code"), word("message"));
                self.out.rows.push(Row { failed: true, ..Row::new(label, Bar::Instant, at, at) });
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &str, event: &Value) -> &mut Call {
        let call = self.calls.entry(id.to_owned()).or_default();
        if let Some(tool) = event.get("toolName").and_then(Value::as_str) {
            call.tool = tool.to_owned();
        }
        if let Some(args) = event.get("args") {
            call.args = args.clone();
        }
        call
    }

    fn usage(&mut self, at: f64, event: &Value) {
        self.models += 1;
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or_default();
        let label = match (number("inputTokens"), number("outputTokens")) {
            (0, 0) => text!("model {}", self.models),
            (input, output) => {
                text!("model {}  {} in, {} out", self.models, tokens(input), tokens(output))
            }
        };
        let took = number("durationMs") as f64;
        self.out.rows.push(Row::new(label, Bar::Model, (at - took).max(0.0), at));
    }

    fn retry(&mut self, at: f64, event: &Value) {
        let field = |key: &str| event.get(key).cloned().unwrap_or_default();
        let wait = field("waitMs").as_f64().unwrap_or_default();
        let code = field("code").as_str().unwrap_or_default().to_owned();
        let (attempt, attempts) = (field("attempt"), field("attempts"));
        let label = text!("{} try {} of {}  {}", Glyph::Retry, attempt, attempts, code);
        self.out.rows.push(Row::new(label, Bar::Model, at, at + wait));
    }

    fn answered(&mut self, at: f64, event: &Value) {
        let word = |key: &str| event.get(key).and_then(Value::as_str);
        let Some((id, asked)) = word("approvalId").and_then(|it| self.questions.remove(it)) else {
            return;
        };
        let answer = match word("outcome").unwrap_or_default() {
            "approved" => "yes",
            "denied" => "no",
            "no_one_to_ask" => "no one to ask",
            "expired" => "no answer in time",
            other => other,
        };
        let label = match (word("by"), word("reason")) {
            (Some(by), Some(reason)) => text!("asked {} · {}: {}", by, answer, reason),
            (Some(by), None) => text!("asked {} · {}", by, answer),
            (None, _) => text!("asked · {}", answer),
        };
        let call = self.calls.entry(id).or_default();
        call.waits.push(Segment { bar: Bar::Wait, from: asked, to: at });
        call.children.push(Row::new(label, Bar::Wait, asked, at));
    }

    /// Adds a row to the call that it is about, or to the run.
    fn push(&mut self, id: &str, row: Row) {
        let ended = self.ended.get(id).and_then(|at| self.out.rows.get_mut(*at));
        match (self.calls.get_mut(id), ended) {
            (Some(call), _) => call.children.push(row),
            (None, Some(call)) => call.children.push(row),
            (None, None) => self.out.rows.push(row),
        }
    }

    fn fired(&mut self, at: f64, id: &str, event: &Value) {
        let field = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let (point, model) = (field("point"), field("model"));
        let handlers = event.get("handlers").and_then(Value::as_array).cloned().unwrap_or_default();
        // The event has the time at which the fire began.
        let (mut won, mut lost, mut whole) = (Vec::new(), Vec::new(), 0.0);
        for handler in &handlers {
            let word = |key: &str| handler.get(key).and_then(Value::as_str).unwrap_or_default();
            let keys = |key: &str| handler.get(key).and_then(Value::as_array).cloned();
            let took = handler.get("durationMs").and_then(Value::as_f64).unwrap_or_default();
            let (name, outcome) = (word("name"), word("outcome"));
            let from = if model == "void" { at } else { at + whole };
            whole += took;
            for note in keys("notes").into_iter().flatten() {
                let note = note.as_str().unwrap_or_default();
                self.out.notes.push(format!("{point}, hook {name}: {note}"));
            }
            won.extend(keys("won").into_iter().flatten().map(|key| (name.to_owned(), key)));
            lost.extend(keys("lost").into_iter().flatten().map(|key| (name.to_owned(), key)));
            let row = |label: Shown| Row {
                took: Some(took),
                ..Row::new(label, Bar::Tool, from, from + took)
            };
            match outcome {
                // The question has its own row.
                "asked" => {}
                "blocked" => {
                    let label = text!("hook {} blocked it", name);
                    self.stopped.insert([id, point, name].map(str::to_owned), row(label));
                }
                "allowed" | "passed" | "finished" | "patched" | "claimed" => {
                    self.out.allowed.0 += 1;
                    self.out.allowed.1 += took;
                    if self.verbose > 0 {
                        let label = dim(text!("hook {} at {}: {}", name, point, outcome));
                        self.push(id, row(label));
                    }
                }
                failed if model == "gate" => {
                    let label = match failed {
                        "timed_out" => text!("hook {} timed out", name),
                        _ => text!("hook {} blocked it", name),
                    };
                    let row = Row { failed: true, ..row(label) };
                    self.stopped.insert([id, point, name].map(str::to_owned), row);
                }
                failed => {
                    let why = match word("reason") {
                        "" => failed.replace('_', " "),
                        reason => reason.to_owned(),
                    };
                    let label = text!("hook {} at {}: {}", name, point, why);
                    self.push(id, Row { failed: true, ..row(red(label)) });
                }
            }
        }
        if !lost.is_empty() {
            let label = text!("hooks {}  {} won, {} lost", point, won.len(), lost.len());
            let mut row = Row::new(label, Bar::Instant, at, at + whole);
            row.took = Some(whole);
            self.push(id, row);
            for (loser, key) in lost {
                let winner = won.iter().find(|(_, won)| *won == key).map(|(name, _)| name.as_str());
                let key = key.as_str().unwrap_or_default().to_owned();
                let winner = winner.unwrap_or("an earlier hook");
                self.out.notes.push(format!("{point}, {key}: `{winner}` won, `{loser}` lost"));
            }
        }
    }

    fn blocked(&mut self, at: f64, id: &str, event: &Value) {
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let point = word("point");
        let name = word("handler");
        self.out.notes.push(format!("{point}, hook {name} blocked: {}", word("reason")));
        let row = self.stopped.remove(&[id, point, name].map(str::to_owned));
        let row = row
            .unwrap_or_else(|| Row::new(text!("hook {} blocked it", name), Bar::Instant, at, at));
        if self.calls.contains_key(id) {
            return self.push(id, row);
        }
        // Nothing was stopped: the call has run, or it was not about a call.
        let label = text!("{} {} at {}", Glyph::Blocked, row.label, point);
        self.push(id, Row { failed: true, label, ..row });
    }

    fn sandbox(&mut self, at: f64, id: &str, event: &Value) {
        let list =
            |key: &str| event.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        self.out.tier = event.get("tier").and_then(Value::as_str).map(str::to_owned);
        let call = self.calls.entry(id.to_owned()).or_default();
        call.zone = event.get("zone").and_then(Value::as_str).map(str::to_owned);
        let changed = list("changed").into_iter().filter_map(|it| serde_json::from_value(it).ok());
        for changed in changed.collect::<Vec<ProtectedChange>>() {
            let label = red(text!("{}", changed.to_string()));
            call.children.push(Row { failed: true, ..Row::new(label, Bar::Instant, at, at) });
        }
        let refused = list("refused").into_iter().filter_map(|it| serde_json::from_value(it).ok());
        for refused in refused.collect::<Vec<Refused>>() {
            self.out.refused += 1;
            let label = red(text!("kernel refused: {}", refused.to_string()));
            call.children.push(Row { failed: true, ..Row::new(label, Bar::Instant, at, at) });
        }
        for host in list("hosts") {
            let name = host.get("host").and_then(Value::as_str).unwrap_or_default();
            let reached = host.get("allowed") == Some(&Value::Bool(true));
            if !reached {
                let label = red(text!("proxy refused: {}", name));
                call.children.push(Row::new(label, Bar::Instant, at, at));
            } else if self.verbose > 0 {
                let label = text!("reached {}", name);
                call.children.push(Row::new(label, Bar::Instant, at, at));
            }
        }
    }

    fn end(&mut self, at: f64, id: &str, event: &Value) {
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        self.out.calls += 1;
        self.call(id, event);
        let Call { tool, args, zone, started, waits, mut children } =
            self.calls.remove(id).unwrap_or_default();
        if event.get("untrusted").is_some() {
            let label = dim("the result came from outside");
            children.push(Row::new(label, Bar::Instant, at, at));
        }
        let ok = event.get("ok") == Some(&Value::Bool(true));
        let ran = started.is_some();
        let glyph = match (ok, ran) {
            (true, _) => Glyph::Ok,
            (false, true) => Glyph::Failed,
            (false, false) => Glyph::Blocked,
        };
        self.out.blocked += u64::from(!ok && !ran);
        let is_explained = self.out.notes.last().is_some_and(|note| note.contains(word("error")));
        if !ok && !ran && !is_explained {
            self.out.notes.push(format!("not run: {}", word("error")));
        }
        let named = call(&tool, &args);
        let named = if ran || ok { named } else { bold(red(named)) };
        let label = match exit_code(word("error")) {
            Some(code) => text!("{} {}  exit {}", glyph, named, code),
            None => text!("{} {}", glyph, named),
        };
        let label = match zone.as_deref() {
            None | Some("") => label,
            Some(zone) => text!("{}  {}", label, dim(text!("zone {}", zone))),
        };
        // A call that did not run has the time that its hooks took.
        let judged = || children.iter().map(Row::from).fold(at, f64::min);
        let begun = started.unwrap_or_else(judged);
        let bar = if ran || begun < at { Bar::Tool } else { Bar::Instant };
        let mut row = Row::new(label, bar, begun, at);
        row.failed = !ok;
        // A call does not run while it waits for an answer.
        if let Some(last) = waits.iter().map(|wait| wait.to).reduce(f64::max) {
            row.segments = waits;
            if ran {
                let from = last.max(begun);
                row.segments.push(Segment { bar: Bar::Tool, from, to: at.max(from) });
            }
        }
        row.children = children;
        if tool == "delegate" && ran {
            row.children.extend((self.sub_agents)(&args, begun, at));
        }
        self.ended.insert(id.to_owned(), self.out.rows.len());
        self.out.rows.push(row);
    }

    /// Calls that never ended: the process did.
    fn unfinished(&mut self, last: u64) {
        let last = self.since(last);
        for (_, unfinished) in self.calls.drain().filter(|(_, call)| !call.tool.is_empty()) {
            let begun = unfinished.started.or(unfinished.waits.first().map(|it| it.from));
            let label = text!("? {}  unknown", call(&unfinished.tool, &unfinished.args));
            let mut row = Row::new(label, Bar::Tool, begun.unwrap_or(last), last);
            row.children = unfinished.children;
            self.out.rows.push(row);
        }
        self.out.rows.extend(self.stopped.drain().map(|(_, row)| row));
        for (_, (_, asked)) in std::mem::take(&mut self.questions) {
            let label = "asked · waiting".shown();
            self.out.rows.push(Row::new(label, Bar::Wait, asked, last));
        }
    }
}

/// The exit code that the terminal tool writes below a command's output.
fn exit_code(error: &str) -> Option<&str> {
    error.rsplit_once("[exit code ")?.1.split(']').next()
}

/// The line about hooks below the rows.
pub(super) fn hooks_allowed(rows: &Rows) -> Option<String> {
    let (calls, ms) = rows.allowed;
    (calls > 0)
        .then(|| format!("{} allowed, {} together", plural(calls, "hook call"), duration_ms(ms)))
}
