//! Tool calls on the screen: those of one message are one tree, in the model's order, each with its own outcome.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::{Duration, Instant},
};

use pintle::{Failure, FailureKind, HandlerOutcome, points::ToolOutcome};
use pintle_agent::{ApprovalOutcome, CallMade, RunEventKind};
use serde_json::Value;

use super::{
    question::short,
    totals::{CallLog, has_crashed, split_notes},
};
use crate::{
    shown::{Show, Shown, bold, dim, red, text},
    term::{Glyph, call, columns, duration, fit, fit_middle, millis, plural, width, wrap},
};

/// How many lines of output a call shows that worked, one that failed, and a hook that crashed.
const AFTER_SUCCESS: usize = 3;
const AFTER_FAILURE: usize = 10;
const OF_A_TRACEBACK: usize = 6;
/// In a narrower terminal, the text at the right moves below the row.
const NARROW: usize = 60;

#[derive(Default)]
pub(super) struct CallView {
    /// The calls of the newest message.
    tree: Vec<Call>,
    printed: usize,
    /// Calls of sub-agents, by their run and id.
    nested: HashMap<(String, String), Call>,
    /// How long each handler took over a call, and how it failed, if it did.
    fired: HashMap<(String, String), (Duration, Option<Failure>)>,
    /// The hook that blocked a call, and its reason.
    blocked: HashMap<String, (String, String)>,
    /// Calls that were judged and have not started.
    judged: HashSet<(String, String)>,
    /// The call of each question, and the answer.
    asked: HashMap<String, String>,
    answers: HashMap<String, Answer>,
    outputs: Vec<(Shown, String)>,
    pub(super) log: Vec<CallLog>,
    began: Option<Instant>,
    pub(super) calls: u64,
    pub(super) rejected: u64,
    /// The file and line of each hook.
    pub(super) sources: BTreeMap<String, String>,
    /// The names of the person at this terminal.
    you: Vec<String>,
    /// The advice under a call that needed an approval when there was no one to ask.
    pub(super) when_unasked: &'static str,
}

struct Call {
    id: String,
    tool: String,
    args: Value,
    started: Option<Instant>,
    judged: bool,
    /// The last line it has written.
    writes: String,
    refused: Vec<String>,
    end: Option<End>,
    /// The calls of its sub-agent.
    below: Vec<Shown>,
}

struct End {
    outcome: ToolOutcome,
    text: String,
    duration_ms: u64,
}

struct Answer {
    approval_id: String,
    outcome: String,
    by: Option<String>,
    reason: Option<String>,
}

impl Call {
    fn new(CallMade { tool_call_id, tool_name, args }: &CallMade) -> Self {
        Self {
            id: tool_call_id.clone(),
            tool: tool_name.clone(),
            args: args.clone(),
            started: None,
            judged: false,
            writes: String::new(),
            refused: Vec::new(),
            end: None,
            below: Vec::new(),
        }
    }

    fn write(&mut self, text: &str) {
        let mut lines = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
        if let Some(last) = lines.next_back() {
            match text.starts_with(['\n', '\r']) || text.contains('\n') || self.writes.len() > 400 {
                true => self.writes = last.to_owned(),
                false => self.writes.push_str(last),
            }
        }
    }
}

impl CallView {
    pub(super) fn new(you: Vec<String>, when_unasked: &'static str) -> Self {
        Self { you, when_unasked, ..Self::default() }
    }

    /// Its place among the calls of the newest message; a sub-agent's call comes after them.
    pub(super) fn place_of(&self, call: &str) -> usize {
        self.tree.iter().position(|it| it.id == call).unwrap_or(usize::MAX)
    }

    pub(super) fn begin(&mut self) {
        let outputs = std::mem::take(&mut self.outputs);
        let (sources, you) = (std::mem::take(&mut self.sources), std::mem::take(&mut self.you));
        let (when_unasked, began) = (self.when_unasked, Some(Instant::now()));
        *self = Self { outputs, sources, you, when_unasked, began, ..Self::default() };
    }

    /// The whole output of a call, by its number.
    pub(super) fn output(&self, number: usize) -> Option<&(Shown, String)> {
        number.checked_sub(1).and_then(|at| self.outputs.get(at))
    }

