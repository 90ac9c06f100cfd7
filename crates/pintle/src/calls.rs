//! The calls of one fire: which handlers it reaches, in what order, what is recorded of them.

use std::{
    future::Future,
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{
    Event, Failure, FailurePolicy, FireError, Model, Outcome, Point,
    fire::Fire,
    guarded::Shield,
    model::{Notes, Said},
    record::Recorder,
    registry::{Entry, Slot},
    seat::Started,
};

pub(crate) type Answer<P> = <<P as Point>::Model as Model>::Answer;
type View<P> = <<P as Point>::Model as Model>::View;
type OutcomeOf<P> = <<P as Point>::Model as Model>::Outcome;

/// The calls of one fire, and the record of them.
pub(crate) struct Calls<P: Point> {
    event: Event<P>,
    /// Only there when somebody watches (R4.15).
    recorder: Option<Box<Recorder>>,
}

impl<P: Point> Calls<P> {
    pub(crate) fn new(event: Event<P>, recorder: Option<Box<Recorder>>) -> Self {
        Self { event, recorder }
    }

    /// The next handler this fire reaches, in order.
    #[inline]
    pub(crate) fn next<'s>(
        &mut self,
        slot: &'s Slot<P>,
        position: &mut usize,
    ) -> Option<Reached<'s, P>> {
        while let Some(entry) = slot.entries.get(*position) {
            let at = *position;
            *position += 1;
            if !entry.meta.wants(self.event.tool()) {
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

    /// Calls a handler and polls it once.
    #[inline]
    pub(crate) fn start(
        &self,
        reached: &Reached<'_, P>,
        view: View<P>,
        cx: &mut Context<'_>,
    ) -> Started<Said<Answer<P>>, Waits<P>> {
        let event = Event { shared: self.event.shared.clone(), view };
        match (reached.entry.call)(event, cx) {
            Started::Answered(said) => Started::Answered(said),
            Started::Waits(running) => {
                match Shield::raise(running, reached.entry.meta.deadline, cx) {
                    Started::Answered(said) => Started::Answered(said),
                    Started::Waits(shield) => {
                        Started::Waits(Waits { shield, handler: reached.keep() })
                    }
                }
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
    shield: Shield<Said<Answer<P>>>,
    handler: Kept<P>,
}

impl<P: Point> Future for Waits<P> {
    type Output = (Kept<P>, Result<Said<Answer<P>>, Box<Failure>>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.shield).poll(cx).map(|said| (self.handler.reached().keep(), said))
    }
}

/// What a model whose handlers run one after another makes of their answers.
pub(crate) trait Chain<P: Point> {
    /// What the next handler sees of the answers so far.
    fn view(&self) -> View<P>;

    /// Takes in one answer; `Break` ends the chain.
    fn take(
        &mut self,
        calls: &mut Calls<P>,
        reached: &Reached<'_, P>,
        said: Result<Said<Answer<P>>, Box<Failure>>,
    ) -> ControlFlow<()>;

    /// What the answers come to, at the end of the chain.
    fn end(&mut self) -> OutcomeOf<P>;
}

/// Calls the handlers one after another. As long as they answer at once, this is a plain loop.
pub(crate) struct InTurn<P: Point, C> {
    // In the order they are dropped: first the handler that is waited for, then the record of it.
    waits: Option<Waits<P>>,
    chain: C,
    calls: Calls<P>,
    slot: Arc<Slot<P>>,
    position: usize,
}

impl<P: Point, C> InTurn<P, C> {
    pub(crate) fn new(fire: Fire<P>, chain: C) -> Self {
        let (slot, calls) = fire.split();
        Self { waits: None, chain, calls, slot, position: 0 }
    }
}

/// Nothing in it is ever pinned.
impl<P: Point, C> Unpin for InTurn<P, C> {}

impl<P: Point, C: Chain<P>> Future for InTurn<P, C> {
    type Output = OutcomeOf<P>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<OutcomeOf<P>> {
        let Self { waits, chain, calls, slot, position } = &mut *self;
        if let Some(waited_for) = waits {
            let (handler, said) = ready!(Pin::new(waited_for).poll(cx));
            *waits = None;
            if chain.take(calls, &handler.reached(), said).is_break() {
                return Poll::Ready(chain.end());
            }
        }
        while let Some(reached) = calls.next(slot, position) {
            match calls.start(&reached, chain.view(), cx) {
                Started::Answered(said) => {
                    if chain.take(calls, &reached, said).is_break() {
                        break;
                    }
                }
                Started::Waits(handler) => {
                    *waits = Some(handler);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(chain.end())
    }
}
