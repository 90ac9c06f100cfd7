//! Firing a point: what its caller awaits, and what ends it early.

use std::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{
    Cx, Event, FireError, Hooks, IsClaiming, IsGate, IsModifying, IsVoid, Model, Point,
    calls::Calls,
    model::{OutcomeOf, Progress, Run},
    record::Recorder,
    registry::HandlerList,
};

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
    /// use pintle::{Cx, Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SessionOpened>| { assert!(!e.resumed) })?;
    ///
    /// let cx = Cx::test();
    /// hooks.fire_void(&cx, SessionOpened::default).await?;
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
    /// use pintle::{Cx, Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("date").register_modifying(async |_: Event<BeforePromptBuild>| {
    ///     Some(PromptPatch::default().append_system("Today is Tuesday."))
    /// })?;
    ///
    /// let cx = Cx::test();
    /// let merged = hooks
    ///     .fire_modifying(&cx, || BeforePromptBuild::default().history(vec![]).system("You help."))
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
    /// use pintle::{Cx, Event, Hooks, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("no-spam").register_claiming(async |e: Event<BeforeDispatch>| {
    ///     e.text.contains("BUY NOW").then(|| Suppressed::default().reason("spam"))
    /// })?;
    ///
    /// let cx = Cx::test();
    /// let message = |text: &str| BeforeDispatch::default().chat_id("c").platform("cli").text(text);
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
    /// use pintle::{Cx, Event, Hooks, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("crashes").register_gate(async |e: Event<UserPromptSubmit>| {
    ///     if e.prompt.is_empty() { Verdict::block("say something") } else { panic!("oh no") }
    /// })?;
    ///
    /// let cx = Cx::test();
    /// let outcome = hooks.fire_gate(&cx, || UserPromptSubmit::default().prompt("hi")).await;
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

    /// All four models come through here. Without a listener there is no fire: no allocation, no payload,
    /// one atomic load.
    #[inline]
    pub(crate) fn start<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> Firing<P> {
        let quiet = self.is_quiet(P::index()) && !cx.is_watched();
        Firing(ManuallyDrop::new(if quiet { State::Quiet } else { self.begin(cx, payload) }))
    }

    #[inline]
    fn begin<P: Point>(&self, cx: &Cx, payload: impl FnOnce() -> P) -> State<P> {
        let watched = self.sink().is_some() || cx.is_watched();
        let Some(list) = self.snapshot::<P>().and_then(|list| list.through(&cx.plugins)) else {
            if watched {
                drop(self.recorder::<P>(cx, 0));
            }
            return State::Quiet;
        };
        let more = (watched || cx.cancel.is_some()).then(|| {
            let recorder = watched.then(|| self.recorder::<P>(cx, list.entries.len()));
            let cancel = cx.cancel.clone();
            Box::new(More { recorder, cancel, ..More::of(Progress::<P>::default()) })
        });
        State::Begun(Fire { more, event: Event::new(payload(), cx.envelope.clone()), list })
    }

    #[cold]
    fn recorder<P: Point>(&self, cx: &Cx, handlers: usize) -> Recorder {
        let sinks = [self.sink().cloned(), cx.sink.clone()];
        let on_start = cx.on_start.clone();
        Recorder::new(sinks, on_start, P::NAME, P::Model::KIND, cx.envelope.clone(), handlers)
    }
}

/// A fire as its caller awaits it. Most fires reach no handler, or are over at the first poll.
///
/// Dropped by hand: with the compiler's own drop an empty fire takes ten times as long as an atomic load, and may take eight.
pub(crate) struct Firing<P: Point>(ManuallyDrop<State<P>>);

enum State<P: Point> {
    Quiet,
    Begun(Fire<P>),
    Over,
}

/// The handlers that a fire reaches, and the event that they get.
struct Fire<P: Point> {
    // Dropped first: a handler that still runs must not outlive the fire's event.
    more: Option<Box<More<P>>>,
    event: Event<P>,
    /// The handlers as they were when the fire began (R4.8). Owned: nothing is locked while they run.
    list: Arc<HandlerList<P>>,
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
        match &mut *self.0 {
            State::Quiet => Poll::Ready(P::Model::quiet()),
            // Polled after its end: nothing that could be mistaken for a second outcome.
            State::Over => Poll::Ready(P::Model::cancelled(P::NAME)),
            State::Begun(fire) => {
                let outcome = ready!(fire.poll(cx));
                *self.0 = State::Over;
                Poll::Ready(outcome)
            }
        }
    }
}

impl<P: Point> Drop for Firing<P> {
    #[inline]
    fn drop(&mut self) {
        if let State::Begun(_) = *self.0 {
            *self.0 = State::Over;
        }
    }
}

impl<P: Point> Fire<P> {
    // An empty fire, which never comes here, would pay for the stack of all this.
    #[inline(never)]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<OutcomeOf<P>> {
        let Self { more, event, list } = self;
        let mut fresh = Progress::<P>::default();
        let (recorder, progress) = match more.as_deref_mut() {
            None => (None, &mut fresh),
            Some(More { cancel: Some(token), .. }) if token.is_cancelled() => {
                return Poll::Ready(P::Model::cancelled(P::NAME));
            }
            Some(More { recorder, progress, .. }) => (recorder.as_mut(), progress),
        };
        let polled = P::Model::run(&mut Calls::new(list, event, recorder), progress, cx);
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
