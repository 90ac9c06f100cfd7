//! Gate: handlers stop. One after another; a failure blocks, and that cannot be loosened.

use std::{
    marker::PhantomData,
    ops::ControlFlow,
    task::{Context, Poll},
    time::Duration,
};

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{
    Model, ModelKind, Reply, Run, object_or_null,
    verdict::{Advice, GateOutcome, HandlerVerdict, Verdict},
    verdict_json::{self, VerdictJson},
};
use crate::{
    DynOutcome, Failure, FailureKind, FailurePolicy, HandlerOutcome, Point,
    calls::{Calls, Chain, Reached, Sequential, run_sequentially},
};

/// Handlers stop: they run one after another and each returns a [`Verdict`]. A handler that fails **blocks**.
///
/// `F` is [`Binding`] (a block stops the action, and the chain) or [`Advisory`] (a block is recorded and reported to
/// the model; the run and the chain go on). Handlers have five seconds; [`Registrar::deadline`](crate::Registrar::deadline)
/// sets another time. One that times out again and again blocks at once: see [`HandlerInfo::FAILING_AFTER`](crate::HandlerInfo::FAILING_AFTER).
///
/// ```
/// use pintle::{Advisory, Binding, Gate, PointInfo, point};
///
/// point! {
///     /// A service is about to be deployed. A block stops the deployment.
///     pub struct BeforeDeploy = "before_deploy": Gate<Binding> {
///         /// Which.
///         pub service: String,
///     }
/// }
///
/// point! {
///     /// A service was deployed. A block is reported, and changes nothing.
///     pub struct AfterDeploy = "after_deploy": Gate<Advisory> {
///         /// Which.
///         pub service: String,
///     }
/// }
///
/// assert_eq!(PointInfo::of::<BeforeDeploy>().binding, Some(true));
/// assert_eq!(PointInfo::of::<AfterDeploy>().binding, Some(false));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Gate<F>(PhantomData<fn() -> F>);

/// A block stops the action.
///
/// See [`Gate`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Binding;

/// A block is recorded and reported to the model; the action goes on.
///
/// See [`Gate`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Advisory;

/// Whether a block stops the action: [`Binding`] or [`Advisory`]. There are no others.
///
/// ```
/// use pintle::{Advisory, Binding, Enforcement};
///
/// const { assert!(Binding::BINDING && !Advisory::BINDING) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a Gate is `Gate<Binding>` or `Gate<Advisory>`, not `Gate<{Self}>`",
    label = "does not say whether a block stops the action"
)]
#[expect(private_bounds, reason = "sealed: a gate binds or advises")]
pub trait Enforcement: Sealed + Send + Sync + 'static {
    /// True when a block stops the action.
    const BINDING: bool;
    /// What firing such a gate gives: [`GateOutcome`] or [`Advice`].
    type Outcome: From<Vec<HandlerVerdict>> + Into<DynOutcome> + Send + 'static;
}

trait Sealed {}
impl Sealed for Binding {}
impl Sealed for Advisory {}

impl Enforcement for Binding {
    const BINDING: bool = true;
    type Outcome = GateOutcome;
}
impl Enforcement for Advisory {
    const BINDING: bool = false;
    type Outcome = Advice;
}

/// Points whose model is [`Gate`].
///
/// ```
/// use pintle::{Cx, GateOutcome, Hooks, IsGate, Model, Point};
///
/// /// Fires any gate that binds.
/// async fn ask<P>(hooks: &Hooks, cx: &Cx, payload: P) -> GateOutcome
/// where
///     P: Point<Model: IsGate + Model<Outcome = GateOutcome>>,
/// {
///     hooks.fire_gate(cx, || payload).await
/// }
/// # let _ = ask::<pintle::points::ToolPre>;
/// ```
#[diagnostic::on_unimplemented(
    message = "this point is not a Gate: its model is `{Self}`",
    label = "`register_gate` and `fire_gate` take Gate points",
    note = "the point fixes the model: use `register_void` and `fire_void` for `Void`, `register_modifying` and `fire_modifying` for `Modifying<..>`, `register_claiming` and `fire_claiming` for `Claiming<..>`"
)]
pub trait IsGate: Model<Answer = Verdict> {}
impl<F: Enforcement> IsGate for Gate<F> {}

