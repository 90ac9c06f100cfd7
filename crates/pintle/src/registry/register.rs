//! Binding a handler to a point.

use std::{future::Future, panic::Location, sync::Arc};

use super::{Entry, RegisterError, Registrar, Registration, Slot, entry::Call};
use crate::{
    DynHandler, Event, Failure, Hooks, IntoAnswer, IsClaiming, IsGate, IsModifying, IsVoid, Model,
    ModelKind, Point,
    calls::Answer,
    model::Said,
    seat::{Place, start},
};

/// With default options; see [`Registrar`] for the others.
impl Hooks {
    /// Binds a handler that observes.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(|e: Event<SessionStart>| async move { println!("{} begins", e.session_id()) })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_void<P, F, Fut>(&self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsVoid,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.options().register_void(handler)
    }

    /// Binds a handler that amends: it returns `Some(patch)` or `None`.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(|_: Event<BeforePromptBuild>| async {
    ///     Some(PromptPatch { append_system: Some("Be brief.".into()), ..Default::default() })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_modifying<P, F, Fut>(&self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsModifying,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.options().register_modifying(handler)
    }

    /// Binds a handler that may claim: it returns `Some(claim)` or `None` to pass.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_claiming(|e: Event<BeforeDispatch>| async move {
    ///     e.text.is_empty().then(|| Suppressed { reason: Some("nothing to say".into()) })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_claiming<P, F, Fut>(&self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsClaiming,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.options().register_claiming(handler)
    }

    /// Binds a handler that may stop the action: it returns a [`Verdict`](crate::Verdict). If it fails, it blocks.
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(|e: Event<ToolPre>| async move {
    ///     if e.zone > 2 { Verdict::block("too far") } else { Verdict::allow() }
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_gate<P, F, Fut>(&self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsGate,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.options().register_gate(handler)
    }

    /// Binds a handler to a point known by name only: see [`Registrar::register_dyn`].
    ///
    /// ```
    /// use pintle::{DynEvent, Failure, Hooks, ModelKind};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_dyn("tool.pre", ModelKind::Gate, |e: DynEvent| async move {
    ///     Ok::<_, Failure>(json!({ "continue": e.json["zone"] != 6, "reason": "never" }))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such point, or it has another model.
    #[track_caller]
    pub fn register_dyn(
        &self,
        point: &str,
        model: ModelKind,
        handler: impl DynHandler,
    ) -> Result<Registration, RegisterError> {
        self.options().register_dyn(point, model, handler)
    }
}

impl Registrar {
    /// Binds a handler that observes.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("mine").register_void(|e: Event<SessionStart>| async move { println!("{} begins", e.session_id()) })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_void<P, F, Fut>(self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsVoid,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.register(Location::caller(), handler)
    }

    /// Binds a handler that amends: it returns `Some(patch)` or `None`.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("mine").register_modifying(|_: Event<BeforePromptBuild>| async {
    ///     Some(PromptPatch { append_system: Some("Be brief.".into()), ..Default::default() })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_modifying<P, F, Fut>(self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsModifying,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.register(Location::caller(), handler)
    }

    /// Binds a handler that may claim: it returns `Some(claim)` or `None` to pass.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("mine").register_claiming(|e: Event<BeforeDispatch>| async move {
    ///     e.text.is_empty().then(|| Suppressed { reason: Some("nothing to say".into()) })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_claiming<P, F, Fut>(self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsClaiming,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.register(Location::caller(), handler)
    }

    /// Binds a handler that may stop the action: it returns a [`Verdict`](crate::Verdict). If it fails, it blocks.
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("mine").register_gate(|e: Event<ToolPre>| async move {
    ///     if e.zone > 2 { Verdict::block("too far") } else { Verdict::allow() }
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When the description does not hold: see [`RegisterError`].
    #[track_caller]
    pub fn register_gate<P, F, Fut>(self, handler: F) -> Result<Registration, RegisterError>
    where
        P: Point,
        P::Model: IsGate,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.register(Location::caller(), handler)
    }

    /// Binds a handler that takes and returns JSON to a point known by name only: for plugins and config.
    ///
    /// What it answers is checked against the point: an answer that does not fit is a
    /// [`BadOutput`](crate::FailureKind::BadOutput) failure.
    ///
    /// ```
    /// use pintle::{DynEvent, Failure, Hooks, ModelKind};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("from-config").register_dyn("before_prompt_build", ModelKind::Modifying, |e: DynEvent| async move {
    ///     Ok::<_, Failure>(json!({ "appendSystem": format!("You are on {}.", e.json["platform"]) }))
    /// })?;
    ///
    /// let error = hooks.register_dyn("before_promt_build", ModelKind::Modifying, |_: DynEvent| async {
    ///     Ok::<_, Failure>(json!(null))
    /// });
    /// assert_eq!(
    ///     error.err().unwrap().to_string(),
    ///     "there is no hook point `before_promt_build`; did you mean `before_prompt_build`?"
    /// );
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// As for the typed ones; also when there is no such point or it has another model.
    #[track_caller]
    pub fn register_dyn(
        self,
        point: &str,
        model: ModelKind,
        handler: impl DynHandler,
    ) -> Result<Registration, RegisterError> {
        let place = Location::caller();
        let erased = self.hooks().find(point)?;
        let info = erased.info();
        if info.model != model {
            return Err(RegisterError::WrongModel {
                point: info.name,
                is: info.model,
                asked: model,
            });
        }
        erased.register(self, Arc::new(handler), place)
    }

    fn register<P, F, Fut>(
        self,
        place: &'static Location<'static>,
        handler: F,
    ) -> Result<Registration, RegisterError>
    where
        P: Point,
        F: Fn(Event<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<Answer<P>>> + Send + 'static,
    {
        self.insert(place, move |powers, seat| {
            let understand = move |answer: Fut::Output| match answer.into_answer() {
                Ok(answer) => within::<P>(powers, Said::Plainly(answer)),
                Err(failure) => Said::failed(failure),
            };
            Box::new(move |event, answered, cx| {
                start(seat, || handler(event), understand, answered, cx)
            })
        })
    }

    pub(crate) fn register_json<P, Fut>(
        self,
        place: &'static Location<'static>,
        call: impl Fn(Event<P>) -> Fut + Send + Sync + 'static,
    ) -> Result<Registration, RegisterError>
    where
        P: Point,
        Fut: Future<Output = Result<Said<Answer<P>>, Failure>> + Send + 'static,
    {
        self.insert(place, move |powers, seat| {
            let understand = move |said: Fut::Output| match said {
                Ok(said) => within::<P>(powers, said),
                Err(failure) => Said::failed(failure),
            };
            Box::new(move |event, answered, cx| {
                start(seat, || call(event), understand, answered, cx)
            })
        })
    }

    fn insert<P: Point>(
        self,
        place: &'static Location<'static>,
        call: impl FnOnce(u64, Place) -> Call<P>,
    ) -> Result<Registration, RegisterError> {
        let hooks = self.hooks().clone();
        let (mut meta, powers) = self.checked::<P>(place)?;
        // Stays out here if it is refused: what it captured must not be dropped under the writers' lock.
        let mut call = Some(call(powers, Place::new()));
        hooks.write(|table, writer| {
            table.declare::<P>()?;
            let slot = table.slot::<P>().unwrap_or_else(|| Arc::new(Slot::empty()));
            let existing = |name: &str| slot.entries.iter().find(|entry| *entry.meta.name == *name);
            if meta.name.is_empty() {
                let counter = writer.counters.entry(P::NAME).or_default();
                while meta.name.is_empty() || existing(&meta.name).is_some() {
                    *counter += 1;
                    meta.name = format!("{}#{counter}", P::NAME).into();
                }
            } else if let Some(existing) = existing(&meta.name) {
                return Err(RegisterError::DuplicateName {
                    point: P::NAME,
                    name: meta.name.to_string(),
                    existing: existing.meta.source.clone(),
                });
            }
            writer.next_id += 1;
            meta.id = writer.next_id;
            let registration = Registration::new(&hooks.inner, meta.id, meta.name.clone());
            if let Some(call) = call.take() {
                table.put(slot.with(Entry::new(meta, call, hooks.inner.removals.clone())));
            }
            Ok(registration)
        })
    }
}

/// An answer that does more than its registration may is a failure, not an effect (R13.3).
#[inline]
fn within<P: Point>(powers: u64, said: Said<Answer<P>>) -> Said<Answer<P>> {
    if powers == u64::MAX { said } else { checked::<P>(powers, said) }
}

#[inline(never)]
fn checked<P: Point>(powers: u64, said: Said<Answer<P>>) -> Said<Answer<P>> {
    let answer = match &said {
        Said::Plainly(answer) => answer,
        Said::Noting(noted) => &noted.0,
        Said::Failed(_) => return said,
    };
    let beyond = P::Model::powers_used(answer) & !powers;
    match P::Model::powers().get(beyond.trailing_zeros() as usize) {
        None => said,
        Some(power) => {
            Said::failed(Failure::bad_output(format!("its capabilities do not include `{power}`")))
        }
    }
}
