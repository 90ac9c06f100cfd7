//! Binding a handler to a point.

use std::{future::Future, panic::Location, sync::Arc};

use super::{Entry, HandlerList, RegisterError, Registrar, Registration, Staged, entry::Call};
use crate::{
    Event, Failure, HandlerOutput, Hooks, IntoAnswer, IntoDynHandler, IsClaiming, IsGate,
    IsModifying, IsVoid, Model, ModelKind, Point, Verdict,
    calls::Answer,
    future_pool::{SlotId, start},
    model::{Reply, Run, with_notes},
};

/// The `register_*` methods: of [`Hooks`] with default options, of [`Registrar`] with those it was given.
macro_rules! register_methods {
    ($($(#[doc = $doc:literal])* $register:ident<$P:ident>: $IsModel:ident => $Answer:ty;)*) => {
        /// With default options; see [`Registrar`] for the others.
        impl Hooks {
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// When the description does not hold: see [`RegisterError`].
                #[track_caller]
                pub fn $register<$P, F, R, M>(&self, handler: F) -> Result<Registration, RegisterError>
                where
                    $P: Point,
                    $P::Model: $IsModel,
                    F: Fn(Event<$P>) -> R + Send + Sync + 'static,
                    R: HandlerOutput<M, Answer: IntoAnswer<$Answer>> + 'static,
                    R::Future: Send,
                    M: 'static,
                {
                    self.options().register(Location::caller(), handler)
                }
            )*
        }

        impl Registrar {
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// When the description does not hold: see [`RegisterError`].
                #[track_caller]
                pub fn $register<$P, F, R, M>(self, handler: F) -> Result<Registration, RegisterError>
                where
                    $P: Point,
                    $P::Model: $IsModel,
                    F: Fn(Event<$P>) -> R + Send + Sync + 'static,
                    R: HandlerOutput<M, Answer: IntoAnswer<$Answer>> + 'static,
                    R::Future: Send,
                    M: 'static,
                {
                    self.register(Location::caller(), handler)
                }
            )*
        }
    };
}

