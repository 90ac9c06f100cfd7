//! One run: from one user message to its final answer, in twelve steps.
//!
//! The steps are the files of this folder, in the order [`steps`] calls them. A run is a task of its own. Its body
//! can be dropped at any await (the caller stopped it, or time ran out); [`ending`] then leaves a session that can
//! be resumed, and fires what has to be fired at every exit.

mod after_call;
mod amend;
mod approval;
mod budget;
mod compaction;
mod context;
mod delegate;
mod emitter;
mod ending;
mod execute;
mod explain;
mod history;
mod interrupted;
mod judge;
mod ledger;
mod model_call;
mod opening;
mod static_checks;
mod tool_call;
mod trail;

use std::{
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

use futures_util::{FutureExt, Stream, StreamExt, future::OptionFuture};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use delegate::delegate_spec;
pub use explain::RecordedCall;
pub use judge::PermittedCall;
pub use static_checks::{Finding, JudgedStep};
pub use trail::{CallVerdict, JudgedCall};

use context::Lineage;
pub(crate) use context::RunContext;
use emitter::Emitter;
use history::{Before, Unfinished};

use crate::{
    Agent, LlmUsage, Message,
    event::{RunEvent, RunEventKind, RunOutcome},
    llm::FinishReason,
    store::{Claim, StoreError},
};

/// What starts a run: who asks what, where.
#[derive(Clone)]
pub struct RunRequest {
    pub(crate) session: SessionRef,
    pub(crate) platform: String,
    pub(crate) text: String,
    /// Who said it, if the agent does not know them.
    pub(crate) stranger: Option<String>,
    pub(crate) personality: Option<String>,
    pub(crate) lineage: Option<Lineage>,
    /// Nothing new was said: a run that died while it waited for a person goes on.
    pub(crate) resumes: bool,
    /// Nothing new was said: the conversation is summarised.
    pub(crate) compacts: bool,
    /// The run's id, when the caller keeps it: a run that began before goes on.
    pub(crate) id: Option<String>,
    /// The session, taken beforehand; the run takes it over.
    pub(crate) claim: Arc<Mutex<Option<Claim>>>,
}

/// Which conversation a run belongs to.
#[derive(Debug, Clone)]
pub(crate) enum SessionRef {
    Key(String),
    Id(String),
    New(String),
}

impl RunRequest {
    /// A message in the newest session with this key; a new one if there is none.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        let (session, platform) = (SessionRef::Key(key.into()), "cli".to_string());
        Self {
            session,
            platform,
            text: text.into(),
            stranger: None,
            personality: None,
            lineage: None,
            resumes: false,
            compacts: false,
            id: None,
            claim: Arc::default(),
        }
    }

    /// A message in this very session.
    pub fn in_session(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { session: SessionRef::Id(id.into()), ..Self::new("", text) }
    }

    /// A message that begins a new session under this key.
    pub fn in_new_session(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { session: SessionRef::New(key.into()), ..Self::new("", text) }
    }

    /// Nothing new was said: the run of this session that died while a person was being asked goes on.
    pub fn resume(id: impl Into<String>) -> Self {
        Self { resumes: true, ..Self::in_session(id, "") }
    }

    /// Nothing new was said: the older part of this session is summarised, as these words say, if there are any.
    pub fn compact(id: impl Into<String>, instructions: impl Into<String>) -> Self {
        Self { compacts: true, ..Self::in_session(id, instructions) }
    }

    /// The run gets this id. If a run with this id was parked, or its process ended in it, it goes on where it stopped:
    /// the message is not stored twice, and no tool runs twice.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Where it was said; `cli` by default.
    #[must_use]
    pub fn on(mut self, platform: impl Into<String>) -> Self {
        self.platform = platform.into();
        self
    }

    /// The message is of somebody whom no allowlist names: it is text from outside, and is stored in a fence.
    #[must_use]
    pub fn from_stranger(mut self, who: impl Into<String>) -> Self {
        self.stranger = Some(who.into());
        self
    }

    /// With the caller's claim on its session: the run takes it over, so no other run can start in between.
    #[must_use]
    pub fn holding(self, claim: Claim) -> Self {
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
        self
    }

    /// The personality of the agent; by default, the session's.
    #[must_use]
    pub fn as_personality(mut self, personality: impl Into<String>) -> Self {
        self.personality = Some(personality.into());
        self
    }
}

/// A run under way: a stream of its events. Dropping it stops the run.
pub struct Run {
    id: String,
    events: mpsc::UnboundedReceiver<Vec<RunEvent>>,
    /// Events that have come and were not read yet.
    come: vec::IntoIter<RunEvent>,
    cancel: CancellationToken,
}

/// How a run came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The final answer, or why there is none.
    pub text: String,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What its model requests cost together.
    pub usage: LlmUsage,
}

impl Run {
    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Stops the run. It still ends in order: the events up to `done` and after follow.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What stops the run, to keep elsewhere.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Reads it to its end, its last handlers included.
    pub async fn finish(mut self) -> Finished {
        let mut finished = Finished {
            text: String::new(),
            outcome: RunOutcome::Error,
            usage: LlmUsage::default(),
        };
        while let Some(event) = self.next().await {
            let own = event.envelope.run_id.as_deref() == Some(&self.id);
            match event.kind {
                RunEventKind::Usage { usage, .. } => finished.usage += usage,
                RunEventKind::Done { text, outcome } if own => {
                    finished.text = text;
                    finished.outcome = outcome;
                }
                _ => {}
            }
        }
        finished
    }
}

