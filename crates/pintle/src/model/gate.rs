//! Gate: handlers stop. One after another; a failure blocks, and that cannot be loosened.

use std::{
    marker::PhantomData,
    ops::ControlFlow,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{
    Model, ModelKind, Notes, Said, kind_of,
    verdict::{Block, GateOutcome, Note, Question, Spoken, Verdict, Words},
    verdict_json::{self, VerdictJson},
};
use crate::{
    DynOutcome, Failure, FailureKind, FailurePolicy, Outcome, Point,
    calls::{Calls, Chain, InTurn, Reached, in_turn},
    seat::Answered,
};

/// Handlers stop: they run one after another and each returns a [`Verdict`]. A handler that fails **blocks**.
///
/// `F` is [`Binding`] (a block stops the action, and the chain) or [`Advisory`] (a block is recorded and told to
/// the model; the run and the chain go on). Handlers have five seconds unless told otherwise.
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
///     /// A service was deployed. A block is told, and changes nothing.
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

/// A block is recorded and told to the model; the action goes on.
///
/// See [`Gate`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Advisory;

/// Whether a block stops the action: [`Binding`] or [`Advisory`].
///
/// ```
/// use pintle::{Advisory, Binding, Force};
///
/// const { assert!(Binding::BINDING && !Advisory::BINDING) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a Gate is `Gate<Binding>` or `Gate<Advisory>`, not `Gate<{Self}>`",
    label = "does not say whether a block stops the action"
)]
pub trait Force: Send + Sync + 'static {
    /// True when a block stops the action.
    const BINDING: bool;
}
impl Force for Binding {
    const BINDING: bool = true;
}
impl Force for Advisory {
    const BINDING: bool = false;
}

/// Points whose model is [`Gate`].
///
/// ```
/// use pintle::{Cx, GateOutcome, Hooks, IsGate, Point};
///
/// /// Fires any gate.
/// async fn ask<P: Point<Model: IsGate>>(hooks: &Hooks, cx: &Cx, payload: P) -> GateOutcome {
///     hooks.fire_gate(cx, || payload).await
/// }
/// # let _ = ask::<pintle::points::ToolPre>;
/// ```
#[diagnostic::on_unimplemented(
    message = "this point is not a Gate: its model is `{Self}`",
    label = "`register_gate` and `fire_gate` take Gate points",
    note = "the point fixes the model: use `register_void` and `fire_void` for `Void`, `register_modifying` and `fire_modifying` for `Modifying<..>`, `register_claiming` and `fire_claiming` for `Claiming<..>`"
)]
pub trait IsGate: Model<Answer = Verdict, Outcome = GateOutcome> {}
impl<F: Force> IsGate for Gate<F> {}

/// The first block ends it where blocks bind.
pub struct Judging<F> {
    /// Nothing, as long as all just allow.
    gate: Option<GateOutcome>,
    force: PhantomData<F>,
}

impl<F> Default for Judging<F> {
    #[inline]
    fn default() -> Self {
        Self { gate: None, force: PhantomData }
    }
}

impl<F: Force, P: Point<Model = Gate<F>>> Chain<P> for Judging<F> {
    #[inline(always)]
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        answered: &mut Answered<Verdict>,
    ) -> ControlFlow<()> {
        if matches!(answered, Some(Said::Plainly(Verdict { said: None }))) {
            calls.finish(reached, Outcome::Allowed, None);
            return ControlFlow::Continue(());
        }
        self.judge(calls, reached, answered)
    }

    fn end(&mut self, _: &mut Calls<'_, P>) -> GateOutcome {
        let Some(mut gate) = self.gate.take() else { return GateOutcome::default() };
        gate.settle_questions();
        gate
    }
}

