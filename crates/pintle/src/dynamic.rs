//! The by-name face: JSON in, JSON out, for plugins and config. The types stay in charge behind it.

use std::{
    any::TypeId,
    collections::BTreeMap,
    marker::PhantomData,
    panic::Location,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Advice, Cx, Decision, Envelope, Event, EventJson, Failure, FireError, GateOutcome,
    HandlerOutput, HandlerVerdict, Hooks, IntoAnswer, Model, ModelKind, PluginFilter, Point,
    PointInfo, RegisterError, Registrar, Staged,
    envelope::ENVELOPE_FIELDS,
    model::{Run, from_object, with_notes},
    similar::nearest,
};

/// A handler that takes and returns JSON, for a type of your own; a closure needs no such type.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use pintle::{DynEvent, DynHandler, Failure, Hooks, ModelKind};
/// use serde_json::{Value, json};
///
/// /// Always gives the same answer.
/// struct Fixed(Value);
///
/// impl DynHandler for Fixed {
///     fn call(&self, _: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
///         let answer = self.0.clone();
///         Box::pin(async move { Ok(answer) })
///     }
/// }
///
/// let hooks = Hooks::new();
/// hooks.register_dyn("tool.pre", ModelKind::Gate, Fixed(json!({ "continue": false, "reason": "frozen" })))?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
pub trait DynHandler: Send + Sync + 'static {
    /// Answers one event: null or an object for the point's model (a patch, a claim with `handled`, a verdict).
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>>;
}

/// What [`Registrar::register_dyn`] takes: a [`DynHandler`], or a closure from [`DynEvent`] to a [`Value`], a `Result` of
/// it, or a future of either. `M` tells them apart and is inferred.
///
/// ```
/// use pintle::{DynEvent, Hooks, ModelKind};
/// use serde_json::json;
///
/// let hooks = Hooks::new();
/// hooks.register_dyn("tool.pre", ModelKind::Gate, |_: DynEvent| json!({ "continue": false, "reason": "frozen" }))?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dynamic handler",
    label = "expected a closure from `DynEvent` to JSON, or a `DynHandler`",
    note = "the closure returns a `serde_json::Value`, a `Result` of it, or a future of either"
)]
pub trait IntoDynHandler<M> {
    /// The handler, without its type.
    fn into_dyn_handler(self) -> Arc<dyn DynHandler>;
}

/// Marks a handler that implements [`DynHandler`].
pub enum ByTrait {}

impl<H: DynHandler> IntoDynHandler<ByTrait> for H {
    fn into_dyn_handler(self) -> Arc<dyn DynHandler> {
        Arc::new(self)
    }
}

impl<F, R, M> IntoDynHandler<fn(M)> for F
where
    F: Fn(DynEvent) -> R + Send + Sync + 'static,
    R: HandlerOutput<M, Answer: IntoAnswer<Value>>,
    R::Future: Send + 'static,
{
    fn into_dyn_handler(self) -> Arc<dyn DynHandler> {
        Arc::new(Closure(move |event| {
            let answer = self(event).into_future();
            Box::pin(async move { answer.await.into_answer() }) as BoxFuture<'static, _>
        }))
    }
}

/// A closure whose future is boxed.
struct Closure<F>(F);

impl<F> DynHandler for Closure<F>
where
    F: Fn(DynEvent) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync + 'static,
{
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        (self.0)(event)
    }
}

/// One occurrence of a point, as a dynamic handler receives it.
///
/// ```
/// use pintle::{DynEvent, Failure, Hooks, ModelKind};
/// use serde_json::json;
///
/// let hooks = Hooks::new();
/// hooks.register_dyn("before_prompt_build", ModelKind::Modifying, async |e: DynEvent| {
///     let already = !e.merged["appendSystem"].is_null();
///     let line = format!("{} on {}", e.point, e.json["platform"]);
///     Ok::<_, Failure>(if already { json!(null) } else { json!({ "appendSystem": line }) })
/// })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DynEvent {
    /// The point's name.
    pub point: &'static str,
    /// The point's model.
    pub model: ModelKind,
    /// The circumstances.
    pub envelope: Arc<Envelope>,
    /// Payload and envelope as one object.
    pub json: EventJson,
    /// At a Modifying point: what earlier handlers have set; otherwise null.
    pub merged: Value,
    /// What goes into the record of the fire besides the answer; an event without a fire has none.
    notes: Option<NoteLog>,
}

type NoteLog = Arc<Mutex<Vec<String>>>;

impl DynEvent {
    /// An event for a handler that is called without a fire, as a test of a [`DynHandler`] does.
    ///
    /// ```
    /// use pintle::{DynEvent, Envelope, ModelKind};
    /// use serde_json::json;
    ///
    /// let event = DynEvent::new("tool.pre", ModelKind::Gate, Envelope::default(), json!({ "zone": 2 }));
    /// assert_eq!((event.point, &event.json["zone"]), ("tool.pre", &json!(2)));
    /// ```
    pub fn new(
        point: &'static str,
        model: ModelKind,
        envelope: impl Into<Arc<Envelope>>,
        json: impl Into<EventJson>,
    ) -> Self {
        let (envelope, json) = (envelope.into(), json.into());
        Self { point, model, envelope, json, merged: Value::Null, notes: None }
    }