register_methods! {
    /// Binds a handler that observes.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<SessionOpened>| println!("resumed: {}", e.resumed))?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    register_void<P>: IsVoid => ();

    /// Binds a handler that amends: it returns `Some(patch)` or `None`.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |_: Event<BeforePromptBuild>| {
    ///     Some(PromptPatch::default().append_system("Be brief."))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    register_modifying<P>: IsModifying => Option<<P::Model as IsModifying>::Patch>;

    /// Binds a handler that may claim: it returns `Some(claim)` or `None` to pass.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeDispatch, Suppressed}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_claiming(async |e: Event<BeforeDispatch>| {
    ///     e.text.is_empty().then(|| Suppressed::default().reason("nothing to say"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    register_claiming<P>: IsClaiming => Option<<P::Model as IsClaiming>::Claim>;

    /// Binds a handler that may stop the action: it returns a [`Verdict`](crate::Verdict). If it fails, it blocks.
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_gate(async |e: Event<ToolPre>| {
    ///     if e.zone > 2 { Verdict::block("too far") } else { Verdict::allow() }
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    register_gate<P>: IsGate => Verdict;
}

impl Hooks {
    /// Binds a handler to a point known by name only: see [`Registrar::register_dyn`].
    ///
    /// # Errors
    /// When there is no such point, or it has another model.
    #[track_caller]
    pub fn register_dyn<M>(
        &self,
        point: &str,
        model: ModelKind,
        handler: impl IntoDynHandler<M>,
    ) -> Result<Registration, RegisterError> {
        self.options().register_dyn(point, model, handler)
    }
}

impl Registrar {
    /// Binds a handler that takes and returns JSON to a point known by name only: for plugins and config.
    ///
    /// What it answers is checked against the point: an answer that does not fit is a
    /// [`BadOutput`](crate::FailureKind::BadOutput) failure.
    ///
    /// ```
    /// use pintle::{DynEvent, Hooks, ModelKind};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("from-config").register_dyn("before_prompt_build", ModelKind::Modifying, async |e: DynEvent| {
    ///     json!({ "appendSystem": format!("You are on {}.", e.json["platform"]) })
    /// })?;
    ///
    /// let error = hooks.register_dyn("before_promt_build", ModelKind::Modifying, |_: DynEvent| json!(null));
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
    pub fn register_dyn<M>(
        self,
        point: &str,
        model: ModelKind,
        handler: impl IntoDynHandler<M>,
    ) -> Result<Registration, RegisterError> {
        let hooks = self.hooks().clone();
        hooks.put(self.stage_dyn(point, model, handler)?)
    }

    /// Checks the same and registers nothing yet: [`Hooks::replace_plugin`] puts all of a plugin's handlers in force at once.
    ///
    /// # Errors
    /// As for [`register_dyn`](Self::register_dyn), but for a name that is taken.
    #[track_caller]
    pub fn stage_dyn<M>(
        self,
        point: &str,
        model: ModelKind,
        handler: impl IntoDynHandler<M>,
    ) -> Result<Staged, RegisterError> {
        let location = Location::caller();
        let erased = self.hooks().find(point)?;
        let info = erased.info();
        if info.model != model {
            return Err(RegisterError::WrongModel {
                point: info.name,
                is: info.model,
                asked: model,
            });
        }
        erased.stage(self, handler.into_dyn_handler(), location)
    }

    fn register<P, F, R, M>(
        self,
        location: &'static Location<'static>,
        handler: F,
    ) -> Result<Registration, RegisterError>
    where
        P: Point,
        F: Fn(Event<P>) -> R + Send + Sync + 'static,
        R: HandlerOutput<M, Answer: IntoAnswer<Answer<P>>> + 'static,
        R::Future: Send,
        M: 'static,
    {
        let hooks = self.hooks().clone();
        let staged = self.stage(location, move |capabilities, slot| {
            let understand = move |answer: R::Answer| match answer.into_answer() {
                Ok(answer) => within::<P>(capabilities, Reply::Answer(answer)),
                Err(failure) => Reply::failed(failure),
            };
            Box::new(move |event, cx| start(slot, || handler(event).into_future(), understand, cx))
        })?;
        hooks.put(staged)
    }

    pub(crate) fn stage_json<P, Fut>(
        self,
        location: &'static Location<'static>,
        call: impl Fn(Event<P>) -> Fut + Send + Sync + 'static,
    ) -> Result<Staged, RegisterError>
    where
        P: Point,
        Fut: Future<Output = Result<Reply<Answer<P>>, Failure>> + Send + 'static,
    {
        self.stage(location, move |capabilities, slot| {
            let understand = move |reply: Fut::Output| match reply {
                Ok(reply) => within::<P>(capabilities, reply),
                Err(failure) => Reply::failed(failure),
            };
            Box::new(move |event, cx| start(slot, || call(event), understand, cx))
        })
    }

    fn stage<P: Point>(
        self,
        location: &'static Location<'static>,
        call: impl FnOnce(u64, SlotId) -> Call<P>,
    ) -> Result<Staged, RegisterError> {
        let hooks = self.hooks().clone();
        let replaces = self.replaces();
        let (meta, capabilities) = self.checked::<P>(location)?;
        let plugin = meta.plugin.clone();
        // Stays in here if it is refused: what it captured must not be dropped under the writers' lock.
        let mut parts = Some((meta, call(capabilities, SlotId::new())));
        Ok(Staged::new(plugin, move |table, writer| {
            table.declare::<P>()?;
            let list = table.handlers::<P>().unwrap_or_else(|| Arc::new(HandlerList::empty()));
            let existing = |name: &str| list.entries.iter().find(|entry| *entry.meta.name == *name);
            if let Some((meta, _)) = &parts
                && let Some(existing) = existing(&meta.name)
                && !replaces
            {
                return Err(RegisterError::DuplicateName {
                    point: P::NAME,
                    name: meta.name.to_string(),
                    existing: existing.meta.source.clone(),
                });
            }
            let Some((mut meta, call)) = parts.take() else { return Ok(None) };
            if meta.name.is_empty() {
                let counter = writer.counters.entry(P::NAME).or_default();
                while meta.name.is_empty() || existing(&meta.name).is_some() {
                    *counter += 1;
                    meta.name = format!("{}#{counter}", P::NAME).into();
                }
            }
            writer.next_id += 1;
            meta.id = writer.next_id;
            let registration = Registration::new(&hooks.inner, meta.id, meta.name.clone());
            table.put(list.with(Entry::new(meta, call, hooks.inner.removals.clone())));
            Ok(Some(registration))
        }))
    }
}

/// An answer that does more than its registration may is a failure, not an effect (R13.3).
#[inline]
fn within<P: Point>(capabilities: u64, reply: Reply<Answer<P>>) -> Reply<Answer<P>> {
    if capabilities == u64::MAX { reply } else { checked::<P>(capabilities, reply) }
}

fn checked<P: Point>(capabilities: u64, reply: Reply<Answer<P>>) -> Reply<Answer<P>> {
    let (answer, notes) = match &reply {
        Reply::Answer(answer) => (answer, [].as_slice()),
        Reply::AnswerWithNotes(noted) => (&noted.0, noted.1.as_slice()),
        Reply::Failed(_) => return reply,
    };
    let beyond = P::Model::capabilities_used(answer) & !capabilities;
    match P::Model::capabilities().get(beyond.trailing_zeros() as usize) {
        None => reply,
        Some(capability) => {
            let beyond = format!("its capabilities do not include `{capability}`");
            Reply::failed(with_notes(Failure::bad_output(beyond), notes))
        }
    }
}
