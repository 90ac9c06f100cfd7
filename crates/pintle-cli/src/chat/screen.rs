//! What a person sees of a run: text as it comes, one line per tool call and per block, and what is waited for.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use pintle::{
    Point,
    points::{ErrorRaised, SessionEnd, ToolOutcome, ToolPre},
};
use pintle_agent::{ApprovalOutcome, ApprovalRequest, RunEvent, RunEventKind, RunOutcome};
use serde_json::Value;

use crate::{
    environment::Environment,
    out::{self, NAMED_AFTER},
    shown::{Show, Shown, bold, cyan, dim, green, lines, pretty_json, red, text, yellow},
};

/// What is fired when the run has said that it is done.
const AFTER_DONE: [&str; 2] = [ErrorRaised::NAME, SessionEnd::NAME];

/// A call's arguments, and what it writes, are shown up to so many columns.
const BRIEF: usize = 100;

pub(crate) struct Screen {
    /// Text goes to standard output as it comes; otherwise the caller prints the answer.
    streams_text: bool,
    /// One-line notes are shown.
    notes: bool,
    animated: bool,
    waiting: Arc<Waiting>,
    running: Vec<Running>,
    /// Questions that nobody has answered.
    open: Vec<Open>,
    /// The calls that needed a yes when there was no one to ask.
    unasked: Vec<String>,
    /// The calls about which somebody said no, or nobody answered.
    refused: Vec<String>,
    /// What to do so that there is somebody next time.
    when_unasked: &'static str,
    /// What was shown of the records' notes in this run: a hook that fires often says it once.
    noted: BTreeSet<(Arc<str>, String)>,
}

/// A question that nobody has answered.
struct Open {
    approval_id: String,
    tool_call_id: String,
    tool_name: String,
}

/// What it takes to be asked by `pintle chat`.
const NO_TERMINAL: &str = "no one was asked: this is no terminal. `--wait-for-approval` waits until somebody answers with `pintle approvals`";

/// A tool that has started and not ended.
struct Running {
    tool_call_id: String,
    tool_name: String,
    /// The last line it has written, as far as it has come.
    writes: String,
    at_line_end: bool,
}

/// What is being waited for right now.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Option<Handler>>);

struct Handler {
    since: Instant,
    point: String,
    shown: Shown,
}

impl Waiting {
    pub(crate) fn handler_started(&self, point: &str, handler: &str) {
        let shown = text!("hook {} ({})", handler, point);
        *self.lock() = Some(Handler { since: Instant::now(), point: point.to_owned(), shown });
    }

    /// That another point was fired may be heard of late, when a handler of this one is at work already.
    fn fired(&self, point: &str) {
        self.lock().take_if(|handler| handler.point == point);
    }

    fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Handler>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn long_enough(&self) -> Option<Shown> {
        let waiting = self.lock();
        let waiting = waiting.as_ref().filter(|handler| handler.since.elapsed() >= NAMED_AFTER);
        waiting.map(|handler| handler.shown.clone())
    }
}

impl Screen {
    pub(crate) fn full(environment: &Environment) -> Self {
        Self::new(true, true, environment.shows_waiting())
    }

    /// For one question: the answer alone is printed, by the caller; notes only for a person.
    pub(crate) fn quiet(environment: &Environment) -> Self {
        Self::new(false, environment.stderr_is_terminal, environment.shows_waiting())
    }