    /// Whether a fire records what is [noted](Self::note).
    ///
    /// ```
    /// use pintle::{DynEvent, Envelope, ModelKind};
    /// use serde_json::json;
    ///
    /// let event = DynEvent::new("tool.pre", ModelKind::Gate, Envelope::default(), json!({}));
    /// assert!(!event.is_recorded());
    /// ```
    pub fn is_recorded(&self) -> bool {
        self.notes.is_some()
    }

    /// Adds a line to the notes of the handler in the record of the fire, or to the message of its failure.
    ///
    /// ```
    /// use pintle::{DynEvent, Hooks, ModelKind};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_dyn("session_start", ModelKind::Void, |event: DynEvent| {
    ///     event.note("reached example.org:443");
    ///     json!(null)
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn note(&self, line: impl Into<String>) {
        if let Some(notes) = &self.notes {
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
        }
    }
}

/// What firing a point by name gives.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, DynEvent, DynOutcome, Failure, Hooks, ModelKind};
/// use serde_json::json;
///
/// let hooks = Hooks::new();
/// hooks.named("frozen").register_dyn("user.prompt.submit", ModelKind::Gate, async |_: DynEvent| {
///     Ok::<_, Failure>(json!({ "continue": false, "reason": "not now" }))
/// })?;
///
/// let cx = Cx::test();
/// let outcome = hooks.fire_dyn("user.prompt.submit", &cx, json!({ "prompt": "hi" })).await?;
/// if let DynOutcome::Gate(outcome) = &outcome {
///     assert!(outcome.blocked().is_some());
/// }
/// assert_eq!(serde_json::to_value(&outcome)?["continue"], false);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum DynOutcome {
    /// Void: every handler has run.
    Void,
    /// Modifying: what was set, and who set each key.
    Modifying {
        /// The merged patch.
        patch: Value,
        /// For each key that was set, the handler that set it.
        winners: BTreeMap<String, String>,
    },
    /// Claiming: who claimed and with what; `None` is "not handled".
    Claiming(Option<(String, Value)>),
    /// A gate that binds: what its handlers said.
    Gate(GateOutcome),
    /// A gate that advises: what its handlers said.
    Advice(Advice),
    /// A fail-closed handler failed, or the fire was cancelled.
    Failed(FireError),
}

/// Why a point could not be fired by name.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Hooks};
/// use serde_json::json;
///
/// let hooks = Hooks::new();
/// let cx = Cx::test();
/// let error = hooks.fire_dyn("session_start", &cx, json!({ "resumed": "no" })).await.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "this payload does not fit session_start: `resumed`: invalid type: string \"no\", expected a boolean"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DynFireError {
    /// No point has this name.
    #[error(transparent)]
    UnknownPoint(#[from] RegisterError),
    /// The payload does not fit the point.
    #[error("this payload does not fit {point}: {detail}")]
    BadPayload {
        /// The point.
        point: &'static str,
        /// What does not fit.
        detail: String,
    },
}

impl Hooks {
    /// Fires a point by name. The payload holds the point's own fields; envelope fields in it are ignored (the
    /// envelope is the context's).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, DynOutcome, Hooks};
    /// use serde_json::json;
    ///
    /// let hooks = Hooks::new();
    /// let cx = Cx::test();
    /// let outcome = hooks.fire_dyn("session_start", &cx, json!({ "resumed": false })).await?;
    /// assert_eq!(outcome, DynOutcome::Void);
    ///
    /// let error = hooks.fire_dyn("session_start", &cx, json!({ "resumd": false })).await.unwrap_err();
    /// assert!(error.to_string().contains("unknown field `resumd`"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no such point, or the payload does not fit it. Nothing was fired then.
    pub async fn fire_dyn(
        &self,
        point: &str,
        cx: &Cx,
        payload: Value,
    ) -> Result<DynOutcome, DynFireError> {
        let erased = self.find(point)?;
        Ok(erased.fire(self, cx, payload)?.await)
    }

    /// Whether a fire of the point with this name would reach anybody through this gate.
    ///
    /// ```
    /// use pintle::{Hooks, PluginFilter};
    ///
    /// let hooks = Hooks::new();
    /// assert!(!hooks.has_handlers_dyn("tool.pre", &PluginFilter::All)?);
    /// assert!(hooks.has_handlers_dyn("tool.prae", &PluginFilter::All).is_err());
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such point.
    pub fn has_handlers_dyn(
        &self,
        point: &str,
        plugins: &PluginFilter,
    ) -> Result<bool, RegisterError> {
        Ok(self.find(point)?.has_handlers(self, plugins))
    }

    /// Every point this registry knows by name: the catalogue's and your own.
    ///
    /// ```
    /// use pintle::{Hooks, ModelKind};
    ///
    /// let points = Hooks::new().known_points();
    /// assert!(points.iter().any(|info| info.name == "tool.pre" && info.model == ModelKind::Gate));
    /// ```
    pub fn known_points(&self) -> Vec<PointInfo> {
        self.points().iter().map(|point| point.info()).collect()
    }

