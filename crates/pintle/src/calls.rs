//! The calls of one fire: which handlers it reaches, in what order, what is recorded of them.

use std::{
    future::Future,
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{
    Event, Failure, FailurePolicy, FireError, HandlerOutcome, Model, ModelKind, Point, future_pool,
    guarded::Shield,
    model::{Notes, OutcomeOf, Reply},
    record::Recorder,
    registry::{Entry, HandlerList},
};

pub(crate) type Answer<P> = <<P as Point>::Model as Model>::Answer;

/// The calls of one fire, and the record of them.
pub(crate) struct Calls<'f, P: Point> {
    list: &'f HandlerList<P>,
    pub(crate) event: &'f mut Event<P>,
    recorder: Option<&'f mut Recorder>,
}

impl<'f, P: Point> Calls<'f, P> {
    #[inline]
    pub(crate) fn new(
        list: &'f HandlerList<P>,
        event: &'f mut Event<P>,
        recorder: Option<&'f mut Recorder>,
    ) -> Self {
        Self { list, event, recorder }
    }

    /// The next handler this fire reaches, in order.
    #[inline]
    pub(crate) fn next(&mut self, position: &mut usize) -> Option<Reached<'f, P>> {
        while let Some(entry) = self.list.entries.get(*position) {
            let at = *position;
            *position += 1;
            if !entry.meta.wants(|| self.event.about_tool()) {
                continue;
            }
            let ticket = self.recorder.as_mut().map_or(0, |recorder| recorder.start(&entry.meta));
            let reached = Reached { entry, position: at, ticket };
            if entry.is_live() {
                return Some(reached);
            }
            self.finish(&reached, HandlerOutcome::Removed, None);
        }
        None
    }

    /// Calls a handler and polls it once: it answers, or it waits. A gate's handler that is failing is not called.
    #[inline]
    pub(crate) fn start(&self, reached: &Reached<'_, P>, cx: &mut Context<'_>) -> Started<P> {
        let breaker = &reached.entry.breaker;
        let has_timed_out = is_gate::<P>() && breaker.has_timed_out();
        if has_timed_out && let Some(failure) = breaker.refuse() {
            return Started::Replied(Reply::failed(failure));
        }
        match reached.entry.call(self.event.clone(), cx) {
            future_pool::Started::Replied(reply) => {
                if has_timed_out {
                    breaker.note(reply.failure());
                }
                Started::Replied(reply)
            }
            future_pool::Started::Waiting(running) => {
                match Shield::raise(running, reached.entry.meta.deadline, cx) {
                    Ok(shield) => Started::Waits(Waits { shield, handler: reached.keep() }),
                    Err(failure) => Started::Replied(Reply::Failed(failure)),
                }
            }
        }
    }

    #[inline]
    pub(crate) fn finish(
        &mut self,
        reached: &Reached<'_, P>,
        outcome: HandlerOutcome,
        notes: Notes,
    ) {
        if let Some(recorder) = &mut self.recorder {
            recorder.finish(reached.ticket, |record| {
                record.outcome = outcome;
                record.notes = notes.map(|notes| *notes).unwrap_or_default();
            });
        }
    }

    #[inline]
    pub(crate) fn finish_patch(
        &mut self,
        reached: &Reached<'_, P>,
        won: impl Iterator<Item = &'static str>,
        lost: impl Iterator<Item = &'static str>,
        notes: Notes,
    ) {
        if let Some(recorder) = &mut self.recorder {
            recorder.finish(reached.ticket, |record| {
                record.outcome = HandlerOutcome::Patched;
                record.won = won.collect();
                record.lost = lost.collect();
                record.notes = notes.map(|notes| *notes).unwrap_or_default();
            });
        }
    }
}

/// A handler that a fire reaches.
pub(crate) struct Reached<'s, P: Point> {
    entry: &'s Arc<Entry<P>>,
    pub(crate) position: usize,
    ticket: usize,
}