    fn new(streams_text: bool, notes: bool, animated: bool) -> Self {
        let (running, open, unasked, refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (waiting, when_unasked, noted) = (Arc::default(), NO_TERMINAL, BTreeSet::new());
        Self {
            streams_text,
            notes,
            animated,
            waiting,
            running,
            open,
            unasked,
            refused,
            when_unasked,
            noted,
        }
    }

    /// Says this about a call that needed a yes when there was no one to ask.
    pub(crate) fn when_unasked(self, when_unasked: &'static str) -> Self {
        Self { when_unasked, ..self }
    }

    pub(crate) fn waiting(&self) -> Arc<Waiting> {
        self.waiting.clone()
    }

    pub(crate) fn begin(&mut self) {
        self.running.clear();
        self.open.clear();
        self.unasked.clear();
        self.refused.clear();
        self.noted.clear();
        self.waiting.forget();
        self.tick();
    }

    /// Shows what is waited for: a hook, the tools that run, or the model.
    pub(crate) fn tick(&self) {
        if self.animated {
            out::spin(&self.waiting.long_enough().unwrap_or_else(|| self.doing()));
        }
    }

    fn doing(&self) -> Shown {
        if let Some(open) = self.open.first() {
            return text!("waiting for an answer about {}", open.tool_name);
        }
        if self.running.is_empty() {
            return text!("thinking");
        }
        let names: Vec<_> = self.running.iter().map(|tool| tool.tool_name.as_str()).collect();
        let names = names.join(", ");
        match self.running.iter().rev().find(|tool| !tool.writes.is_empty()) {
            Some(tool) => text!("running {} · {}", names, tool.writes.shown().fit(BRIEF)),
            None => text!("running {}", names),
        }
    }

    pub(crate) fn end(&mut self) {
        out::end_line();
    }

    pub(crate) fn note(&self, note: &Shown) {
        self.line(&text!("  {}", dim(note)));
    }

    fn line(&self, line: &Shown) {
        if self.notes {
            out::tell_line(line);
        }
    }

    /// The real arguments, whole: that is what is approved.
    pub(crate) fn question(&self, request: &ApprovalRequest) {
        out::tell!("{} {} wants to run", yellow("?"), bold(&request.tool_name));
        let args = pretty_json(&request.args).unwrap_or_else(|_| request.args.shown());
        for line in args.as_str().lines() {
            out::tell!("    {}", line);
        }
        out::tell!("  {}", dim(&request.reason));
        if let Some(rule) = &request.rule {
            let rule = rule.to_string();
            let offer = text!(
                "s: all `{}` in this session · a: always in this folder, in pintle.toml",
                rule
            );
            out::tell!("  {}", offer);
        }
    }

    pub(crate) fn show(&mut self, event: &RunEvent, own: bool) {
        let indent = if own { "" } else { "  " };
        match &event.kind {
            RunEventKind::TextDelta { text } if own && self.streams_text => {
                out::stream(&lines(text));
            }
            // The model has said all it has to say for now: what is waited for next has a line of its own.
            RunEventKind::Usage { .. } if own && self.streams_text => out::end_line(),
            RunEventKind::HookFired { point, handlers, .. } => {
                self.waiting.fired(point);
                for handler in handlers {
                    for note in &handler.notes {
                        if self.noted.insert((handler.name.clone(), note.clone())) {
                            self.note(&text!("{} at {}: {}", &*handler.name, point, note));
                        }
                    }
                }
            }
            RunEventKind::ApprovalRequested { approval_id, tool_call_id, tool_name, .. } => {
                self.open.push(Open {
                    approval_id: approval_id.clone(),
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                });
            }
            RunEventKind::ApprovalResolved { approval_id, outcome, .. } => {
                let settled = self.open.extract_if(.., |open| open.approval_id == *approval_id);
                // Also a yes closes the question: what is not taken out here stays open.
                let call: Vec<String> = settled.map(|open| open.tool_call_id).collect();
                let is_no = [ApprovalOutcome::Expired.name(), "denied"].contains(&outcome.as_str());
                if outcome == ApprovalOutcome::NoOneToAsk.name() {
                    self.unasked.extend(call);
                } else if is_no {
                    self.refused.extend(call);
                }
            }
            RunEventKind::ToolStart { tool_call_id, tool_name, args } => {
                self.line(&text!("{}{} {} {}", indent, cyan("→"), tool_name, dim(brief(args))));
                self.running.push(Running {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    writes: String::new(),
                    at_line_end: false,
                });
            }
            RunEventKind::ToolProgress { tool_call_id, text } => {
                let mut running = self.running.iter_mut();
                if let Some(tool) = running.find(|tool| tool.tool_call_id == *tool_call_id) {
                    tool.write(text);
                }
            }
            RunEventKind::ToolEnd {
                tool_call_id,
                tool_name,
                ok,
                outcome,
                error,
                duration_ms,
                ..
            } => {
                self.running.retain(|tool| tool.tool_call_id != *tool_call_id);
                let error = error.as_deref().unwrap_or_default();
                let unasked = self.unasked.extract_if(.., |id| id == tool_call_id).count() > 0;
                let line = match (outcome, ok) {
                    (ToolOutcome::Rejected, _) => {
                        let blocked = red("blocked");
                        text!(
                            "{}{} {} {}: {}",
                            indent,
                            red("✗"),
                            tool_name,
                            blocked,
                            error.trim_end()
                        )
                    }
                    (_, true) => {
                        let took = dim(text!("{} ms", duration_ms));
                        text!("{}{} {} {}", indent, green("✓"), tool_name, took)
                    }
                    (_, false) => {
                        text!("{}{} {}: {}", indent, red("✗"), tool_name, first_line(error))
                    }
                };
                let refused = self.refused.extract_if(.., |id| id == tool_call_id).count() > 0;
                match unasked || refused {
                    // R11.5: also to whoever wants the answer alone.
                    true => out::tell_line(&line),
                    false => self.line(&line),
                }
                if unasked {
                    out::tell!("{}  {}", indent, dim(self.when_unasked));
                }
            }
            // A refused call ends with the reason.
            RunEventKind::HookBlocked { point, handler, reason, .. }
                if *point != ToolPre::NAME && !AFTER_DONE.contains(point) =>
            {
                // Also to whoever wants the answer alone: nothing else would say it.
                out::tell_line(&text!("{}{}", indent, blocked(point, handler, reason)));
            }
            RunEventKind::Error { code, message } => {
                self.line(&text!("{}{} {}: {}", indent, red("error"), code, message));
            }
            // What the model said last has been streamed; how it ended otherwise has not.
            RunEventKind::Done { text, outcome }
                if own
                    && self.streams_text
                    && !matches!(outcome, RunOutcome::EndTurn | RunOutcome::Error) =>
            {
                self.line(&text!("{} {}", yellow("■"), text));
            }
            _ => {}
        }
    }
}

/// Tells what went wrong at a run's very end: whoever showed the run has stopped listening by then.
pub(crate) fn tell_of_the_end(event: &RunEvent) {
    if let RunEventKind::HookBlocked { point, handler, reason, .. } = &event.kind
        && AFTER_DONE.contains(point)
    {
        out::tell_line(&blocked(point, handler, reason));
    }
}

fn blocked(point: &str, handler: &str, reason: &str) -> Shown {
    text!("{} {} at {}: {}", yellow("!"), handler, point, reason.trim_end())
}

impl Running {
    fn write(&mut self, text: &str) {
        for part in text.split_inclusive(['\n', '\r']) {
            let line = part.trim_end_matches(['\n', '\r']);
            if self.at_line_end && !line.trim().is_empty() {
                self.writes.clear();
                self.at_line_end = false;
            }
            if self.writes.len() < BRIEF {
                self.writes.extend(line.chars().take(BRIEF));
            }
            self.at_line_end |= line.len() < part.len();
        }
    }
}

/// A call's arguments on one line.
fn brief(args: &Value) -> Shown {
    let text = match args.as_object() {
        Some(object) if object.len() == 1 => {
            object.values().map(plain).collect::<Vec<_>>().join(" ")
        }
        Some(object) => object
            .iter()
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect::<Vec<_>>()
            .join(" "),
        None => args.to_string(),
    };
    first_line(&text).fit(BRIEF)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn first_line(text: &str) -> Shown {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { text!("{} …", first) } else { first.shown() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_at_work_is_named_whatever_other_point_is_heard_of_late() {
        let waiting = Waiting::default();
        waiting.handler_started("tool.pre", "slow-guard");
        waiting.fired("llm.post");
        assert!(waiting.lock().is_some());
        waiting.fired("tool.pre");
        assert!(waiting.lock().is_none());
    }
}