    /// The call that is running, for the spinner.
    pub(super) fn running(&self) -> Option<Shown> {
        let all = self.tree.iter().chain(self.nested.values());
        let running: Vec<&Call> =
            all.filter(|it| it.started.is_some() && it.end.is_none()).collect();
        let newest = running.iter().rev().find(|it| !it.writes.is_empty()).or(running.last())?;
        let since = duration(newest.started?.elapsed());
        let more = match running.len() {
            1 => Shown::default(),
            count => text!(" (and {} more)", count - 1),
        };
        let shown = text!("{}{} · {}", call(&newest.tool, &newest.args), more, since);
        match newest.writes.is_empty() {
            true => Some(shown),
            false => Some(text!("{} · {}", fit(&shown, 50), newest.writes)),
        }
    }

    /// Adds an event, and returns the lines that it completes. The flag marks the lines of blocked calls, which are always
    /// shown.
    pub(super) fn event(
        &mut self,
        kind: &RunEventKind,
        run: &str,
        own: bool,
    ) -> Vec<(Shown, bool)> {
        let key = |id: &str| (run.to_owned(), id.to_owned());
        match kind {
            RunEventKind::ToolCalls { calls, .. } if own => {
                self.tree = calls.iter().map(Call::new).collect();
                self.printed = 0;
            }
            RunEventKind::ToolCalls { calls, .. } => {
                let calls = calls.iter().map(|made| (key(&made.tool_call_id), Call::new(made)));
                self.nested.extend(calls);
            }
            RunEventKind::Judged { tool_call_id, .. } => {
                self.judged.insert(key(tool_call_id));
            }
            RunEventKind::ToolStart { tool_call_id, tool_name, args } => {
                let judged = self.judged.remove(&key(tool_call_id));
                let call = match own {
                    true => self.tree.iter_mut().find(|it| it.id == *tool_call_id),
                    false => self.nested.get_mut(&key(tool_call_id)),
                };
                let made = CallMade {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    args: args.clone(),
                };
                let call = match call {
                    Some(call) => call,
                    // A second attempt is a separate call, after the others.
                    None => self.tree.push_mut(Call::new(&made)),
                };
                call.args = args.clone();
                (call.started, call.judged) = (Some(Instant::now()), judged);
            }
            RunEventKind::ToolProgress { tool_call_id, text } => {
                if let Some(call) = self.find(run, tool_call_id, own) {
                    call.write(text);
                }
            }
            RunEventKind::Sandbox { tool_call_id, held } => {
                let refused = held.refused.iter().map(ToString::to_string).collect();
                if let Some(call) = self.find(run, tool_call_id, own) {
                    call.refused = refused;
                }
            }
            RunEventKind::HookFired { handlers, tool_call_id: Some(id), .. } => {
                self.fired.extend(handlers.iter().map(|it| {
                    let failure = match &it.outcome {
                        HandlerOutcome::Failed(failure) => Some(failure.clone()),
                        _ => None,
                    };
                    ((id.clone(), it.name.to_string()), (it.duration, failure))
                }));
            }
            RunEventKind::HookBlocked { handler, reason, tool_call_id: Some(id), .. } => {
                self.blocked.insert(id.clone(), (handler.clone(), reason.clone()));
            }
            RunEventKind::ApprovalRequested { approval_id, tool_call_id, .. } => {
                self.asked.insert(approval_id.clone(), tool_call_id.clone());
            }
            RunEventKind::ApprovalResolved { approval_id, outcome, by, reason } => {
                if let Some(call) = self.asked.remove(approval_id) {
                    let (approval_id, outcome) = (approval_id.clone(), outcome.clone());
                    let (by, reason) = (by.clone(), reason.clone());
                    self.answers.insert(call, Answer { approval_id, outcome, by, reason });
                }
            }
            RunEventKind::ToolEnd {
                tool_call_id,
                tool_name,
                outcome,
                content,
                error,
                duration_ms,
                ..
            } => {
                self.calls += 1;
                self.rejected += u64::from(*outcome == ToolOutcome::Rejected);
                let text = content.as_ref().or(error.as_ref()).cloned().unwrap_or_default();
                let (outcome, duration_ms) = (*outcome, *duration_ms);
                let end = End { outcome, text, duration_ms };
                match self.find(run, tool_call_id, own) {
                    Some(call) => call.end = Some(end),
                    // A call of a run that died: this run reports its outcome.
                    None if own => {
                        let (tool_call_id, tool_name) = (tool_call_id.clone(), tool_name.clone());
                        let made = CallMade { tool_call_id, tool_name, args: Value::Null };
                        self.tree.push(Call { end: Some(end), ..Call::new(&made) });
                    }
                    None => {}
                }
                return match own {
                    true => self.complete(),
                    false => self.complete_nested(&key(tool_call_id)),
                };
            }
            _ => {}
        }
        Vec::new()
    }