    pub(crate) fn find(&self, point: &str) -> Result<Arc<dyn ErasedPoint>, RegisterError> {
        self.erased(point).ok_or_else(|| RegisterError::UnknownPoint {
            point: point.to_string(),
            nearest: nearest(point, self.points().iter().map(|known| known.info().name)),
        })
    }
}

/// A point without its type.
pub(crate) trait ErasedPoint: Send + Sync {
    fn info(&self) -> PointInfo;
    fn point_type(&self) -> TypeId;
    fn has_handlers(&self, hooks: &Hooks, plugins: &PluginFilter) -> bool;
    fn stage(
        &self,
        registrar: Registrar,
        handler: Arc<dyn DynHandler>,
        location: &'static Location<'static>,
    ) -> Result<Staged, RegisterError>;
    fn fire(
        &self,
        hooks: &Hooks,
        cx: &Cx,
        payload: Value,
    ) -> Result<BoxFuture<'static, DynOutcome>, DynFireError>;
}

pub(crate) fn erase<P: Point>() -> Arc<dyn ErasedPoint> {
    Arc::new(Erased::<P>(PhantomData))
}

struct Erased<P>(PhantomData<fn() -> P>);

impl<P: Point> ErasedPoint for Erased<P> {
    fn info(&self) -> PointInfo {
        PointInfo::of::<P>()
    }

    fn point_type(&self) -> TypeId {
        TypeId::of::<P>()
    }

    fn has_handlers(&self, hooks: &Hooks, plugins: &PluginFilter) -> bool {
        hooks.has_handlers::<P>(plugins)
    }

    fn stage(
        &self,
        registrar: Registrar,
        handler: Arc<dyn DynHandler>,
        location: &'static Location<'static>,
    ) -> Result<Staged, RegisterError> {
        registrar.stage_json(location, move |event: Event<P>| {
            let notes = NoteLog::default();
            let answer = handler.call(DynEvent {
                point: P::NAME,
                model: P::Model::KIND,
                envelope: event.shared_envelope().clone(),
                json: event.to_json(),
                merged: P::Model::view_to_json(event.view()),
                notes: Some(notes.clone()),
            });
            async move {
                let reply = answer.await.and_then(P::Model::answer_from_json);
                let notes =
                    std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
                match reply {
                    Ok(reply) => Ok(reply.with_notes(notes)),
                    Err(failure) => Err(with_notes(failure, &notes)),
                }
            }
        })
    }

    fn fire(
        &self,
        hooks: &Hooks,
        cx: &Cx,
        payload: Value,
    ) -> Result<BoxFuture<'static, DynOutcome>, DynFireError> {
        let payload: P = payload_from_json(payload)?;
        let fire = hooks.start(cx, move || payload);
        Ok(Box::pin(async move { P::Model::outcome_to_dyn(fire.await) }))
    }
}

fn payload_from_json<P: Point>(payload: Value) -> Result<P, DynFireError> {
    let bad = |detail: String| DynFireError::BadPayload { point: P::NAME, detail };
    let Value::Object(object) = payload else { return Err(bad("it is not a JSON object".into())) };
    let known = P::fields();
    if let Some(unknown) = object
        .keys()
        .find(|key| !known.contains(&key.as_str()) && !ENVELOPE_FIELDS.contains(&key.as_str()))
    {
        return Err(bad(format!("unknown field `{unknown}`; its fields are {}", known.join(", "))));
    }
    from_object(object).map_err(bad)
}

impl From<GateOutcome> for DynOutcome {
    fn from(outcome: GateOutcome) -> Self {
        Self::Gate(outcome)
    }
}

impl From<Advice> for DynOutcome {
    fn from(advice: Advice) -> Self {
        Self::Advice(advice)
    }
}

impl Serialize for DynOutcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self {
            Self::Void => serde_json::json!({}),
            Self::Modifying { patch, winners } => {
                serde_json::json!({ "patch": patch, "winners": winners })
            }
            Self::Claiming(None) => serde_json::json!({ "handled": false }),
            Self::Claiming(Some((by, claim))) => {
                serde_json::json!({ "handled": true, "by": by, "claim": claim })
            }
            Self::Gate(outcome) => gate_json(outcome.blocked().is_none(), &outcome.verdicts),
            Self::Advice(advice) => gate_json(true, &advice.verdicts),
            Self::Failed(error) => serde_json::json!({ "error": error.to_string() }),
        };
        json.serialize(serializer)
    }
}

fn gate_json(goes_on: bool, verdicts: &[HandlerVerdict]) -> Value {
    let (notes, blocks): (Vec<_>, Vec<_>) =
        verdicts.iter().cloned().partition(|said| said.decision == Decision::Allow);
    let blocks: Vec<_> = blocks
        .into_iter()
        .map(|mut block| {
            if block.decision == Decision::Ask {
                block.reason = format!("a person has to be asked: {}", block.reason);
            }
            block
        })
        .collect();
    serde_json::json!({ "continue": goes_on, "blocks": blocks, "notes": notes })
}
