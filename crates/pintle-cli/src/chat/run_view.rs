//! Shows one run to a person: its events, its questions; and stops it on Ctrl-C.

use std::{path::Path, time::Duration};

use futures_util::StreamExt;
use pintle::points::ToolOutcome;
use pintle_agent::{Run, RunEventKind, RunOutcome, RunRequest, store::IdKind};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    Input, Interrupts, LEAVES_WITHIN, Line, Questions, Screen, StopSignal,
    asking::{AskOutcome, AskedAbout, Asking},
    keys::KeyRequest,
    totals::CallLog,
};
use crate::{
    assembly::Assembled,
    ids,
    out::{TURNS_EVERY, tell_line},
    problem::Problem,
    shown::{Shown, dim, text},
    term::{width, wrap},
};

/// The questions of one message come within this of each other.
const TOGETHER: Duration = Duration::from_millis(120);

pub(crate) struct RunView {
    pub(super) screen: Screen,
    pub(super) input: Input,
    questions: Questions,
    pub(crate) interrupts: Interrupts,
    answer_yes: bool,
    about: AskedAbout,
    rejections: Rejections,
    /// The last run, and its session.
    run_id: String,
    session: Option<String>,
    declines_attempts: bool,
    pacer: Option<Pacer>,
    failure: Option<Problem>,
}

/// Lets a reader follow a run turn by turn: the run waits at each of its requests to the model.
pub(crate) struct Pacer {
    pub(crate) turns: mpsc::UnboundedReceiver<(u32, oneshot::Sender<()>)>,
    /// The lines to show when a turn is reached.
    pub(crate) reached: Box<dyn FnMut(u32) -> Result<Option<Reached>, Problem> + Send>,
}

/// A turn that a reader is shown.
#[derive(Default)]
pub(crate) struct Reached {
    /// The lines of the step that ends with it.
    pub(crate) end: Vec<Shown>,
    /// Whether the reader says when it goes on.
    pub(crate) pauses: bool,
    /// The lines of the step that begins with it.
    pub(crate) begin: Vec<Shown>,
}

async fn next_turn(pacer: &mut Option<Pacer>) -> Option<(u32, oneshot::Sender<()>)> {
    match pacer {
        Some(pacer) => pacer.turns.recv().await,
        None => std::future::pending().await,
    }
}

/// The calls of a run, in the order they ended: models use an id again, and the first is meant.
#[derive(Default)]
struct Rejections {
    /// The call, and the reason if it was refused.
    ended: Vec<(String, Option<String>)>,
    /// The handler that blocked the call that is being judged.
    blocked_by: Option<String>,
}

impl Rejections {
    fn track(&mut self, event: &RunEventKind) {
        match event {
            RunEventKind::HookBlocked { handler, tool_call_id: Some(_), .. } => {
                self.blocked_by = Some(handler.clone());
            }
            RunEventKind::ToolEnd { tool_call_id, outcome, error, .. } => {
                let blocked_by = self.blocked_by.take();
                let refused = error.as_ref().filter(|_| *outcome == ToolOutcome::Rejected);
                let named = |why: &String| match blocked_by.filter(|who| !why.contains(who)) {
                    Some(who) => format!("{who}: {why}"),
                    None => why.clone(),
                };
                self.ended.push((tool_call_id.clone(), refused.map(named)));
            }
            _ => {}
        }
    }
}

/// How a run ended, for the person at the terminal.
pub(crate) enum Ended {
    Done {
        text: String,
        outcome: RunOutcome,
    },
    /// Ctrl-C twice: leave at once.
    Quit(u8),
    /// The program got a signal to end and the run was stopped: leave when the last handlers are done.
    Leave(u8),
}

impl RunView {
    pub(crate) fn new(screen: Screen, input: Input, questions: Questions) -> Self {
        Self {
            screen,
            input,
            questions,
            interrupts: Interrupts::listen(),
            answer_yes: false,
            about: AskedAbout::default(),
            rejections: Rejections::default(),
            run_id: String::new(),
            session: None,
            declines_attempts: false,
            pacer: None,
            failure: None,
        }
    }