/// Points whose model is `Gate<Binding>`: see [`Verdict::ask`].
///
/// ```
/// use pintle::{Event, IsBinding, Point, PointAboutTool, Verdict};
///
/// /// Asks a person at any point that can.
/// fn ask<P: PointAboutTool<Model: IsBinding>>(event: &Event<P>) -> Verdict {
///     Verdict::ask(event, "it costs money")
/// }
/// # let _ = ask::<pintle::points::ToolPre>;
/// ```
#[diagnostic::on_unimplemented(
    message = "a person cannot be asked at this point: its model is `{Self}`",
    label = "`Verdict::ask` needs a `Gate<Binding>` that is about a tool, such as `tool.pre`",
    note = "block with a reason, or add `with_context` for the model"
)]
pub trait IsBinding: IsGate + Model<Outcome = GateOutcome> {}
impl IsBinding for Gate<Binding> {}

/// What the handlers have said so far. The first block ends the chain where blocks bind.
#[derive(Default)]
pub(crate) struct GateRun(Vec<HandlerVerdict>);

impl<F: Enforcement, P: Point<Model = Gate<F>>> Chain<P> for GateRun {
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        reply: Reply<Verdict>,
    ) -> ControlFlow<()> {
        if matches!(reply, Reply::Answer(Verdict { said: None })) {
            calls.finish(reached, HandlerOutcome::Allowed, None);
            return ControlFlow::Continue(());
        }
        let (verdict, outcome, notes) = match reply.into_result().and_then(can_ask::<P, F>) {
            Ok((verdict, notes)) => {
                let verdict = HandlerVerdict::new(reached.name().clone(), verdict);
                let outcome = verdict.outcome();
                (verdict, outcome, notes)
            }
            Err(failure) => {
                let verdict = HandlerVerdict::failed(reached.name().clone(), (*failure).clone());
                (verdict, HandlerOutcome::Failed(*failure), None)
            }
        };
        calls.finish(reached, outcome, notes);
        if reached.is_shadow() {
            return ControlFlow::Continue(());
        }
        let stops = F::BINDING && verdict.is_block();
        if verdict.says_something() {
            self.0.push(verdict);
        }
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn end(&mut self, _: &mut Calls<'_, P>) -> F::Outcome {
        std::mem::take(&mut self.0).into()
    }
}

/// Where a person cannot be asked, a question is a failure, and blocks. Types keep code from asking; this is for
/// answers in JSON.
fn can_ask<P: Point, F: Enforcement>(
    (verdict, notes): (Verdict, super::Notes),
) -> Result<(Verdict, super::Notes), Box<Failure>> {
    if !(F::BINDING && P::HAS_TOOL)
        && let Some(reason) = verdict.said.as_ref().and_then(|said| said.ask.as_ref())
    {
        let message = format!("a person cannot be asked at {}: {reason}", P::NAME);
        return Err(Box::new(Failure::bad_output(message)));
    }
    Ok((verdict, notes))
}

impl<F: Enforcement> Model for Gate<F> {
    type Answer = Verdict;
    type Outcome = F::Outcome;

    const KIND: ModelKind = ModelKind::Gate;
    const BINDING: Option<bool> = Some(F::BINDING);
    const POLICY: FailurePolicy = FailurePolicy::FailClosed;
    const DEADLINE: Option<Duration> = Some(Duration::from_secs(5));

    fn capabilities() -> &'static [&'static str] {
        &["block", "output", "additionalContext", "ask"]
    }
}

impl<F: Enforcement> Run<Verdict, F::Outcome> for Gate<F> {
    type View = ();
    type Progress<P: Point<Model = Self>> = Sequential<P, GateRun>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Outcome> {
        run_sequentially(calls, progress, cx)
    }

    fn capabilities_used(verdict: &Verdict) -> u64 {
        verdict.said.as_ref().map_or(0, |said| {
            u64::from(said.block.is_some())
                | u64::from(said.output.is_some()) << 1
                | u64::from(said.additional_context.is_some()) << 2
                | u64::from(said.ask.is_some()) << 3
        })
    }

    fn quiet() -> F::Outcome {
        Vec::new().into()
    }

    fn cancelled(point: &'static str) -> F::Outcome {
        let failure = Failure::new(FailureKind::Cancelled, format!("firing {point} was cancelled"));
        let reason = failure.to_string();
        vec![HandlerVerdict { reason, ..HandlerVerdict::failed(point.into(), failure) }].into()
    }

    fn answer_from_json(json: Value) -> Result<Reply<Verdict>, Failure> {
        let Some(object) = object_or_null(json, "a verdict")? else {
            return Ok(Reply::Answer(Verdict::allow()));
        };
        let (answer, notes) = verdict_json::read(object, F::BINDING)?;
        Ok(Reply::noting(answer, notes))
    }

    fn outcome_to_dyn(outcome: F::Outcome) -> DynOutcome {
        outcome.into()
    }

    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.root_schema_for::<VerdictJson>())
    }
}