impl<F: Force> Judging<F> {
    /// Out of the way of those who have nothing to say.
    #[inline(never)]
    fn judge<P: Point<Model = Gate<F>>>(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        answered: &mut Answered<Verdict>,
    ) -> ControlFlow<()> {
        let gate = self.gate.get_or_insert_default();
        let (block, failure, words) = match Said::heard(answered.take()).and_then(can_ask::<P, F>) {
            Ok((Verdict { said: None }, notes)) => {
                calls.finish(reached, Outcome::Allowed, notes);
                return ControlFlow::Continue(());
            }
            Ok((Verdict { said: Some(said) }, notes)) => {
                let Spoken { block, ask, output, additional_context } = *said;
                let block = block.map(|reason| reached.reason_or_name(reason));
                let ask = ask.map(|reason| reason_to_ask(reached.name(), reason));
                let outcome = match (&block, &ask) {
                    (Some(reason), _) => Outcome::Blocked(reason.clone()),
                    (None, Some(reason)) => Outcome::Asked(reason.clone()),
                    (None, None) => Outcome::Allowed,
                };
                calls.finish(reached, outcome, notes);
                let question = |reason| Question { handler: reached.name().clone(), reason };
                gate.asks.extend(ask.map(question));
                (block, None, Words { output, additional_context })
            }
            Err(failure) => {
                calls.finish(reached, Outcome::Failed(Failure::clone(&failure)), None);
                let reason = reason_for(reached.name(), &failure);
                (Some(reason), Some(*failure), Words::default())
            }
        };
        let handler = reached.name().clone();
        match block {
            Some(reason) => {
                gate.blocks.push(Block { handler, reason, failure, words });
                if F::BINDING {
                    return ControlFlow::Break(());
                }
            }
            None if words != Words::default() => gate.notes.push(Note { handler, words }),
            None => {}
        }
        ControlFlow::Continue(())
    }
}

/// A command that exits with a code other than 0 has said why on stderr (R8.1); of any other failure, the reason
/// says how the handler failed.
fn reason_for(handler: &str, failure: &Failure) -> String {
    match failure.kind {
        FailureKind::Exit(_) if !failure.message.is_empty() => failure.message.clone(),
        _ => format!("`{handler}` {failure}"),
    }
}

fn reason_to_ask(handler: &str, reason: String) -> String {
    if reason.is_empty() { format!("`{handler}` wants a person to be asked") } else { reason }
}

/// Where a person cannot be asked, a question is a failure, and blocks.
#[inline]
fn can_ask<P: Point, F: Force>(
    (verdict, notes): (Verdict, Notes),
) -> Result<(Verdict, Notes), Box<Failure>> {
    if !(F::BINDING && P::HAS_TOOL)
        && let Some(reason) = verdict.said.as_ref().and_then(|said| said.ask.as_ref())
    {
        let message = format!("a person cannot be asked at {}: {reason}", P::NAME);
        return Err(Box::new(Failure::bad_output(message)));
    }
    Ok((verdict, notes))
}

const POWERS: [&str; 4] = ["block", "output", "additionalContext", "ask"];

impl<F: Force> Model for Gate<F> {
    type Answer = Verdict;
    type View = ();
    type Outcome = GateOutcome;

    const KIND: ModelKind = ModelKind::Gate;
    const BINDING: Option<bool> = Some(F::BINDING);
    const POLICY: FailurePolicy = FailurePolicy::FailClosed;
    const DEADLINE: Option<Duration> = Some(Duration::from_secs(5));

    fn powers() -> &'static [&'static str] {
        &POWERS
    }

    fn powers_used(verdict: &Verdict) -> u64 {
        verdict.said.as_ref().map_or(0, |said| {
            u64::from(said.block.is_some())
                | u64::from(said.output.is_some()) << 1
                | u64::from(said.additional_context.is_some()) << 2
                | u64::from(said.ask.is_some()) << 3
        })
    }

    fn quiet() -> GateOutcome {
        GateOutcome::default()
    }

    fn cancelled(point: &'static str) -> GateOutcome {
        let failure = Failure::new(FailureKind::Cancelled, format!("firing {point} was cancelled"));
        let block = Block {
            handler: Arc::from(point),
            reason: failure.to_string(),
            failure: Some(failure),
            words: Words::default(),
        };
        GateOutcome { blocks: vec![block], ..GateOutcome::default() }
    }

    type Progress<P: Point<Model = Self>> = InTurn<P, Judging<F>>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<Self::Outcome> {
        in_turn(calls, progress, cx)
    }

    fn answer_from_json(json: Value) -> Result<Said<Verdict>, Failure> {
        let object = match json {
            Value::Null => return Ok(Said::Plainly(Verdict::allow())),
            Value::Object(object) => object,
            other => {
                return Err(Failure::bad_output(format!(
                    "a verdict is an object or null, not {}",
                    kind_of(&other)
                )));
            }
        };
        let (answer, notes) = verdict_json::read(object, F::BINDING)?;
        Ok(Said::noting(answer, notes))
    }

    fn outcome_to_dyn(outcome: GateOutcome) -> DynOutcome {
        DynOutcome::Gate { binding: F::BINDING, outcome }
    }

    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.root_schema_for::<VerdictJson>())
    }
}