    /// Stops at the turns of the run, for a reader.
    pub(crate) fn paced(mut self, pacer: Pacer) -> Self {
        self.pacer = Some(pacer);
        self
    }

    /// Denies every second attempt.
    pub(crate) fn declining_attempts(mut self) -> Self {
        self.declines_attempts = true;
        self
    }

    /// Why the reader is not shown the rest.
    pub(crate) fn take_failure(&mut self) -> Option<Problem> {
        self.failure.take()
    }

    /// The calls of the last run.
    pub(crate) fn log(&self) -> &[CallLog] {
        self.screen.log()
    }

    /// The exit code if the reader has seen enough.
    async fn show_turn(&mut self, turn: u32) -> Option<u8> {
        let reached = match self.pacer.as_mut().map(|pacer| (pacer.reached)(turn)) {
            Some(Ok(Some(reached))) => reached,
            Some(Err(problem)) => {
                self.failure = Some(problem);
                return Some(1);
            }
            _ => return None,
        };
        let show = |line: &Shown| tell_line(&wrap(line, width(), 2));
        reached.end.iter().for_each(show);
        if reached.pauses {
            let prompt = text!("  {}", dim("Enter next · q quit "));
            let request = KeyRequest { prompt, accepted: "\nq".to_owned(), is_new: false };
            let key = tokio::select! {
                signal = self.interrupts.next() => return Some(signal.code()),
                key = self.input.key(request) => key,
            };
            if key != Some('\n') {
                return Some(0);
            }
        }
        reached.begin.iter().for_each(show);
        None
    }

    /// Approves every question, and shows that.
    pub(crate) fn answering_yes(mut self) -> Self {
        self.answer_yes = true;
        self
    }

    /// The person's next message.
    pub(crate) async fn next_line(&mut self) -> Line {
        tokio::select! {
            line = self.input.next() => line,
            signal = self.interrupts.next() => Line::Signalled(signal),
        }
    }

    /// Why this call of the last run did not run, if it was refused.
    pub(crate) fn why_refused(&self, tool_call_id: &str) -> Option<&str> {
        let (_, refused) = self.rejections.ended.iter().find(|(id, _)| id == tool_call_id)?;
        refused.as_deref()
    }

    /// The session of the last run, if it opened one.
    pub(super) fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// How many calls of the last run were blocked.
    pub(crate) fn blocked(&self) -> u64 {
        self.screen.blocked()
    }

    /// The last run.
    pub(crate) fn run_id(&self) -> &str {
        &self.run_id
    }

    pub(crate) async fn play(&mut self, assembled: &Assembled, request: RunRequest) -> Ended {
        (self.rejections, self.session) = (Rejections::default(), None);
        self.about = assembled.asked_about.clone();
        self.screen.begin(assembled);
        // Not before: its first handlers start at once.
        let run = assembled.agent.run(request);
        self.run_id = run.id().to_string();
        ids::learn(&*assembled.store, IdKind::Run, &self.run_id).await;
        let ended = self.play_on(run).await;
        self.screen.end();
        ended
    }

