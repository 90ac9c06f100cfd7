//! Claiming: handlers route. One after another, until one of them claims.

use std::{
    marker::PhantomData,
    ops::{ControlFlow, Deref},
    sync::Arc,
    task::{Context, Poll},
};

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{Model, ModelKind, Reply, Run, from_object, ignored_fields, kind_of, object_or_null};
use crate::{
    Claim, DynOutcome, Failure, FireError, HandlerOutcome, Point,
    calls::{Calls, Chain, Reached, Sequential, run_sequentially},
};

/// Handlers route: they run one after another, and the first claim of type `C` ends the chain.
///
/// A failing handler is skipped and the next runs, unless it was registered `fail-closed`: then the fire
/// returns an error. No claim is an answer of its own: "not handled".
///
/// ```
/// use pintle::{Claiming, claim, point};
///
/// claim! {
///     /// Somebody takes the parcel.
///     pub struct Taken {
///         /// Where it was put.
///         pub shelf: String,
///     }
/// }
///
/// point! {
///     /// A parcel has come: whose is it?
///     pub struct ParcelArrived = "parcel_arrived": Claiming<Taken> {
///         /// What the label says.
///         pub label: String,
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Claiming<C>(PhantomData<fn() -> C>);

/// Points whose model is [`Claiming`].
///
/// ```
/// use pintle::{Claim, IsClaiming, Point, points::InboundClaim};
///
/// /// What a claim at a point carries.
/// fn carries<P: Point<Model: IsClaiming>>() -> &'static [&'static str] {
///     <P::Model as IsClaiming>::Claim::fields()
/// }
/// assert_eq!(carries::<InboundClaim>(), ["reply"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "this point is not Claiming: its model is `{Self}`",
    label = "`register_claiming` and `fire_claiming` take Claiming points",
    note = "the point fixes the model: use `register_void` and `fire_void` for `Void`, `register_modifying` and `fire_modifying` for `Modifying<..>`, `register_gate` and `fire_gate` for `Gate<..>`"
)]
pub trait IsClaiming:
    Model<Answer = Option<Self::Claim>, Outcome = Result<Option<Claimed<Self::Claim>>, FireError>>
{
    /// What its handlers return with a claim.
    type Claim: Claim;
}
impl<C: Claim> IsClaiming for Claiming<C> {
    type Claim = C;
}

/// A claim, and who made it. Derefs to the claim.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Event, Hooks, points::{BeforeTicketComplete, Rejected}};
///
/// let hooks = Hooks::new();
/// hooks.named("verifier").register_claiming(async |e: Event<BeforeTicketComplete>| {
///     e.summary.is_empty().then(|| Rejected::default().reason("say what you did"))
/// })?;
///
/// let cx = Cx::test();
/// let done = || BeforeTicketComplete::default().task_id("k1");
/// let claimed = hooks.fire_claiming(&cx, done).await?.unwrap();
/// assert_eq!((&*claimed.by, &*claimed.reason), ("verifier", "say what you did"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Claimed<C> {
    /// The handler that claimed.
    pub by: Arc<str>,
    /// What it returned, verbatim (R4.7).
    pub claim: C,
}

impl<C> Deref for Claimed<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.claim
    }
}

impl<C: Claim> Model for Claiming<C> {
    type Answer = Option<C>;
    type Outcome = Result<Option<Claimed<C>>, FireError>;

    const KIND: ModelKind = ModelKind::Claiming;

    fn capabilities() -> &'static [&'static str] {
        &["claim"]
    }
}

type ClaimOutcome<C> = Result<Option<Claimed<C>>, FireError>;

impl<C: Claim> Run<Option<C>, ClaimOutcome<C>> for Claiming<C> {
    type View = ();
    type Progress<P: Point<Model = Self>> = Sequential<P, ClaimRun<C>>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<ClaimOutcome<C>> {
        run_sequentially(calls, progress, cx)
    }

    fn capabilities_used(answer: &Option<C>) -> u64 {
        answer.is_some().into()
    }

    fn quiet() -> ClaimOutcome<C> {
        Ok(None)
    }

    fn cancelled(point: &'static str) -> ClaimOutcome<C> {
        Err(FireError::Cancelled { point })
    }

    /// `{"handled": true, …}` claims; `{"handled": false}` and null pass; anything else is not understood.
    fn answer_from_json(json: Value) -> Result<Reply<Option<C>>, Failure> {
        let Some(mut object) = object_or_null(json, "a claim")? else {
            return Ok(Reply::Answer(None));
        };
        match object.remove("handled") {
            Some(Value::Bool(false)) => return Ok(Reply::Answer(None)),
            Some(Value::Bool(true)) => {}
            Some(other) => {
                return Err(Failure::bad_output(format!(
                    "`handled` is true or false, not {}",
                    kind_of(&other)
                )));
            }
            None => {
                return Err(Failure::bad_output(
                    "a claim needs `\"handled\": true` (or false to pass)",
                ));
            }
        }
        let notes = ignored_fields(&object, C::fields());
        let claim = from_object(object).map_err(Failure::bad_output)?;
        Ok(Reply::noting(Some(claim), notes))
    }

    fn outcome_to_dyn(outcome: ClaimOutcome<C>) -> DynOutcome {
        match outcome {
            Err(error) => DynOutcome::Failed(error),
            Ok(claimed) => DynOutcome::Claiming(claimed.map(|claimed| {
                let claim = serde_json::to_value(&claimed.claim).unwrap_or_default();
                (claimed.by.to_string(), claim)
            })),
        }
    }

    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        let mut schema = generator.root_schema_for::<C>();
        let object = schema.ensure_object();
        let handled = serde_json::json!({
            "type": "boolean",
            "description": "true claims; false passes to the next handler"
        });
        if let Some(properties) =
            object.entry("properties").or_insert_with(|| serde_json::json!({})).as_object_mut()
        {
            properties.insert("handled".into(), handled);
        }
        // A claim's own fields are asked for only when it claims.
        if let Some(required) = object.insert("required".into(), serde_json::json!(["handled"])) {
            let claims = serde_json::json!({ "properties": { "handled": { "const": true } } });
            object.insert("if".into(), claims);
            object.insert("then".into(), serde_json::json!({ "required": required }));
        }
        Some(schema)
    }
}

/// The first claim ends it.
pub(crate) struct ClaimRun<C>(Result<Option<Claimed<C>>, FireError>);

impl<C> Default for ClaimRun<C> {
    #[inline]
    fn default() -> Self {
        Self(Ok(None))
    }
}

impl<C: Claim, P: Point<Model = Claiming<C>>> Chain<P> for ClaimRun<C> {
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        reply: Reply<Option<C>>,
    ) -> ControlFlow<()> {
        match reply.into_result() {
            Ok((None, notes)) => calls.finish(reached, HandlerOutcome::Passed, notes),
            Ok((Some(claim), notes)) => {
                calls.finish(reached, HandlerOutcome::Claimed, notes);
                self.0 = Ok(Some(Claimed { by: reached.name().clone(), claim }));
                return ControlFlow::Break(());
            }
            Err(failure) => {
                let fatal = reached.if_fail_closed(&failure);
                calls.finish(reached, HandlerOutcome::Failed(*failure), None);
                if let Some(error) = fatal {
                    self.0 = Err(error);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &mut Calls<'_, P>) -> Result<Option<Claimed<C>>, FireError> {
        std::mem::replace(&mut self.0, Ok(None))
    }
}