    fn find(&mut self, run: &str, id: &str, own: bool) -> Option<&mut Call> {
        match own {
            // Models use an id again: the first that has not ended is meant.
            true => self.tree.iter_mut().find(|it| it.id == *id && it.end.is_none()),
            false => self.nested.get_mut(&(run.to_owned(), id.to_owned())),
        }
    }

    /// The calls that have ended, up to the first that has not: their order is the model's.
    fn complete(&mut self) -> Vec<(Shown, bool)> {
        let mut lines = Vec::new();
        let count = self.tree.len();
        while let Some(call) = self.tree.get(self.printed).filter(|it| it.end.is_some()) {
            let is_last = self.printed + 1 == count;
            let (first, rest) = match (count, is_last) {
                (1, _) => (Shown::default(), text!("  ")),
                (_, false) => (text!("{} ", Glyph::Branch), text!("{}   ", Glyph::Bar)),
                (_, true) => (text!("{} ", Glyph::LastBranch), text!("    ")),
            };
            // R11.6: an outcome that is not known is never silent.
            let is_loud = call.end.as_ref().is_some_and(|it| {
                matches!(it.outcome, ToolOutcome::Rejected | ToolOutcome::Unknown)
            });
            let (drawn, output) = self.draw(call, width().saturating_sub(columns(&rest)));
            let mut marks = std::iter::once(&first).chain(std::iter::repeat(&rest));
            for line in drawn {
                let mark = marks.next().unwrap_or(&rest);
                lines.push((text!("{}{}", mark, line), is_loud));
            }
            let logged = self.logged(call);
            self.log.extend(logged);
            self.outputs.extend(output);
            self.printed += 1;
        }
        lines
    }

    fn logged(&self, made: &Call) -> Option<CallLog> {
        let end = made.end.as_ref()?;
        let fired = |(hook, _): &(String, _)| self.fired.get(&(made.id.clone(), hook.clone()));
        let (took, failure) = match self.blocked.get(&made.id) {
            Some(blocked) => fired(blocked).cloned().unwrap_or_default(),
            None => (Duration::from_millis(end.duration_ms), None),
        };
        let ran = end.outcome != ToolOutcome::Rejected;
        let what = match (self.blocked.get(&made.id), failure.map(|failure| failure.kind)) {
            (Some((hook, _)), Some(FailureKind::TimedOut)) => text!("{} timed out", hook),
            (Some((hook, reason)), _) if has_crashed(reason) => text!("{} crashed", hook),
            (Some((hook, _)), _) => text!("{} blocked it", hook),
            (None, _) if !made.refused.is_empty() => text!("kernel refused {}", made.refused.len()),
            _ => Shown::default(),
        };
        let now = self.began.map(|began| began.elapsed()).unwrap_or_default();
        Some(CallLog {
            glyph: match (ran, end.outcome) {
                (false, _) => Glyph::Blocked,
                (true, ToolOutcome::Ok) => Glyph::Ok,
                (true, _) => Glyph::Failed,
            },
            call: call(&made.tool, &made.args),
            what,
            ran,
            judged: made.judged,
            approved: self.answers.get(&made.id).is_some_and(|it| it.outcome == "approved"),
            refused: made.refused.len(),
            from: now.saturating_sub(took),
            took,
        })
    }

