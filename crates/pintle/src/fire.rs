//! Firing a point: what its caller awaits, and what ends it early.

use std::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{
    Cx, Event, FireError, Hooks, IsClaiming, IsGate, IsModifying, IsVoid, Model, Point,
    calls::Calls, record::Recorder, registry::Slot,
};

type OutcomeOf<P> = <<P as Point>::Model as Model>::Outcome;
type Progress<P> = <<P as Point>::Model as Model>::Progress<P>;

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
        self.start(cx, payload)
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
        self.start(cx, payload)
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
        self.start(cx, payload)
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
        self.start(cx, payload)
    }

    /// All four models come through here. With nobody listening there is no fire: no allocation, no payload,
    /// one atomic load.
    #[inline]
    pub(crate) fn start<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> Firing<P> {
        let quiet = self.is_quiet(P::index()) && cx.sink.is_none();
        let state = if quiet { State::Quiet } else { self.begin(cx, payload) };
        Firing(ManuallyDrop::new(state))
    }

    /// Inlined with its caller, so that the fire is made where it is awaited.
    #[inline]
    fn begin<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> State<P> {
        let watched = self.sink().is_some() || cx.sink.is_some();
        let Some(slot) = self.snapshot::<P>().and_then(|slot| slot.through(&cx.plugins)) else {
            if watched {
                drop(self.recorder::<P>(cx, 0));
            }
            return State::Quiet;
        };
        let more = (watched || cx.cancel.is_some()).then(|| self.more(cx, &slot));
        State::Begun(Fire { more, event: Event::new(payload(), cx.envelope.clone()), slot })
    }

    #[cold]
    fn more<P: Point>(&self, cx: &Cx, slot: &Slot<P>) -> Box<More<P>> {
        let watched = self.sink().is_some() || cx.sink.is_some();
        let recorder = watched.then(|| self.recorder::<P>(cx, slot.entries.len()));
        let cancel = cx.cancel.clone();
        Box::new(More { recorder, cancel, ..More::of(Progress::<P>::default()) })
    }

    #[cold]
    fn recorder<P: Point>(&self, cx: &Cx, handlers: usize) -> Recorder {
        let sinks = [self.sink().cloned(), cx.sink.clone()];
        Recorder::new(sinks, P::NAME, P::Model::KIND, cx.envelope.clone(), handlers)
    }
}

/// A fire as its caller awaits it: a few words, for most fires reach nobody, or are over at the first poll. It is
/// polled where it is: moving it about would cost as much as a handler.
///
/// Dropped by hand, so that whoever awaits a fire that reaches nobody has nothing to call: only to look.
pub(crate) struct Firing<P: Point>(ManuallyDrop<State<P>>);

enum State<P: Point> {
    Quiet,
    Begun(Fire<P>),
    Over,
}

/// The handlers that a fire reaches, and what they are told.
struct Fire<P: Point> {
    // Dropped first: whoever is still waited for must not outlive the fire's event.
    more: Option<Box<More<P>>>,
    event: Event<P>,
    /// The handlers as they were when the fire began (R4.8). Owned: nothing is locked while they run.
    slot: Arc<Slot<P>>,
}

/// What only a fire needs that waits, is watched or can be cancelled.
struct More<P: Point> {
    // Dropped in this order: first the handlers that are waited for, then the record of them.
    progress: Progress<P>,
    /// Only there when somebody watches (R4.15).
    recorder: Option<Recorder>,
    cancel: Option<CancellationToken>,
    /// The token, while the fire waits.
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// Nothing in it is ever pinned: what cannot be moved is in a box of its own.
impl<P: Point> Unpin for Firing<P> {}

impl<P: Point> Future for Firing<P> {
    type Output = OutcomeOf<P>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match *self.0 {
            State::Quiet => Poll::Ready(P::Model::quiet()),
            _ => self.0.poll(cx),
        }
    }
}

impl<P: Point> Drop for Firing<P> {
    #[inline]
    fn drop(&mut self) {
        if let State::Begun(_) = *self.0 {
            self.0.end();
        }
    }
}

impl<P: Point> State<P> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<OutcomeOf<P>> {
        let Self::Begun(fire) = self else {
            // Polled after its end: nothing that could be mistaken for a second outcome.
            return Poll::Ready(P::Model::cancelled(P::NAME));
        };
        let polled = fire.poll(cx);
        if polled.is_ready() {
            self.end();
        }
        polled
    }

    #[inline(never)]
    fn end(&mut self) {
        *self = Self::Over;
    }
}

impl<P: Point> Fire<P> {
    /// Not inlined, so that the outcome is made where the caller wants it.
    #[inline(never)]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<OutcomeOf<P>> {
        let Self { more, event, slot } = self;
        let mut fresh = Progress::<P>::default();
        let (recorder, progress) = match more.as_deref_mut() {
            None => (None, &mut fresh),
            Some(More { cancel: Some(token), .. }) if token.is_cancelled() => {
                return Poll::Ready(P::Model::cancelled(P::NAME));
            }
            Some(More { recorder, progress, .. }) => (recorder.as_mut(), progress),
        };
        let polled = P::Model::run(&mut Calls::new(slot, event, recorder), progress, cx);
        if polled.is_ready() {
            return polled;
        }
        // The handlers first, then the token: an outcome that is there is never lost.
        more.get_or_insert_with(|| Box::new(More::of(fresh))).poll_token(cx)
    }
}

impl<P: Point> More<P> {
    fn of(progress: Progress<P>) -> Self {
        Self { progress, recorder: None, cancel: None, cancelled: None }
    }

    #[cold]
    fn poll_token(&mut self, cx: &mut Context<'_>) -> Poll<OutcomeOf<P>> {
        if let Some(token) = self.cancel.take() {
            self.cancelled = Some(Box::pin(token.cancelled_owned()));
        }
        let Some(cancelled) = &mut self.cancelled else { return Poll::Pending };
        cancelled.as_mut().poll(cx).map(|()| P::Model::cancelled(P::NAME))
    }
}
