//! Plays one run for a person: shows its events, asks its questions, stops it on Ctrl-C.

use futures_util::StreamExt;
use pintle::points::ToolOutcome;
use pintle_agent::{ApprovalRequest, Run, RunEventKind, RunOutcome};
use pintle_store::Scope;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{
    Interrupts, LEAVES_WITHIN, Line, Lines, Questions, Screen, TerminalAnswer, Wish,
    answer::{meaning, prompt, understand},
};
use crate::{
    out::TURNS_EVERY,
    shown::{Shown, text},
};

pub(crate) struct Player {
    screen: Screen,
    lines: Lines,
    questions: Questions,
    pub(crate) interrupts: Interrupts,
    answer_yes: bool,
    calls: Calls,
}

/// The calls of a run, in the order they ended: models use an id again, and the first is meant.
#[derive(Default)]
struct Calls {
    /// Which, and why it was refused, if it was.
    ended: Vec<(String, Option<String>)>,
    /// Who said no to the call that is being judged.
    no_from: Option<String>,
}

impl Calls {
    fn heed(&mut self, event: &RunEventKind) {
        match event {
            RunEventKind::HookBlocked { handler, tool_call_id: Some(_), .. } => {
                self.no_from = Some(handler.clone());
            }
            RunEventKind::ToolEnd { tool_call_id, outcome, error, .. } => {
                let no_from = self.no_from.take();
                let refused = error.as_ref().filter(|_| *outcome == ToolOutcome::Rejected);
                let named = |why: &String| match no_from.filter(|who| !why.contains(who)) {
                    Some(who) => format!("{who}: {why}"),
                    None => why.clone(),
                };
                self.ended.push((tool_call_id.clone(), refused.map(named)));
            }
            _ => {}
        }
    }
}

/// How a run ended, as far as the person is concerned.
pub(crate) enum Ended {
    Done {
        text: String,
        outcome: RunOutcome,
    },
    /// Ctrl-C twice: leave at once.
    Quit(u8),
    /// The program was told to leave, and the run has been stopped: leave when the last handlers are done.
    Leave(u8),
}

/// What came of a question.
enum Asked {
    Answered(TerminalAnswer),
    /// The person would rather stop.
    Stopped,
    Told(Wish),
    /// It needs no answer from here any more; why comes with the run's events.
    Settled,
}

impl Player {
    pub(crate) fn new(screen: Screen, lines: Lines, questions: Questions) -> Self {
        let (interrupts, calls) = (Interrupts::listen(), Calls::default());
        Self { screen, lines, questions, interrupts, answer_yes: false, calls }
    }

    /// Answers every question with yes, and shows that it did.
    pub(crate) fn answering_yes(mut self) -> Self {
        self.answer_yes = true;
        self
    }

    /// What the person says next.
    pub(crate) async fn next_line(&mut self, prompt: &str) -> Line {
        tokio::select! {
            line = self.lines.next(prompt) => line,
            wish = self.interrupts.next() => Line::Signalled(wish),
        }
    }

    /// Why this call of the last run did not run, if it was refused.
    pub(crate) fn why_refused(&self, tool_call_id: &str) -> Option<&str> {
        let (_, refused) = self.calls.ended.iter().find(|(id, _)| id == tool_call_id)?;
        refused.as_deref()
    }

    pub(crate) async fn play(&mut self, run: Run) -> Ended {
        self.calls = Calls::default();
        self.screen.begin();
        let ended = self.play_on(run).await;
        self.screen.end();
        ended
    }