    fn complete_nested(&mut self, key: &(String, String)) -> Vec<(Shown, bool)> {
        let Some(call) = self.nested.remove(key) else { return Vec::new() };
        let (drawn, output) = self.draw(&call, width().saturating_sub(8));
        self.outputs.extend(output);
        let running =
            |it: &&mut Call| it.tool == "delegate" && it.started.is_some() && it.end.is_none();
        match self.tree.iter_mut().find(running) {
            Some(delegate) => {
                delegate.below.extend(drawn);
                Vec::new()
            }
            None => drawn.into_iter().map(|line| (text!("  {}", line), false)).collect(),
        }
    }

    /// A call that has ended, and its output if not all of it is shown.
    fn draw(&self, made: &Call, width: usize) -> (Vec<Shown>, Option<(Shown, String)>) {
        let Some(End { outcome, text, duration_ms }) = &made.end else { return Default::default() };
        let words = bold(call(&made.tool, &made.args));
        let time = millis(*duration_ms);
        if *outcome == ToolOutcome::Rejected {
            return (self.draw_rejected(made, &words, text, width), None);
        }
        let (output, code) = split_notes(text);
        let is_command = made.tool == "terminal";
        let (glyph, right) = match (outcome, is_command) {
            (ToolOutcome::Ok, true) => (Glyph::Ok, format!("exit 0 · {time}")),
            (ToolOutcome::Ok, false) => (Glyph::Ok, time),
            (ToolOutcome::Cancelled, _) => (Glyph::Stopped, format!("stopped · {time}")),
            (ToolOutcome::Unknown, _) => (Glyph::Failed, "unknown whether it ran".to_owned()),
            (ToolOutcome::TimedOut, _) => (Glyph::Failed, format!("timed out · {time}")),
            (_, true) => (Glyph::Failed, format!("{} · {time}", code.unwrap_or("failed".into()))),
            _ => (Glyph::Failed, format!("failed · {time}")),
        };
        let mut left = text!("{} {}", glyph, words);
        if *outcome == ToolOutcome::Ok && made.tool == "read_file" {
            left = text!("{} · {}", left, plural(output.len() as u64, "line"));
        }
        if let Some(answer) = self.answers.get(&made.id).filter(|it| it.outcome == "approved") {
            let by = self.name(answer.by.as_deref());
            let how = if by.starts_with("the rule") { by } else { format!("approved by {by}") };
            left = text!("{} · {}", left, how);
        }
        let mut lines = head(&left, &right, width);
        lines.extend(made.below.iter().map(|line| text!("{} {}", Glyph::Bar, line)));
        let most = match (outcome, is_command) {
            (ToolOutcome::Ok, true) => AFTER_SUCCESS,
            (ToolOutcome::Ok, false) => 0,
            _ => AFTER_FAILURE,
        };
        let number = self.outputs.len() + 1;
        let is_cut = is_command && output.len() > most;
        if is_cut {
            let hidden = plural((output.len() - most) as u64, "line");
            lines.push(bar(&text!("… {} · /output {}", hidden, number), width));
        }
        let shown = output.iter().skip(output.len().saturating_sub(most));
        match is_command && *outcome != ToolOutcome::Unknown {
            true => lines.extend(shown.map(|it| bar(&it.shown(), width))),
            // Sentences of a tool or the run, and not what a program printed.
            false => lines.extend(shown.flat_map(|it| wrapped(&text!("  {}", *it), width))),
        }
        for refused in &made.refused {
            lines.extend(wrapped(&red(text!("kernel refused: {}", refused)), width));
        }
        (lines, is_cut.then(|| (words, text.clone())))
    }

