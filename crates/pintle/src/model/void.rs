//! Void: handlers observe. All run concurrently and all are awaited; a failure is recorded.

use std::task::{Context, Poll, ready};

use futures_util::{StreamExt, stream::FuturesUnordered};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{Model, ModelKind, Reply, Run, kind_of};
use crate::{
    DynOutcome, Failure, FireError, HandlerOutcome, Point,
    calls::{Calls, Reached, Started, Waits},
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
/// # let _ = tell::<pintle::points::SessionOpened>;
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
    type Outcome = Result<(), FireError>;

    const KIND: ModelKind = ModelKind::Void;

    fn capabilities() -> &'static [&'static str] {
        &[]
    }
}

impl Run<(), Result<(), FireError>> for Void {
    type View = ();
    type Progress<P: Point<Model = Self>> = VoidRun<P>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        VoidRun { waiting, fatal, position }: &mut VoidRun<P>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), FireError>> {
        // One pass over all: most handlers answer at once, and only those that wait pay for being waited for.
        while let Some(reached) = calls.next(position) {
            match calls.start(&reached, cx) {
                Started::Replied(reply) => settle(calls, &reached, reply, fatal),
                Started::Waits(handler) => waiting.get_or_insert_default().push(handler),
            }
        }
        if let Some(waiting) = waiting {
            while let Some((handler, reply)) = ready!(waiting.poll_next_unpin(cx)) {
                settle(calls, &handler.reached(), reply, fatal);
            }
        }
        Poll::Ready(fatal.take().map_or(Ok(()), |(_, error)| Err(error)))
    }

    fn capabilities_used((): &()) -> u64 {
        0
    }

    fn quiet() -> Result<(), FireError> {
        Ok(())
    }

    fn cancelled(point: &'static str) -> Result<(), FireError> {
        Err(FireError::Cancelled { point })
    }

    fn answer_from_json(json: Value) -> Result<Reply<()>, Failure> {
        let nothing = json.is_null() || json.as_object().is_some_and(serde_json::Map::is_empty);
        let notes =
            if nothing { vec![] } else { vec![format!("ignored its answer, {}", kind_of(&json))] };
        Ok(Reply::noting((), notes))
    }

    fn outcome_to_dyn(outcome: Result<(), FireError>) -> DynOutcome {
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
pub(crate) struct VoidRun<P: Point> {
    waiting: Option<FuturesUnordered<Waits<P>>>,
    fatal: Option<(usize, FireError)>,
    position: usize,
}

impl<P: Point> Default for VoidRun<P> {
    #[inline]
    fn default() -> Self {
        Self { waiting: None, fatal: None, position: 0 }
    }
}

/// Of several fatal failures, the handler that comes first in the order is named, even if another one failed earlier.
fn settle<P: Point<Model = Void>>(
    fire: &mut Calls<'_, P>,
    reached: &Reached<'_, P>,
    reply: Reply<()>,
    fatal: &mut Option<(usize, FireError)>,
) {
    match reply.into_result() {
        Ok(((), notes)) => fire.finish(reached, HandlerOutcome::Finished, notes),
        Err(failure) => {
            if let Some(error) = reached.if_fail_closed(&failure)
                && fatal.as_ref().is_none_or(|(first, _)| reached.position < *first)
            {
                *fatal = Some((reached.position, error));
            }
            fire.finish(reached, HandlerOutcome::Failed(*failure), None);
        }
    }
}
