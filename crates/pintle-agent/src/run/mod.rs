//! One run: from one user message to its final answer, in twelve steps.
//!
//! The steps are the files of this folder, in the order [`steps`] calls them. A run is a task of its own. Its body
//! can be dropped at any await (the caller stopped it, or time ran out); [`ending`] then leaves a session that can
//! be resumed, and fires what has to be fired at every exit.

mod delegate;
mod ending;
mod explain;
mod ground;
mod history;
mod judge;
mod live;
mod model_call;
mod opening;
mod tool_call;

use std::{
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
    vec,
};

use futures_util::{FutureExt, Stream, StreamExt, future::OptionFuture};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use ground::{Finding, JudgedStep};
pub use judge::PermittedCall;

pub(crate) use live::Live;
use live::{Emitter, Lineage};

use crate::{
    Agent,
    event::{RunEvent, RunEventKind, RunOutcome},
    llm::{FinishReason, Usage},
    message::Message,
    store::{Claim, StoreError},
};

/// What starts a run: who asks what, where.
#[derive(Clone)]
pub struct Ask {
    pub(crate) session: SessionRef,
    pub(crate) platform: String,
    pub(crate) text: String,
    pub(crate) personality: Option<String>,
    pub(crate) lineage: Option<Lineage>,
    /// Nothing new was said: a run that died while it waited for a person goes on.
    pub(crate) resumes: bool,
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

impl Ask {
    /// A message in the newest session with this key; a new one if there is none.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        let (session, platform) = (SessionRef::Key(key.into()), "cli".to_string());
        Self {
            session,
            platform,
            text: text.into(),
            personality: None,
            lineage: None,
            resumes: false,
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
    pub fn going_on(id: impl Into<String>) -> Self {
        Self { resumes: true, ..Self::in_session(id, "") }
    }

    /// Where it was said; `cli` unless told.
    #[must_use]
    pub fn on(mut self, platform: impl Into<String>) -> Self {
        self.platform = platform.into();
        self
    }

    /// With a claim on its session that the caller has: the run takes it over, and nobody gets in between.
    #[must_use]
    pub fn holding(self, claim: Claim) -> Self {
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
        self
    }

    /// Who the agent is to be; the session's personality unless told.
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
    pub usage: Usage,
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
        let mut finished =
            Finished { text: String::new(), outcome: RunOutcome::Error, usage: Usage::default() };
        while let Some(event) = self.next().await {
            let own = event.envelope.run_id.as_deref() == Some(&self.id);
            match event.kind {
                RunEventKind::Usage { input_tokens, output_tokens, cost_usd } => {
                    finished.usage.input_tokens += input_tokens;
                    finished.usage.output_tokens += output_tokens;
                    if let Some(cost) = cost_usd {
                        *finished.usage.cost_usd.get_or_insert_default() += cost;
                    }
                }
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

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        let code =
            if matches!(error, StoreError::InUse { .. }) { "session_in_use" } else { "store" };
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

pub(crate) fn start(agent: Agent, ask: Ask) -> Run {
    let (sender, events) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let id = new_id();
    let emitter = Emitter::new(sender, &agent.inner, ask.lineage.as_ref());
    let live = Arc::new(Live::new(agent.clone(), ask, id.clone(), emitter));
    agent.inner.background.spawn(whole(live, cancel.clone()));
    Run { id, events, come: Vec::new().into_iter(), cancel }
}

async fn whole(live: Arc<Live>, cancel: CancellationToken) {
    let limit = live.agent().limits.max_seconds;
    let ending = {
        let body = pin!(AssertUnwindSafe(steps(&live)).catch_unwind());
        let out_of_time = OptionFuture::from(limit.map(async |limit| {
            live.begun.notified().await;
            tokio::time::sleep(Duration::from_secs(limit)).await;
        }));
        let out_of_time = pin!(out_of_time);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ending::new(RunOutcome::Aborted, "The run was stopped."),
            Some(()) = out_of_time => {
                let limit = limit.unwrap_or_default();
                Ending::new(RunOutcome::MaxSeconds, format!("The run was stopped: it took longer than {limit} s."))
            }
            ending = body => match ending {
                Ok(Ok(ending)) => ending,
                Ok(Err(error)) => error.into(),
                Err(_) => RunError::new("panicked", "a part of the agent panicked; the run cannot go on").into(),
            },
        }
    };
    ending::close(&live, ending).await;
}

/// The twelve steps; the last is [`ending::close`].
async fn steps(live: &Live) -> Result<Ending, RunError> {
    opening::open_session(live).await?;
    opening::announce(live).await?;
    let mut unfinished = None;
    if live.ask.resumes {
        unfinished = history::unfinished(live).await?;
        if unfinished.is_none() {
            return Ok(Ending::new(RunOutcome::EndTurn, "There is nothing to go on with."));
        }
    } else if let Some(reason) = opening::submit_prompt(live).await? {
        return Ok(Ending::new(RunOutcome::Refusal, reason));
    }
    let mut messages = history::load(live).await?;
    if unfinished.is_some() {
        // Its results are still to come: those that stand in for them are not sent.
        messages.pop();
    }
    let system = opening::build_prompt(live, &messages).await?;
    loop {
        let response = match unfinished.take() {
            Some(response) => response,
            None => {
                if let Some(ending) = live.limit_reached() {
                    return Ok(ending);
                }
                let response = model_call::ask(live, &system, &messages).await?;
                let (text, tool_calls) = (response.text.clone(), response.tool_calls.clone());
                messages.push(Message::Assistant { text, tool_calls });
                response
            }
        };
        let results = tool_call::handle_all(live, &response).await?;
        match response.finish {
            FinishReason::MaxTokens => {
                return Ok(Ending::new(RunOutcome::MaxTokens, response.text));
            }
            FinishReason::Refusal => return Ok(Ending::new(RunOutcome::Refusal, response.text)),
            _ if results.is_empty() => return Ok(Ending::new(RunOutcome::EndTurn, response.text)),
            _ => messages.push(Message::ToolResults { results }),
        }
        if let Some(ending) = live.denied_too_often() {
            return Ok(ending);
        }
        live.next_turn();
    }
}

pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