    async fn play_on(&mut self, mut run: Run) -> Ended {
        let id = run.id().to_string();
        let mut stopping = Stopping::default();
        let mut elsewhere: Vec<String> = Vec::new();
        let mut turns = interval(TURNS_EVERY);
        // Ticks missed during a long question are not made up for.
        turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                           biased;
                           signal = self.interrupts.next() => {
                               if let Some(code) = stopping.at_once(signal) {
                                   return Ended::Quit(code);
                               }
                               run.cancel();
                               self.screen.note(&stopping.words());
                           }
                           code = stopping.too_late() => return Ended::Quit(code),
                           // Earlier events are shown before the question.
                           event = run.next() => {
                               let Some(event) = event else {
                                   return Ended::Done { text: "the run is gone".into(), outcome: RunOutcome::Error };
                               };
                               let own = event.envelope.run_id.as_deref() == Some(&id);
                               if let RunEventKind::ApprovalResolved { approval_id, outcome, by, .. } = &event.kind
                                   && elsewhere.extract_if(.., |id| id == approval_id).count() > 0
                               {
                                   self.screen.note(&answered_elsewhere(outcome, by.as_deref()));
                               }
                               self.screen.show(&event, own);
                               if own {
                                   self.rejections.track(&event.kind);
                                   self.session.clone_from(&event.envelope.session_id);
                               }
                               if let (RunEventKind::Done { text, outcome }, true) = (event.kind, own) {
                                   // The person sees that the signal came too late, and can repeat it.
                                   if stopping.stopped_nothing(outcome) && !self.input.is_typed() {
                                       self.interrupts.keep(StopSignal::Stop);
                                   }
                                   return match stopping.leaves {
                                       Some((code, _)) => Ended::Leave(code),
                                       None => Ended::Done { text, outcome },
                                   };
                               }
                           }
                           Some(first) = self.questions.recv() => {
                               let mut pending = vec![first];
                               while let Ok(Some(next)) = timeout(TOGETHER, self.questions.recv()).await {
                                   pending.push(next);
                               }
                               // In the order of the message, whichever hook answered first.
                               pending.sort_by_key(|(it, _)| self.screen.place_of(&it.tool_call_id));
                               let asking = Asking {
            input: &self.input,
            about: &self.about,
            answer_yes: self.answer_yes,
            declines_attempts: self.declines_attempts,
            };
                               let asked = tokio::select! {
                                   biased;
                                   signal = self.interrupts.next() => Err(signal),
                                   asked = asking.ask(pending) => Ok(asked),
                               };
                               match asked {
                                   Ok(AskOutcome::Answered(settled)) => elsewhere.extend(settled),
                                   Ok(AskOutcome::Stopped) => run.cancel(),
                                   Err(signal) => {
                                       self.input.settle().await;
                                       if let Some(code) = stopping.at_once(signal) {
                                           return Ended::Quit(code);
                                       }
                                       run.cancel();
                                   }
                               }
                           }
                           Some((turn, go_on)) = next_turn(&mut self.pacer) => match self.show_turn(turn).await {
                               Some(code) => return Ended::Leave(code),
                               None => drop(go_on.send(())),
                           },
                           _ = turns.tick() => self.screen.tick(),
                       }
        }
    }
}

/// The outcome of a question that closed before the person here answered.
fn answered_elsewhere(outcome: &str, by: Option<&str>) -> Shown {
    match (outcome, by) {
        ("expired", _) => text!("no answer came in time: the question expired"),
        ("cancelled", _) => text!("the question was withdrawn"),
        (outcome, Some(by)) => text!("{} elsewhere, by {}", outcome, by),
        (outcome, None) => text!("{} elsewhere", outcome),
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
    /// Whether the signal came after the run had ended.
    fn stopped_nothing(&self, outcome: RunOutcome) -> bool {
        self.asked && self.leaves.is_none() && outcome != RunOutcome::Aborted
    }

    /// The exit code if there is nothing more to wait for: this is the second time.
    pub(super) fn at_once(&mut self, signal: StopSignal) -> Option<u8> {
        match (signal, self.leaves) {
            (_, Some((code, _))) => return Some(code),
            (StopSignal::Stop, None) if self.asked => return Some(signal.code()),
            (StopSignal::Stop, None) => {}
            (StopSignal::Leave(code), None) => {
                self.leaves = Some((code, Instant::now() + LEAVES_WITHIN));
            }
        }
        self.asked = true;
        None
    }

    /// Resolves when the program has to end and the run has not stopped in time.
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

/// The folder's name as people write it: with `~` for their home.
pub(crate) fn with_tilde(folder: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.display()),
        None => folder.display().to_string(),
    }
}