    async fn play_on(&mut self, mut run: Run) -> Ended {
        let id = run.id().to_string();
        let mut stopping = Stopping::default();
        let mut settled = None;
        let mut turns = interval(TURNS_EVERY);
        // However long a person thinks about a question: nothing is made up for.
        turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                wish = self.interrupts.next() => {
                    if let Some(code) = stopping.at_once(wish) {
                        return Ended::Quit(code);
                    }
                    run.cancel();
                    self.screen.note(&stopping.words());
                }
                code = stopping.too_late() => return Ended::Quit(code),
                // What happened before a question is seen before it.
                event = run.next() => {
                    let Some(event) = event else {
                        return Ended::Done { text: "the run is gone".into(), outcome: RunOutcome::Error };
                    };
                    let own = event.envelope.run_id.as_deref() == Some(&id);
                    self.screen.show(&event, own);
                    if own {
                        self.calls.heed(&event.kind);
                    }
                    if let RunEventKind::ApprovalResolved { approval_id, outcome, by, .. } = &event.kind
                        && let Some((_, gone)) = settled.take_if(|(id, _)| id == approval_id)
                    {
                        self.screen.note(&without_you(outcome, by.as_deref(), gone));
                    }
                    if let (RunEventKind::Done { text, outcome }, true) = (event.kind, own) {
                        // A person sees that it was too late, and says so again.
                        if stopping.stopped_nothing(outcome) && !self.lines.are_typed() {
                            self.interrupts.keep(Wish::Stop);
                        }
                        return match stopping.leaves {
                            Some((code, _)) => Ended::Leave(code),
                            None => Ended::Done { text, outcome },
                        };
                    }
                }
                Some((request, mut reply)) = self.questions.recv() => {
                    let asked = tokio::select! {
                        biased;
                        wish = self.interrupts.next() => Asked::Told(wish),
                        () = reply.closed() => Asked::Settled,
                        asked = question(&self.screen, &self.lines, &request, self.answer_yes) => asked,
                    };
                    match asked {
                        Asked::Answered(answer) => drop(reply.send(answer)),
                        Asked::Stopped => run.cancel(),
                        Asked::Told(wish) => {
                            if let Some(code) = stopping.at_once(wish) {
                                return Ended::Quit(code);
                            }
                            run.cancel();
                        }
                        Asked::Settled => {
                            let gone = self.lines.dismiss().await;
                            settled = Some((request.approval_id, gone));
                        }
                    }
                }
                _ = turns.tick() => self.screen.tick(),
            }
        }
    }
}

/// What became of a question while a person was still thinking about it, and what to do when its prompt is still there.
fn without_you(outcome: &str, by: Option<&str>, gone: bool) -> Shown {
    let became = match (outcome, by) {
        ("expired", _) => text!("nobody answered in time: the question lapsed"),
        ("cancelled", _) => text!("the question was called off"),
        (outcome, by) => {
            text!("somebody else answered: {} by {}", outcome, by.unwrap_or("somebody"))
        }
    };
    if gone { became } else { text!("{}; press Enter to go on", became) }
}

/// Asks until the answer is clear.
async fn question(
    screen: &Screen,
    lines: &Lines,
    request: &ApprovalRequest,
    answer_yes: bool,
) -> Asked {
    screen.question(request);
    if answer_yes {
        screen.note(&text!("answered with yes (--yes)"));
        return Asked::Answered(TerminalAnswer::Yes(Scope::Once));
    }
    let rule = request.rule.as_ref();
    loop {
        match lines.answer(prompt(rule)).await {
            Line::Interrupted | Line::End => return Asked::Stopped,
            Line::Signalled(wish) => return Asked::Told(wish),
            Line::Text(typed) => match understand(&typed, rule) {
                Some(answer) => return Asked::Answered(answer),
                None if typed.trim().is_empty() => {}
                None => screen.note(&meaning(rule)),
            },
        }
    }
}

/// A run that is being stopped, and what for.
#[derive(Default)]
pub(super) struct Stopping {
    asked: bool,
    /// The program's exit code, and when it leaves at the latest.
    pub(super) leaves: Option<(u8, Instant)>,
}

impl Stopping {
    /// Whether it was asked for when the run was over already.
    fn stopped_nothing(&self, outcome: RunOutcome) -> bool {
        self.asked && self.leaves.is_none() && outcome != RunOutcome::Aborted
    }

    /// The exit code if there is nothing more to wait for: this is the second time.
    pub(super) fn at_once(&mut self, wish: Wish) -> Option<u8> {
        match (wish, self.leaves) {
            (_, Some((code, _))) => return Some(code),
            (Wish::Stop, None) if self.asked => return Some(wish.code()),
            (Wish::Stop, None) => {}
            (Wish::Leave(code), None) => self.leaves = Some((code, Instant::now() + LEAVES_WITHIN)),
        }
        self.asked = true;
        None
    }

    /// Comes when the program was told to leave and the run has not ended in time.
    pub(super) async fn too_late(&self) -> u8 {
        match self.leaves {
            Some((code, at_the_latest)) => {
                sleep_until(at_the_latest).await;
                code
            }
            None => std::future::pending().await,
        }
    }

    fn words(&self) -> Shown {
        match self.leaves {
            Some(_) => text!("stopping, then leaving…"),
            None => text!("stopping… (Ctrl-C again to leave at once)"),
        }
    }
}
