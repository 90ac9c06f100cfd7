//! One fire under way: which handlers it reaches, how each is called, what is recorded of it.

use std::{
    future::Future,
    ops::ControlFlow,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{BoxFuture, Either, poll_fn, select};
use tokio_util::sync::CancellationToken;

use crate::{
    Cx, Event, Failure, FailurePolicy, FireError, Hooks, IsClaiming, IsGate, IsModifying, IsVoid,
    Model, Outcome, Point,
    guarded::Shield,
    model::{Notes, Said},
    record::Recorder,
    registry::{Entry, Slot},
};

pub(crate) type Answer<P> = <<P as Point>::Model as Model>::Answer;
pub(crate) type View<P> = <<P as Point>::Model as Model>::View;
type OutcomeOf<P> = <<P as Point>::Model as Model>::Outcome;

impl Hooks {
    /// Fires a Void point: every handler observes, all are awaited.
    ///
    /// `payload` is called at once, and only if somebody listens. The future borrows neither the registry nor the
    /// context, so that it can be spawned. An error names a `fail-closed` handler that failed, or says that the
    /// fire was cancelled.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(|e: Event<SessionStart>| async move { assert!(!e.resumed) })?;
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// hooks.fire_void(&cx, || SessionStart { resumed: false }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn fire_void<P, F>(
        &self,
        cx: &Cx,
        payload: F,
    ) -> impl Future<Output = Result<(), FireError>> + Send + use<P, F>
    where
        P: Point,
        F: FnOnce() -> P,
        P::Model: IsVoid,
    {
        outcome_of(self.start(cx, payload))
    }

    /// Fires a Modifying point: handlers amend in order, and per key the first value wins.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("date").register_modifying(|_: Event<BeforePromptBuild>| async {
    ///     Some(PromptPatch { append_system: Some("Today is Tuesday.".into()), ..Default::default() })
    /// })?;
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// let merged = hooks
    ///     .fire_modifying(&cx, || BeforePromptBuild { history: vec![], system: "You help.".into() })
    ///     .await?;
    /// assert_eq!(merged.append_system.as_deref(), Some("Today is Tuesday."));
    /// assert_eq!(merged.winner("appendSystem"), Some("date"));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn fire_modifying<P, F>(
        &self,
        cx: &Cx,
        payload: F,
    ) -> impl Future<Output = OutcomeOf<P>> + Send + use<P, F>
    where
        P: Point,
        F: FnOnce() -> P,
        P::Model: IsModifying,
    {
        outcome_of(self.start(cx, payload))
    }

    /// Fires a Claiming point: the first claim ends the chain; `None` is "not handled".
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("no-spam").register_claiming(|e: Event<BeforeDispatch>| async move {
    ///     e.text.contains("BUY NOW").then(|| Suppressed { reason: Some("spam".into()) })
    /// })?;
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// let message = |text: &str| BeforeDispatch {
    ///     chat_id: "c".into(), platform: "cli".into(), text: text.into(),
    /// };
    /// assert!(hooks.fire_claiming(&cx, || message("hello")).await?.is_none());
    /// let claimed = hooks.fire_claiming(&cx, || message("BUY NOW")).await?.unwrap();
    /// assert_eq!((&*claimed.by, claimed.reason.as_deref()), ("no-spam", Some("spam")));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn fire_claiming<P, F>(
        &self,
        cx: &Cx,
        payload: F,
    ) -> impl Future<Output = OutcomeOf<P>> + Send + use<P, F>
    where
        P: Point,
        F: FnOnce() -> P,
        P::Model: IsClaiming,
    {
        outcome_of(self.start(cx, payload))
    }

    /// Fires a Gate point. There is no error to mistake for an allow: whatever goes wrong is a block.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("crashes").register_gate(|e: Event<UserPromptSubmit>| async move {
    ///     if e.prompt.is_empty() { Verdict::block("say something") } else { panic!("oh no") }
    /// })?;
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// let outcome = hooks.fire_gate(&cx, || UserPromptSubmit { prompt: "hi".into() }).await;
    /// assert_eq!(outcome.blocked().unwrap().reason, "`crashes` panicked: oh no");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn fire_gate<P, F>(
        &self,
        cx: &Cx,
        payload: F,
    ) -> impl Future<Output = OutcomeOf<P>> + Send + use<P, F>
    where
        P: Point,
        F: FnOnce() -> P,
        P::Model: IsGate,
    {
        outcome_of(self.start(cx, payload))
    }

    /// All four models come through here. With nobody listening there is no fire: no allocation, no payload,
    /// one atomic load.
    #[inline]
    pub(crate) fn start<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> Option<Fire<P>> {
        if self.is_quiet(P::index()) && cx.sink.is_none() { None } else { self.begin(cx, payload) }
    }

    fn begin<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> Option<Fire<P>> {
        let slot = self.snapshot::<P>();
        let sinks = [self.sink(), cx.sink.clone()];
        let recorder = sinks
            .iter()
            .any(Option::is_some)
            .then(|| Box::new(Recorder::new(sinks, P::NAME, P::Model::KIND, cx.envelope.clone())));
        let slot = slot?.through(&cx.plugins)?;
        let calls = Calls { event: Event::new(payload(), cx.envelope.clone()), recorder };
        Some(Fire { slot, calls, cancel: cx.cancel.clone() })
    }
}

