//! Void: handlers observe. All run concurrently and all are awaited; a failure is recorded.

use std::{
    mem::ManuallyDrop,
    task::{Context, Poll, ready},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{Model, ModelKind, Said, kind_of};
use crate::{
    DynOutcome, Failure, FireError, Outcome, Point,
    calls::{Calls, Reached, Waits},
    seat::Answered,
};

/// Handlers observe: they run concurrently in the caller's task, and all of them are awaited.
///
/// A failing handler is recorded and the others finish. If it was registered `fail-closed`, the fire then
/// returns an error that names it.
///
/// ```
/// use pintle::{Void, point};
///
/// point! {
///     /// A release was published.
///     pub struct Released = "released": Void {
///         /// Which.
///         pub version: String,
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Void;

/// Points whose model is [`Void`].
///
/// ```
/// use pintle::{Cx, FireError, Hooks, IsVoid, Point};
///
/// /// Tells anybody anything.
/// async fn tell<P: Point<Model: IsVoid>>(hooks: &Hooks, cx: &Cx, payload: P) -> Result<(), FireError> {
///     hooks.fire_void(cx, || payload).await
/// }
/// # let _ = tell::<pintle::points::SessionStart>;
/// ```
#[diagnostic::on_unimplemented(
    message = "this point is not Void: its model is `{Self}`",
    label = "`register_void` and `fire_void` take Void points",
    note = "the point fixes the model: use `register_modifying` and `fire_modifying` for `Modifying<..>`, `register_claiming` and `fire_claiming` for `Claiming<..>`, `register_gate` and `fire_gate` for `Gate<..>`"
)]
pub trait IsVoid: Model<Answer = (), Outcome = Result<(), FireError>> {}
impl IsVoid for Void {}

impl Model for Void {
    type Answer = ();
    type View = ();
    type Outcome = Result<(), FireError>;

    const KIND: ModelKind = ModelKind::Void;

    fn powers() -> &'static [&'static str] {
        &[]
    }

    fn powers_used((): &()) -> u64 {
        0
    }

    fn quiet() -> Self::Outcome {
        Ok(())
    }

    fn cancelled(point: &'static str) -> Self::Outcome {
        Err(FireError::Cancelled { point })
    }

    type Progress<P: Point<Model = Self>> = Telling<P>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        telling: &mut Telling<P>,
        cx: &mut Context<'_>,
    ) -> Poll<Self::Outcome> {
        let Telling { waiting, fatal, position } = telling;
        // One pass over all: most handlers answer at once, and only those that wait pay for being waited for.
        while let Some(reached) = calls.next(position) {
            // Plain words need no drop, others are heard, and who waits has said nothing.
            let mut answered = ManuallyDrop::new(None);
            match calls.start(&reached, &mut answered, cx) {
                None if matches!(*answered, Some(Said::Plainly(()))) => {
                    calls.finish(&reached, Outcome::Finished, None);
                }
                None => settle(calls, &reached, answered.take(), fatal),
                Some(handler) => waiting.get_or_insert_default().push(handler),
            }
        }
        if let Some(waiting) = waiting {
            while let Some((handler, said)) = ready!(waiting.poll_next_unpin(cx)) {
                settle(calls, &handler.reached(), Some(said), fatal);
            }
        }
        if fatal.is_none() {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(fatal.take().map_or(Ok(()), |(_, error)| Err(error)))
    }

    fn answer_from_json(json: Value) -> Result<Said<()>, Failure> {
        let nothing = json.is_null() || json.as_object().is_some_and(serde_json::Map::is_empty);
        let notes =
            if nothing { vec![] } else { vec![format!("ignored its answer, {}", kind_of(&json))] };
        Ok(Said::noting((), notes))
    }

    fn outcome_to_dyn(outcome: Self::Outcome) -> DynOutcome {
        match outcome {
            Ok(()) => DynOutcome::Void,
            Err(error) => DynOutcome::Failed(error),
        }
    }

    fn answer_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

/// All handlers are called at the first poll; those that wait are then waited for together.
pub struct Telling<P: Point> {
    waiting: Option<FuturesUnordered<Waits<P>>>,
    fatal: Option<(usize, FireError)>,
    position: usize,
}

impl<P: Point> Default for Telling<P> {
    #[inline]
    fn default() -> Self {
        Self { waiting: None, fatal: None, position: 0 }
    }
}

/// Of several fatal failures, the handler that comes first in the order is named, whoever failed first.
#[inline(never)]
fn settle<P: Point<Model = Void>>(
    fire: &mut Calls<'_, P>,
    reached: &Reached<'_, P>,
    answered: Answered<()>,
    fatal: &mut Option<(usize, FireError)>,
) {
    match Said::heard(answered) {
        Ok(((), notes)) => fire.finish(reached, Outcome::Finished, notes),
        Err(failure) => {
            if let Some(error) = reached.if_fail_closed(&failure)
                && fatal.as_ref().is_none_or(|(first, _)| reached.position < *first)
            {
                *fatal = Some((reached.position, error));
            }
            fire.finish(reached, Outcome::Failed(*failure), None);
        }
    }
}