impl<P: Point> Reached<'_, P> {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.entry.meta.name
    }

    /// What it says is recorded, and has no effect.
    pub(crate) fn is_shadow(&self) -> bool {
        self.entry.meta.shadow
    }

    fn keep(&self) -> Kept<P> {
        Kept { entry: self.entry.clone(), position: self.position, ticket: self.ticket }
    }

    /// The error of the whole fire, if this handler may not fail.
    pub(crate) fn if_fail_closed(&self, failure: &Failure) -> Option<FireError> {
        (self.entry.meta.policy == FailurePolicy::FailClosed).then(|| FireError::FailClosed {
            point: P::NAME,
            handler: self.name().clone(),
            failure: failure.clone(),
        })
    }
}

/// A handler that a fire reached, kept for after its wait.
pub(crate) struct Kept<P: Point> {
    entry: Arc<Entry<P>>,
    position: usize,
    ticket: usize,
}

impl<P: Point> Kept<P> {
    pub(crate) fn reached(&self) -> Reached<'_, P> {
        Reached { entry: &self.entry, position: self.position, ticket: self.ticket }
    }
}

/// A handler that was called: it has answered, or the fire waits for it.
pub(crate) enum Started<P: Point> {
    Replied(Reply<Answer<P>>),
    Waits(Waits<P>),
}

/// A handler that a fire waits for.
pub(crate) struct Waits<P: Point> {
    shield: Shield<Answer<P>>,
    handler: Kept<P>,
}

impl<P: Point> Future for Waits<P> {
    type Output = (Kept<P>, Reply<Answer<P>>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(self.shield.poll(cx));
        let breaker = &self.handler.entry.breaker;
        // Only a handler that waits can time out.
        if is_gate::<P>() && (breaker.has_timed_out() || reply.failure().is_some()) {
            breaker.note(reply.failure());
        }
        Poll::Ready((self.handler.reached().keep(), reply))
    }
}

const fn is_gate<P: Point>() -> bool {
    matches!(P::Model::KIND, ModelKind::Gate)
}

/// What a model whose handlers run one after another makes of their answers.
pub(crate) trait Chain<P: Point> {
    /// Takes in what a handler replied; `Break` ends the chain.
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        reply: Reply<Answer<P>>,
    ) -> ControlFlow<()>;

    /// What the answers come to, at the end of the chain.
    fn end(&mut self, calls: &mut Calls<'_, P>) -> OutcomeOf<P>;
}

/// How far handlers that run one after another have come.
pub(crate) struct Sequential<P: Point, C> {
    waits: Option<Waits<P>>,
    chain: C,
    position: usize,
}

impl<P: Point, C: Default> Default for Sequential<P, C> {
    #[inline]
    fn default() -> Self {
        Self { waits: None, chain: C::default(), position: 0 }
    }
}

/// Calls the handlers one after another. As long as they answer at once, this is a plain loop.
#[inline]
pub(crate) fn run_sequentially<P: Point, C: Chain<P>>(
    calls: &mut Calls<'_, P>,
    Sequential { waits, chain, position }: &mut Sequential<P, C>,
    cx: &mut Context<'_>,
) -> Poll<OutcomeOf<P>> {
    if let Some(waited_for) = waits {
        let (handler, reply) = ready!(Pin::new(waited_for).poll(cx));
        *waits = None;
        if chain.take(calls, &handler.reached(), reply).is_break() {
            return Poll::Ready(chain.end(calls));
        }
    }
    while let Some(reached) = calls.next(position) {
        let reply = match calls.start(&reached, cx) {
            Started::Replied(reply) => reply,
            Started::Waits(handler) => {
                *waits = Some(handler);
                return Poll::Pending;
            }
        };
        if chain.take(calls, &reached, reply).is_break() {
            break;
        }
    }
    Poll::Ready(chain.end(calls))
}
