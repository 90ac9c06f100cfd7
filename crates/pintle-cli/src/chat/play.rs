//! Plays one run for a person: shows its events, asks its questions, stops it on Ctrl-C.

use std::time::Duration;

use futures_util::StreamExt;
use pintle_agent::{ApprovalRequest, Run, RunEventKind, RunOutcome};

use super::{Interrupts, Line, Lines, Questions, Screen, TerminalAnswer};

pub(crate) struct Player {
    screen: Screen,
    lines: Lines,
    questions: Questions,
    interrupts: Interrupts,
    answer_yes: bool,
}

/// How a run ended, as far as the person is concerned.
pub(crate) enum Ended {
    Done {
        text: String,
        outcome: RunOutcome,
    },
    /// Ctrl-C twice.
    Quit,
}

impl Player {
    pub(crate) fn new(screen: Screen, lines: Lines, questions: Questions) -> Self {
        Self { screen, lines, questions, interrupts: Interrupts::listen(), answer_yes: false }
    }

    /// Answers every question with yes, and shows that it did.
    pub(crate) fn answering_yes(mut self) -> Self {
        self.answer_yes = true;
        self
    }

    /// What the person says next.
    pub(crate) async fn next_line(&mut self, prompt: &str) -> Line {
        tokio::select! {
            line = self.lines.ask(prompt) => line,
            () = self.interrupts.next() => Line::Signalled,
        }
    }

    /// Waits for this unless the person would rather not; `false` then.
    pub(crate) async fn wait_for(&mut self, last: impl Future<Output = ()>) -> bool {
        tokio::select! {
            () = last => true,
            () = self.interrupts.next() => false,
        }
    }

    pub(crate) async fn play(&mut self, mut run: Run) -> Ended {
        let id = run.id().to_string();
        let mut stopping = false;
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        self.screen.begin();
        loop {
            tokio::select! {
                biased;
                () = self.interrupts.next() => {
                    if stopping {
                        self.screen.end();
                        return Ended::Quit;
                    }
                    stopping = true;
                    run.cancel();
                    self.screen.note("stopping… (Ctrl-C again to leave at once)");
                }
                Some((request, mut reply)) = self.questions.recv() => {
                    let answer = tokio::select! {
                        answer = self.question(&request) => Some(answer),
                        () = reply.closed() => None,
                    };
                    match answer {
                        Some(Some(answer)) => drop(reply.send(answer)),
                        // The person would rather stop.
                        Some(None) => run.cancel(),
                        None => self.screen.note("somebody else answered; press Enter to go on"),
                    }
                    self.screen.begin();
                }
                event = run.next() => {
                    let Some(event) = event else {
                        self.screen.end();
                        return Ended::Done { text: "the run is gone".into(), outcome: RunOutcome::Error };
                    };
                    let own = event.envelope.run_id.as_deref() == Some(&id);
                    self.screen.show(&event, own);
                    if let (RunEventKind::Done { text, outcome }, true) = (event.kind, own) {
                        self.screen.end();
                        return Ended::Done { text, outcome };
                    }
                }
                _ = tick.tick() => self.screen.tick(),
            }
        }
    }

    /// `None` when the person would rather stop.
    async fn question(&mut self, request: &ApprovalRequest) -> Option<TerminalAnswer> {
        self.screen.question(request);
        if self.answer_yes {
            self.screen.note("answered with yes (--yes)");
            return Some(TerminalAnswer::Yes);
        }
        let prompt = "  allow it? y(es) / a(lways in this session) / n(o) / a reason for no › ";
        loop {
            match self.lines.ask(prompt).await {
                Line::Interrupted | Line::Signalled | Line::End => return None,
                Line::Text(text) => match text.trim() {
                    "" => {}
                    "y" | "yes" => return Some(TerminalAnswer::Yes),
                    "a" | "always" => return Some(TerminalAnswer::YesForThisSession),
                    "n" | "no" => return Some(TerminalAnswer::No(None)),
                    reason => return Some(TerminalAnswer::No(Some(reason.to_string()))),
                },
            }
        }
    }
}
