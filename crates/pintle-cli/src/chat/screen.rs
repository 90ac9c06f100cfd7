//! What a person sees of a run: text as it comes, one line per tool call and per block, and what is waited for.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use pintle::points::ToolOutcome;
use pintle_agent::{ApprovalRequest, RunEvent, RunEventKind, RunOutcome};
use pintle_policy::{on_one_line, visible};
use serde_json::Value;

use crate::{
    environment::Environment,
    problem::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
};

/// A hook is named once it has been waited for this long.
const NAMED_AFTER: Duration = Duration::from_millis(300);

pub(crate) struct Screen {
    /// Text goes to standard output as it comes; otherwise the caller prints the answer.
    streams_text: bool,
    /// One-line notes are shown.
    notes: bool,
    bar: Option<ProgressBar>,
    animated: bool,
    waiting: Arc<Waiting>,
    doing: String,
    in_line: bool,
}

/// What is being waited for right now.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Option<(Instant, String)>>);

impl Waiting {
    pub(crate) fn handler_started(&self, point: &str, handler: &str) {
        self.set(Some((Instant::now(), format!("hook {handler} ({point})"))));
    }

    fn set(&self, to: Option<(Instant, String)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }

    fn long_enough(&self) -> Option<String> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting
            .as_ref()
            .filter(|(since, _)| since.elapsed() >= NAMED_AFTER)
            .map(|(_, what)| what.clone())
    }
}

impl Screen {
    pub(crate) fn full(environment: &Environment) -> Self {
        Self::new(true, true, environment.stderr_is_terminal)
    }

    /// For one question: the answer alone is printed, by the caller; notes only for a person.
    pub(crate) fn quiet(environment: &Environment) -> Self {
        Self::new(false, environment.stderr_is_terminal, environment.stderr_is_terminal)
    }

    fn new(streams_text: bool, notes: bool, animated: bool) -> Self {
        Self {
            streams_text,
            notes,
            bar: None,
            animated,
            waiting: Arc::default(),
            doing: String::new(),
            in_line: false,
        }
    }

    pub(crate) fn waiting(&self) -> Arc<Waiting> {
        self.waiting.clone()
    }

    pub(crate) fn begin(&mut self) {
        self.doing = "thinking".into();
        if self.animated && self.bar.is_none() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg:.dim}") {
                bar.set_style(style);
            }
            bar.set_message(self.doing.clone());
            self.bar = Some(bar);
        }
    }

    pub(crate) fn tick(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.waiting.long_enough().unwrap_or_else(|| self.doing.clone()));
            bar.tick();
        }
    }

    pub(crate) fn end(&mut self) {
        self.clear();
        self.break_line();
        let _ = std::io::stdout().flush();
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn break_line(&mut self) {
        if self.in_line {
            anstream::println!();
            self.in_line = false;
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        if self.notes {
            let shown = self.bar.is_some();
            self.clear();
            self.break_line();
            anstream::eprintln!("  {DIM}{}{DIM:#}", visible(text));
            if shown {
                self.begin();
            }
        }
    }

    fn line(&mut self, line: &str) {
        if self.notes {
            self.clear();
            self.break_line();
            anstream::eprintln!("{line}");
            self.begin();
        }
    }

    /// The real arguments, whole: that is what is approved.
    pub(crate) fn question(&mut self, request: &ApprovalRequest) {
        self.clear();
        self.break_line();
        anstream::eprintln!(
            "{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#} wants to run",
            on_one_line(&request.tool_name)
        );
        let shown = serde_json::to_string_pretty(&request.args)
            .unwrap_or_else(|_| request.args.to_string());
        // Nothing in them may hide or move what the person reads.
        for line in visible(&shown).lines() {
            anstream::eprintln!("    {line}");
        }
        anstream::eprintln!("  {DIM}{}{DIM:#}", visible(&request.reason));
    }

    pub(crate) fn show(&mut self, event: &RunEvent, own: bool) {
        let indent = if own { "" } else { "  " };
        match &event.kind {
            RunEventKind::TextDelta { text } if own && self.streams_text => {
                self.clear();
                anstream::print!("{}", visible(text));
                let _ = std::io::stdout().flush();
                self.in_line = !text.ends_with('\n');
            }
            RunEventKind::HookFired { .. } => self.waiting.set(None),
            RunEventKind::ToolStart { tool_name, args, .. } => {
                self.line(&format!(
                    "{indent}{CYAN}→{CYAN:#} {tool_name} {DIM}{}{DIM:#}",
                    brief(args)
                ));
                self.doing = format!("running {tool_name}");
            }
            RunEventKind::ToolEnd { tool_name, outcome: ToolOutcome::Rejected, error, .. } => {
                let reason = error.as_deref().unwrap_or_default();
                self.line(&format!(
                    "{indent}{RED}✗{RED:#} {tool_name} {RED}blocked{RED:#}: {}",
                    visible(reason)
                ));
            }
            RunEventKind::ToolEnd { tool_name, ok: true, duration_ms, .. } => {
                self.line(&format!(
                    "{indent}{GREEN}✓{GREEN:#} {tool_name} {DIM}{duration_ms} ms{DIM:#}"
                ));
            }
            RunEventKind::ToolEnd { tool_name, error, .. } => {
                let error = error.as_deref().unwrap_or_default();
                self.line(&format!("{indent}{RED}✗{RED:#} {tool_name}: {}", first_line(error)));
            }
            RunEventKind::HookBlocked { point, handler, reason, tool_call_id: None } => {
                self.line(&format!("{indent}{YELLOW}!{YELLOW:#} {handler} at {point}: {reason}"));
            }
            RunEventKind::Error { code, message } => {
                self.line(&format!("{indent}{RED}error{RED:#} {code}: {message}"));
            }
            // What the model said last has been streamed; how it ended otherwise has not.
            RunEventKind::Done { text, outcome }
                if own
                    && self.streams_text
                    && !matches!(outcome, RunOutcome::EndTurn | RunOutcome::Error) =>
            {
                self.line(&format!("{YELLOW}■{YELLOW:#} {text}"));
            }
            _ => {}
        }
    }
}

/// A call's arguments on one line.
fn brief(args: &Value) -> String {
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
    let line = first_line(&text);
    if line.chars().count() > 100 {
        format!("{}…", line.chars().take(100).collect::<String>())
    } else {
        line
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = on_one_line(lines.next().unwrap_or_default());
    if lines.next().is_some() { format!("{first} …") } else { first.to_string() }
}