/// Ready at once when there is no fire.
#[inline]
pub(crate) fn outcome_of<P: Point>(
    fire: Option<Fire<P>>,
) -> impl Future<Output = OutcomeOf<P>> + Send + 'static {
    let Some(mut fire) = fire else {
        // The outcome is made when asked for: carried in the future, it would be moved about with it.
        return Either::Left(poll_fn(|_| Poll::Ready(P::Model::quiet())));
    };
    // Boxed, so that a fire that reaches nobody moves a few bytes and not a whole state machine.
    let running: BoxFuture<'static, _> = match fire.cancel.take() {
        None => Box::pin(P::Model::run(fire)),
        Some(cancel) => Box::pin(run_unless(cancel, fire)),
    };
    Either::Right(running)
}

async fn run_unless<P: Point>(cancel: CancellationToken, fire: Fire<P>) -> OutcomeOf<P> {
    if cancel.is_cancelled() {
        return P::Model::cancelled(P::NAME);
    }
    // The handlers first, then the token: an outcome that is there is never lost.
    match select(pin!(P::Model::run(fire)), pin!(cancel.cancelled())).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => P::Model::cancelled(P::NAME),
    }
}

/// A fire that is about to start.
#[doc(hidden)]
pub struct Fire<P: Point> {
    /// The handlers as they were when the fire began (R4.8). Owned: nothing is locked while they run.
    slot: Arc<Slot<P>>,
    calls: Calls<P>,
    cancel: Option<CancellationToken>,
}

impl<P: Point> Fire<P> {
    /// Handlers and bookkeeping apart, so that one can be borrowed while the other is written.
    pub(crate) fn split(self) -> (Arc<Slot<P>>, Calls<P>) {
        (self.slot, self.calls)
    }
}

/// The calls of one fire, and the record of them.
pub(crate) struct Calls<P: Point> {
    event: Event<P>,
    /// Only there when somebody watches (R4.15).
    recorder: Option<Box<Recorder>>,
}

impl<P: Point> Calls<P> {
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

    /// Starts a handler within the shield and polls it once.
    #[inline]
    pub(crate) fn start(
        &self,
        reached: &Reached<'_, P>,
        view: View<P>,
        shield: &mut Shield<Said<Answer<P>>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Said<Answer<P>>, Box<Failure>>> {
        let event = Event { shared: self.event.shared.clone(), view };
        let entry = reached.entry;
        shield.start(entry.meta.deadline, |seat| (entry.call)(event, seat), cx)
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
}

/// Calls the handlers one after another. As long as they answer at once, this is a plain loop.
pub(crate) fn in_turn<P: Point>(
    slot: &Slot<P>,
    calls: &mut Calls<P>,
    chain: &mut (impl Chain<P> + Send),
) -> impl Future<Output = ()> + Send {
    let mut shield = Shield::new();
    let mut position = 0;
    let mut waited_for = None;
    poll_fn(move |cx| {
        loop {
            let (reached, polled) = match waited_for.take() {
                Some(reached) => (reached, shield.poll(cx)),
                None => {
                    let Some(reached) = calls.next(slot, &mut position) else {
                        return Poll::Ready(());
                    };
                    let polled = calls.start(&reached, chain.view(), &mut shield, cx);
                    (reached, polled)
                }
            };
            let Poll::Ready(said) = polled else {
                waited_for = Some(reached);
                return Poll::Pending;
            };
            if chain.take(calls, &reached, said).is_break() {
                return Poll::Ready(());
            }
        }
    })
}

/// A handler that a fire reaches.
pub(crate) struct Reached<'s, P: Point> {
    entry: &'s Entry<P>,
    pub(crate) position: usize,
    ticket: usize,
}

impl<P: Point> Reached<'_, P> {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.entry.meta.name
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
