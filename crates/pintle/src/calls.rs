//! The calls of one fire: which handlers it reaches, in what order, what is recorded of them.

use std::{
    future::Future,
    mem::ManuallyDrop,
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{
    Event, Failure, FailurePolicy, FireError, Model, Outcome, Point,
    guarded::Shield,
    model::{Notes, Said},
    record::Recorder,
    registry::{Entry, Slot},
    seat::Answered,
};

pub(crate) type Answer<P> = <<P as Point>::Model as Model>::Answer;
type OutcomeOf<P> = <<P as Point>::Model as Model>::Outcome;

/// The calls of one fire, and the record of them.
#[doc(hidden)]
pub struct Calls<'f, P: Point> {
    slot: &'f Slot<P>,
    pub(crate) event: &'f mut Event<P>,
    recorder: Option<&'f mut Recorder>,
}

impl<'f, P: Point> Calls<'f, P> {
    #[inline]
    pub(crate) fn new(
        slot: &'f Slot<P>,
        event: &'f mut Event<P>,
        recorder: Option<&'f mut Recorder>,
    ) -> Self {
        Self { slot, event, recorder }
    }

    /// The next handler this fire reaches, in order.
    #[inline]
    pub(crate) fn next(&mut self, position: &mut usize) -> Option<Reached<'f, P>> {
        while let Some(entry) = self.slot.entries.get(*position) {
            let at = *position;
            *position += 1;
            if !entry.meta.wants(|| self.event.tool()) {
                continue;
            }
            let ticket = self.recorder.as_mut().map_or(0, |recorder| recorder.start(&entry.meta));
            let reached = Reached { entry, position: at, ticket };
            if entry.is_live() {
                return Some(reached);
            }
            self.finish(&reached, Outcome::Removed, None);
        }
        None
    }

    /// Calls a handler and polls it once: it answers, or it waits.
    #[inline]
    pub(crate) fn start(
        &self,
        reached: &Reached<'_, P>,
        answered: &mut Answered<Answer<P>>,
        cx: &mut Context<'_>,
    ) -> Option<Waits<P>> {
        let running = (reached.entry.call)(self.event.clone(), answered, cx)?;
        match Shield::raise(running, reached.entry.meta.deadline, cx) {
            Ok(shield) => Some(Waits { shield, handler: reached.keep() }),
            Err(failure) => {
                *answered = Some(Said::Failed(failure));
                None
            }
        }
    }

    #[inline]
    pub(crate) fn finish(&mut self, reached: &Reached<'_, P>, outcome: Outcome, notes: Notes) {
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
                record.outcome = Outcome::Patched;
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

    fn keep(&self) -> Kept<P> {
        Kept { entry: self.entry.clone(), position: self.position, ticket: self.ticket }
    }

    /// The error of the whole fire, if this handler may not fail.
    pub(crate) fn if_fail_closed(&self, failure: &Failure) -> Option<FireError> {
        (self.entry.meta.policy == FailurePolicy::FailClosed).then(|| FireError::FailClosed {
            point: P::NAME,
            handler: self.name().to_string(),
            failure: failure.clone(),
        })
    }

    /// A block without words still says who blocked.
    pub(crate) fn reason_or_name(&self, reason: String) -> String {
        if reason.is_empty() { format!("blocked by {}", self.name()) } else { reason }
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

/// A handler that a fire waits for.
pub(crate) struct Waits<P: Point> {
    shield: Shield<Answer<P>>,
    handler: Kept<P>,
}

impl<P: Point> Future for Waits<P> {
    type Output = (Kept<P>, Said<Answer<P>>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.shield.poll(cx).map(|said| (self.handler.reached().keep(), said))
    }
}

/// What a model whose handlers run one after another makes of their answers.
pub(crate) trait Chain<P: Point> {
    /// Takes in one answer, and out of `answered` what has to be dropped; `Break` ends the chain.
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        answered: &mut Answered<Answer<P>>,
    ) -> ControlFlow<()>;

    /// What the answers come to, at the end of the chain.
    fn end(&mut self, calls: &mut Calls<'_, P>) -> OutcomeOf<P>;
}

/// How far handlers that run one after another have come.
pub struct InTurn<P: Point, C> {
    waits: Option<Waits<P>>,
    chain: C,
    position: usize,
}

impl<P: Point, C: Default> Default for InTurn<P, C> {
    #[inline]
    fn default() -> Self {
        Self { waits: None, chain: C::default(), position: 0 }
    }
}

/// Calls the handlers one after another. As long as they answer at once, this is a plain loop.
#[inline]
pub(crate) fn in_turn<P: Point, C: Chain<P>>(
    calls: &mut Calls<'_, P>,
    InTurn { waits, chain, position }: &mut InTurn<P, C>,
    cx: &mut Context<'_>,
) -> Poll<OutcomeOf<P>> {
    if let Some(waited_for) = waits {
        let (handler, said) = ready!(Pin::new(waited_for).poll(cx));
        *waits = None;
        if chain.take(calls, &handler.reached(), &mut Some(said)).is_break() {
            return Poll::Ready(chain.end(calls));
        }
    }
    while let Some(reached) = calls.next(position) {
        // Nothing is left in it to drop, and it is not looked at for that: see [`Chain::take`].
        let mut answered = ManuallyDrop::new(None);
        if let Some(handler) = calls.start(&reached, &mut answered, cx) {
            *waits = Some(handler);
            return Poll::Pending;
        }
        if chain.take(calls, &reached, &mut answered).is_break() {
            break;
        }
    }
    Poll::Ready(chain.end(calls))
}
