//! A run on the screen: its text as it comes, tool calls, blocks, and the spinner.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pintle::{
    Point,
    points::{BeforeToolCall, ErrorRaised, SessionEnd, ToolPre},
};
use pintle_agent::{RunEvent, RunEventKind, RunOutcome};

use super::{
    call_view::CallView,
    markdown::Markdown,
    totals::{CallLog, Totals},
};
use crate::{
    assembly::Assembled,
    environment::Environment,
    out::{self, NAMED_AFTER},
    shown::{Shown, bold, dim, lines, red, text},
    term::{Glyph, duration, millis, width, wrap},
};

/// Points that fire after the `done` event.
const AFTER_DONE: [&str; 2] = [ErrorRaised::NAME, SessionEnd::NAME];

pub(crate) struct Screen {
    /// Text goes to standard output as it comes; otherwise the caller prints the answer.
    streams_text: bool,
    /// Progress is shown, and not only blocks.
    notes: bool,
    animated: bool,
    /// Draws the answer; `None` when standard output is not a terminal.
    markdown: Option<Markdown>,
    waiting: Arc<Waiting>,
    calls: CallView,
    totals: Totals,
    /// Of all runs of this program.
    pub(super) sum: Totals,
    started: Instant,
    /// How many questions are open, since when, and how long they took before.
    open: usize,
    open_since: Option<Instant>,
    waited: Duration,
    /// Notes of hooks that were shown in this run: each is shown once.
    noted: BTreeSet<(Arc<str>, String)>,
    /// The last thing drawn: a blank line separates text and calls.
    last: Drawn,
    /// A person sees it.
    is_seen: bool,
    /// Tokens and cost are shown at the end of the run.
    shows_totals: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Nothing,
    Text,
    Calls,
}

/// Advice for a call that needed an approval without a terminal.
const NO_TERMINAL: &str =
    "--wait-for-approval waits until a person answers with `pintle approvals`";