impl Stream for Run {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        loop {
            if let Some(event) = self.come.next() {
                return Poll::Ready(Some(event));
            }
            match ready!(self.events.poll_recv(cx)) {
                Some(events) => self.come = events.into_iter(),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// How the body of a run came out.
pub(crate) struct Ending {
    outcome: RunOutcome,
    /// What the user gets to read.
    text: String,
    error: Option<RunError>,
}

impl Ending {
    fn new(outcome: RunOutcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into(), error: None }
    }
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunError {
    code: String,
    message: String,
}

impl RunError {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

impl RunError {
    /// The run waits for a person, and is not over: nothing is closed, and nothing is said.
    fn parked() -> Self {
        Self::new("parked", "the run waits for a person")
    }

    fn is_parked(&self) -> bool {
        self.code == "parked"
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::InUse { .. } => "session_in_use",
            StoreError::ClaimLost { .. } => "claim_lost",
            _ => "store",
        };
        Self::new(code, error.to_string())
    }
}

impl From<pintle::FireError> for RunError {
    fn from(error: pintle::FireError) -> Self {
        Self::new("hook", error.to_string())
    }
}

impl From<RunError> for Ending {
    fn from(error: RunError) -> Self {
        Self { outcome: RunOutcome::Error, text: error.message.clone(), error: Some(error) }
    }
}

pub(crate) fn start(agent: Agent, request: RunRequest) -> Run {
    let (sender, events) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let id = request.id.clone().unwrap_or_else(new_id);
    let emitter = Emitter::new(sender, &agent.inner, request.lineage.as_ref());
    let ctx = Arc::new(RunContext::new(agent.clone(), request, id.clone(), emitter));
    agent.inner.background.spawn(drive(ctx, cancel.clone()));
    Run { id, events, come: Vec::new().into_iter(), cancel }
}

async fn drive(ctx: Arc<RunContext>, cancel: CancellationToken) {
    let limit = ctx.agent().limits.max_seconds;
    let ending = {
        let body = pin!(AssertUnwindSafe(steps(&ctx)).catch_unwind());
        let out_of_time = OptionFuture::from(limit.map(async |limit| {
            ctx.begun.wait().await;
            tokio::time::sleep(Duration::from_secs(limit)).await;
        }));
        let out_of_time = pin!(out_of_time);
        let lost = pin!(async { ctx.begun.wait().await.cancelled().await });
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ending::new(RunOutcome::Aborted, "The run was stopped."),
            Some(()) = out_of_time => {
                let limit = limit.unwrap_or_default();
                Ending::new(RunOutcome::MaxSeconds, format!("The run was stopped: it took longer than {limit} s."))
            }
            () = lost => {
                RunError::from(StoreError::ClaimLost { session: ctx.session_id() }).into()
            }
            ending = body => match ending {
                Ok(Ok(ending)) => ending,
                Ok(Err(error)) if error.is_parked() => return ending::park(&ctx).await,
                Ok(Err(error)) => error.into(),
                Err(_) => RunError::new("panicked", "a part of the agent panicked; the run cannot go on").into(),
            },
        }
    };
    ending::close(&ctx, ending).await;
}

/// The twelve steps; the last is [`ending::close`].
async fn steps(ctx: &RunContext) -> Result<Ending, RunError> {
    opening::open_session(ctx).await?;
    opening::announce(ctx).await?;
    if ctx.request.compacts {
        return compaction::by_hand(ctx).await;
    }
    let mut unfinished = None;
    let before = match ctx.request.resumes {
        true => None,
        false => history::begun_before(ctx).await?,
    };
    if !ctx.request.resumes && before.is_none() {
        history::withdraw_questions(ctx).await?;
        history::repair(ctx, Vec::new()).await?;
    }
    if ctx.request.resumes {
        unfinished = history::unfinished(ctx).await?;
        if unfinished.is_none() {
            return Ok(Ending::new(RunOutcome::EndTurn, "There is nothing to go on with."));
        }
    } else if let Some(before) = before {
        match before {
            Before::Answered(text) => return Ok(Ending::new(RunOutcome::EndTurn, text)),
            Before::Calls(calls) => unfinished = Some(calls),
            Before::Asked => {}
        }
    } else if let Some(reason) = opening::submit_prompt(ctx).await? {
        return Ok(Ending::new(RunOutcome::Refusal, reason));
    }
    let mut messages = history::load(ctx).await?;
    if unfinished.is_some() {
        // Its results are still to come: those that stand in for them are not sent.
        messages.pop();
    }
    let system = opening::build_prompt(ctx, &messages).await?;
    loop {
        let goes_on = unfinished.is_some();
        let (response, progress) = match unfinished.take() {
            Some(Unfinished { response, calls }) => (response, calls),
            None => {
                if let Some(ending) = ctx.limit_reached() {
                    return Ok(ending);
                }
                let response = model_call::ask(ctx, &system, &mut messages).await?;
                let (text, tool_calls) = (response.text.clone(), response.tool_calls.clone());
                messages.push(Message::assistant(text, tool_calls));
                (response, Vec::new())
            }
        };
        let results = tool_call::handle_all(ctx, &response, progress).await?;
        if goes_on {
            // An approval of a call that is forbidden by now is used up too.
            history::withdraw_questions(ctx).await?;
        }
        match response.finish {
            FinishReason::MaxTokens => {
                return Ok(Ending::new(RunOutcome::MaxTokens, response.text));
            }
            FinishReason::Refusal => return Ok(Ending::new(RunOutcome::Refusal, response.text)),
            _ if results.is_empty() => return Ok(Ending::new(RunOutcome::EndTurn, response.text)),
            _ => messages.push(Message::tool_results(results)),
        }
        if let Some(ending) = ctx.stopped_by_calls() {
            return Ok(ending);
        }
        ctx.next_turn();
    }
}

pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