    fn draw_rejected(&self, made: &Call, words: &Shown, reason: &str, width: usize) -> Vec<Shown> {
        let left = text!("{} {}", Glyph::Blocked, words);
        if let Some(answer) = self.answers.get(&made.id).filter(|it| it.outcome != "approved") {
            let id = short(&answer.approval_id);
            let by = self.name(answer.by.as_deref());
            let why = match (answer.outcome.as_str(), &answer.reason) {
                ("denied", Some(reason)) => text!("denied by {}: \"{}\" · {}", by, reason, id),
                ("denied", None) => text!("denied by {} · {}", by, id),
                ("expired", _) => text!("no answer in time, expired · {}", id),
                (outcome, _) if outcome == ApprovalOutcome::NoOneToAsk.name() => {
                    let why = reason.split_once(" (").and_then(|(_, why)| why.rsplit_once("), "));
                    let lines = [
                        text!("not run: there is no one to ask"),
                        text!("cause: {}", why.map_or(reason, |(why, _)| why)),
                        text!("fix: {}", self.when_unasked),
                    ];
                    let lines = lines.iter().flat_map(|it| {
                        wrap(it, width, 2).split_lines().map(dim).collect::<Vec<_>>()
                    });
                    return std::iter::once(fit(&left, width)).chain(lines).collect();
                }
                _ => text!("not run: {}", reason),
            };
            return std::iter::once(fit(&left, width)).chain(wrapped(&why, width)).collect();
        }
        let mut lines = vec![fit(&left, width)];
        let Some((hook, reason)) = self.blocked.get(&made.id) else {
            lines.extend(wrapped(&text!("blocked: {}", reason), width));
            return lines;
        };
        let fired = self.fired.get(&(made.id.clone(), hook.clone()));
        let (took, failure) = fired.cloned().unwrap_or_default();
        let at = self.sources.get(hook).map_or_else(|| "in code".to_owned(), Clone::clone);
        // A narrow terminal has no room for the time.
        let took = duration(took);
        let with_time = |at: String| if width < NARROW { at } else { format!("{at}, {took}") };
        let (said, rest) = match failure.as_ref().map(|it| (it.kind, it.message.as_str())) {
            // A failing hook was not called again. The reason belongs to this call; the failure may belong to a later one.
            Some((FailureKind::TimedOut, _)) if !reason.contains("no answer within") => {
                (text!("not run: {}", reason), "")
            }
            Some((FailureKind::TimedOut, _)) => (
                text!("not run: hook `{}` gave no answer within {}, so it was ended", hook, took),
                "",
            ),
            Some((FailureKind::Exit(code), message)) if has_crashed(message) => {
                let at = with_time(format!("{at}, exit {code}"));
                (text!("not run: hook `{}` crashed ({})", hook, at), message)
            }
            Some((FailureKind::Exit(_), message)) => {
                let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
                (text!("blocked by hook `{}` ({}): {}", hook, with_time(at), first), rest)
            }
            Some((kind, message)) => {
                let kind = kind.to_string();
                (text!("not run: hook `{}` {} ({})", hook, kind, with_time(at)), message)
            }
            None => {
                let (first, rest) = reason.split_once('\n').unwrap_or((reason, ""));
                (text!("blocked by hook `{}` ({}): {}", hook, with_time(at), first), rest)
            }
        };
        lines.extend(wrapped(&said, width));
        let rest: Vec<&str> = rest.lines().collect();
        let rest = rest.iter().skip(rest.len().saturating_sub(OF_A_TRACEBACK));
        lines.extend(rest.map(|line| bar(&line.shown(), width)));
        lines
    }

    pub(super) fn name(&self, by: Option<&str>) -> String {
        match by {
            Some(by) if self.you.iter().any(|you| you == by) => "you".to_owned(),
            Some(by) => by.to_owned(),
            None => "a person".to_owned(),
        }
    }
}

/// A row with something at its right.
fn head(left: &Shown, right: &str, width: usize) -> Vec<Shown> {
    if width < NARROW {
        return vec![fit_middle(left, width), dim(text!("  {}", right))];
    }
    let right = right.shown();
    let room = width.saturating_sub(columns(&right) + 2);
    let left = fit_middle(left, room);
    let gap = width.saturating_sub(columns(&left) + columns(&right));
    vec![text!("{}{}{}", left, " ".repeat(gap), dim(right))]
}

fn bar(line: &Shown, width: usize) -> Shown {
    text!("{} {}", Glyph::Bar, dim(fit(line, width.saturating_sub(2))))
}

fn wrapped(line: &Shown, width: usize) -> Vec<Shown> {
    wrap(line, width, 2).split_lines().collect()
}