/// The handler that the run waits for.
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

    /// The event of another point may arrive late, when a handler of this point is already running.
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
        Self::new(environment, true, true)
    }

    /// For `chat -q`: the caller prints the answer. Progress is shown only on a terminal.
    pub(crate) fn quiet(environment: &Environment) -> Self {
        Self::new(environment, false, environment.stderr_is_terminal)
    }

    fn new(environment: &Environment, streams_text: bool, notes: bool) -> Self {
        let calls = CallView::new(environment.names(), NO_TERMINAL);
        Self {
            streams_text,
            notes: notes && !environment.quiet,
            animated: environment.shows_waiting(),
            markdown: environment.stdout_is_terminal.then(|| Markdown::new(width())),
            waiting: Arc::default(),
            calls,
            totals: Totals::default(),
            sum: Totals::default(),
            started: Instant::now(),
            open: 0,
            open_since: None,
            waited: Duration::ZERO,
            noted: BTreeSet::new(),
            last: Drawn::Nothing,
            // Only on a terminal: output for programs has no blank lines and no varying figures.
            is_seen: environment.stderr_is_terminal,
            shows_totals: environment.stderr_is_terminal,
        }
    }

    /// Says this about a call that needed approval when there was no one to ask.
    pub(crate) fn when_unasked(mut self, when_unasked: &'static str) -> Self {
        self.calls.when_unasked = when_unasked;
        self
    }

    /// Leaves out what the run cost.
    pub(crate) fn without_totals(self) -> Self {
        Self { shows_totals: false, ..self }
    }

    pub(super) fn place_of(&self, call: &str) -> usize {
        self.calls.place_of(call)
    }

    pub(super) fn log(&self) -> &[CallLog] {
        &self.calls.log
    }

    pub(crate) fn waiting(&self) -> Arc<Waiting> {
        self.waiting.clone()
    }

    /// How many calls were blocked in this run.
    pub(super) fn blocked(&self) -> u64 {
        self.calls.rejected
    }

    pub(super) fn output(&self, number: usize) -> Option<&(Shown, String)> {
        self.calls.output(number)
    }

    /// A run of this agent begins.
    pub(super) fn begin(&mut self, assembled: &Assembled) {
        self.calls.begin();
        let listed = assembled.agent.hooks().list();
        let source = |it: &pintle::HandlerInfo| (it.name.to_string(), it.source.to_string());
        self.calls.sources = listed.iter().map(source).collect();
        (self.totals, self.started, self.waited) =
            (Totals::default(), Instant::now(), Duration::ZERO);
        (self.open, self.open_since, self.last) = (0, None, Drawn::Nothing);
        self.noted.clear();
        self.waiting.forget();
        self.tick();
    }

    /// Shows what the run is waiting for: a hook, the running tools, or the model.
    pub(super) fn tick(&self) {
        if self.animated && self.started.elapsed() >= NAMED_AFTER {
            out::spin(&self.waiting.long_enough().unwrap_or_else(|| self.doing()));
        }
    }

    fn doing(&self) -> Shown {
        if self.open > 0 {
            return text!("waiting for an answer");
        }
        self.calls
            .running()
            .unwrap_or_else(|| text!("thinking · {}", duration(self.started.elapsed())))
    }

    pub(super) fn end(&mut self) {
        self.end_text();
        out::end_line();
    }

    pub(super) fn note(&self, note: &Shown) {
        self.line(&text!("  {}", dim(note)));
    }

    fn line(&self, line: &Shown) {
        if self.notes {
            out::tell_line(line);
        }
    }

    fn gap(&mut self, drawn: Drawn) {
        let last = std::mem::replace(&mut self.last, drawn);
        if self.notes
            && self.streams_text
            && self.is_seen
            && last != drawn
            && last != Drawn::Nothing
        {
            out::tell_line(&Shown::default());
        }
    }

    fn end_text(&mut self) {
        if let Some(rest) = self.markdown.as_mut().map(Markdown::end).filter(|_| self.streams_text)
        {
            out::stream(&rest);
        }
    }

    pub(super) fn show(&mut self, event: &RunEvent, own: bool) {
        let run = event.envelope.run_id.as_deref().unwrap_or_default();
        let drawn = self.calls.event(&event.kind, run, own);
        if !drawn.is_empty() {
            self.gap(Drawn::Calls);
        }
        for (line, blocks) in drawn {
            match blocks {
                // R11.5: a block is always shown, even with `chat -q`.
                true => out::tell_line(&line),
                false => self.line(&line),
            }
        }
        match &event.kind {
            RunEventKind::TextDelta { text } if own && self.streams_text => {
                self.gap(Drawn::Text);
                match &mut self.markdown {
                    Some(markdown) => out::stream(&markdown.push(text)),
                    None => out::stream(&lines(text)),
                }
            }
            RunEventKind::Usage { usage, .. } => {
                self.totals.add(&Totals {
                    turns: u64::from(own),
                    retries: 0,
                    input_tokens: usage.input_tokens,
                    cached_tokens: usage.cache_read_tokens.unwrap_or_default(),
                    output_tokens: usage.output_tokens,
                    cost_usd: usage.cost_usd.unwrap_or_default(),
                });
                if own && self.streams_text {
                    // The text of the model's answer is complete.
                    self.end_text();
                    out::end_line();
                }
            }
            RunEventKind::Retry { code, message, attempt, attempts, wait_ms } => {
                self.totals.retries += 1;
                let what = if message.is_empty() { code } else { message };
                // The fix is shown after the last attempt has failed.
                let what = what.split("; ").next().unwrap_or_default();
                let next = text!("try {} of {} in {}", *attempt, *attempts, millis(*wait_ms));
                self.line(&wrap(&text!("{} {} · {}", Glyph::Retry, what, next), width(), 2));
            }
            RunEventKind::Compaction {
                kept_messages,
                tokens_before,
                tokens_after,
                left_out,
                problem,
                ..
            } => {
                let became = text!("about {} tokens became {}", *tokens_before, *tokens_after);
                let line = match (left_out, problem) {
                    (Some(count), Some(why)) => text!(
                        "{} {} older messages are left out: they do not fit, and could not be summarised ({})",
                        Glyph::Retry,
                        *count,
                        why
                    ),
                    _ => text!(
                        "{} older messages are summarised, the newest {} stay · {}",
                        Glyph::Retry,
                        *kept_messages,
                        became
                    ),
                };
                self.line(&wrap(&line, width(), 2));
            }
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
            RunEventKind::ApprovalRequested { .. } => {
                self.open += 1;
                self.open_since.get_or_insert_with(Instant::now);
            }
            RunEventKind::ApprovalResolved { .. } => {
                self.open = self.open.saturating_sub(1);
                if let Some(since) = self.open_since.take_if(|_| self.open == 0) {
                    self.waited += since.elapsed();
                }
            }
            // A refused call ends with the reason.
            RunEventKind::HookBlocked { point, handler, reason, .. }
                if ![ToolPre::NAME, BeforeToolCall::NAME].contains(point)
                    && !AFTER_DONE.contains(point) =>
            {
                // Shown even with `chat -q`: no other message reports it.
                out::tell_line(&blocked(point, handler, reason));
            }
            // For one question the caller reports it.
            RunEventKind::Error { message, .. } if self.streams_text => {
                self.line(&wrap(&text!("{}: {}", bold(red("error")), message), width(), 2));
            }
            RunEventKind::Done { text, outcome } if own => self.done(run, text, *outcome),
            _ => {}
        }
    }

    /// The last text has been streamed; an end for another reason has not been shown yet.
    fn done(&mut self, run: &str, text: &str, outcome: RunOutcome) {
        self.end_text();
        out::end_line();
        if self.streams_text && !matches!(outcome, RunOutcome::EndTurn | RunOutcome::Error) {
            self.line(&wrap(&text!("{} {}", Glyph::Stopped, text), width(), 2));
        }
        let took = self.started.elapsed().saturating_sub(self.waited);
        if self.streams_text && self.shows_totals && self.totals.turns > 0 {
            self.gap(Drawn::Nothing);
            for line in self.totals.lines(&self.calls, took, self.waited, run) {
                self.line(&line);
            }
        }
        self.sum.add(&self.totals);
    }
}

/// Prints blocks at the points after `done`: the view of the run is closed by then.
pub(crate) fn tell_of_the_end(event: &RunEvent) {
    if let RunEventKind::HookBlocked { point, handler, reason, .. } = &event.kind
        && AFTER_DONE.contains(point)
    {
        out::tell_line(&blocked(point, handler, reason));
    }
}

fn blocked(point: &str, handler: &str, reason: &str) -> Shown {
    let mut lines = reason.trim_end().lines();
    let first = lines.next().unwrap_or_default();
    let first = wrap(&text!("{} {} at {}: {}", Glyph::Warning, handler, point, first), width(), 2);
    lines.fold(first, |all, line| text!("{}\n  {} {}", all, Glyph::Bar, dim(line)))
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
