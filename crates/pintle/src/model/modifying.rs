//! Modifying: handlers amend. One after another, each with the original payload; per key the first value wins.

use std::{
    marker::PhantomData,
    ops::{ControlFlow, Deref},
    sync::Arc,
    task::{Context, Poll},
};

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::{Model, ModelKind, Reply, Run, from_object, ignored_fields, object_or_null};
use crate::{
    DynOutcome, Failure, FireError, HandlerOutcome, Patch, Point,
    calls::{Calls, Chain, Reached, Sequential, run_sequentially},
};

/// Handlers amend: they run one after another, each returning a patch of type `T` or nothing.
///
/// All receive the original payload; per key, the first value wins. A failing handler contributes nothing and
/// the next runs, unless it was registered `fail-closed`: then the fire returns an error.
///
/// ```
/// use pintle::{Modifying, patch, point};
///
/// patch! {
///     /// What may be changed about a greeting.
///     pub struct GreetingPatch {
///         /// How to say hello.
///         pub hello: Option<String>,
///     }
/// }
///
/// point! {
///     /// Somebody is about to be greeted.
///     pub struct BeforeGreeting = "before_greeting": Modifying<GreetingPatch> {
///         /// Who.
///         pub name: String,
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Modifying<T>(PhantomData<fn() -> T>);

/// Points whose model is [`Modifying`].
///
/// ```
/// use pintle::{IsModifying, Patch, Point, points::BeforeToolCall};
///
/// /// The keys that handlers of a point can set.
/// fn keys<P: Point<Model: IsModifying>>() -> &'static [&'static str] {
///     <P::Model as IsModifying>::Patch::keys()
/// }
/// assert_eq!(keys::<BeforeToolCall>(), ["args", "error"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "this point is not Modifying: its model is `{Self}`",
    label = "`register_modifying` and `fire_modifying` take Modifying points",
    note = "the point fixes the model: use `register_void` and `fire_void` for `Void`, `register_claiming` and `fire_claiming` for `Claiming<..>`, `register_gate` and `fire_gate` for `Gate<..>`"
)]
pub trait IsModifying:
    Model<Answer = Option<Self::Patch>, Outcome = Result<Merged<Self::Patch>, FireError>>
{
    /// What its handlers return.
    type Patch: Patch;
}
impl<T: Patch> IsModifying for Modifying<T> {
    type Patch = T;
}

/// What the handlers of a Modifying point set together, and who set what. Derefs to the patch.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Event, Hooks, points::{SubagentPatch, SubagentSpawning}};
///
/// let hooks = Hooks::new();
/// hooks.named("brief").register_modifying(async |e: Event<SubagentSpawning>| {
///     Some(SubagentPatch::default().prompt(format!("Be brief. {}", e.prompt)))
/// })?;
///
/// let cx = Cx::test();
/// let merged = hooks.fire_modifying(&cx, || SubagentSpawning::default().prompt("Look around.")).await?;
/// assert_eq!(merged.prompt.as_deref(), Some("Be brief. Look around."));
/// assert_eq!(merged.winners().collect::<Vec<_>>(), [("prompt", "brief")]);
/// assert_eq!(merged.winner("personalityId"), None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Merged<T> {
    /// The merged patch.
    pub patch: T,
    winners: Vec<(&'static str, Arc<str>)>,
}

impl<T> Merged<T> {
    /// The handler whose value of `key` (its name on the wire) was taken.
    pub fn winner(&self, key: &str) -> Option<&str> {
        self.winners.iter().find(|(won, _)| *won == key).map(|(_, name)| &**name)
    }

    /// Every key that was set, with the handler that set it, in the order they were set.
    pub fn winners(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.winners.iter().map(|(key, name)| (*key, &**name))
    }
}

impl<T> Deref for Merged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.patch
    }
}

impl<T: Patch> Model for Modifying<T> {
    type Answer = Option<T>;
    type Outcome = Result<Merged<T>, FireError>;

    const KIND: ModelKind = ModelKind::Modifying;

    fn capabilities() -> &'static [&'static str] {
        T::keys()
    }
}

type MergeOutcome<T> = Result<Merged<T>, FireError>;

impl<T: Patch> Run<Option<T>, MergeOutcome<T>> for Modifying<T> {
    type View = Option<T>;
    type Progress<P: Point<Model = Self>> = Sequential<P, MergeRun>;

    #[inline]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<MergeOutcome<T>> {
        run_sequentially(calls, progress, cx)
    }

    fn capabilities_used(answer: &Option<T>) -> u64 {
        answer.as_ref().map_or(0, T::set_keys)
    }

    fn quiet() -> MergeOutcome<T> {
        Ok(Merged { patch: T::default(), winners: Vec::new() })
    }

    fn cancelled(point: &'static str) -> MergeOutcome<T> {
        Err(FireError::Cancelled { point })
    }

    fn answer_from_json(json: Value) -> Result<Reply<Option<T>>, Failure> {
        let Some(mut object) = object_or_null(json, "a patch")? else {
            return Ok(Reply::Answer(None));
        };
        let aliased: Vec<_> =
            object.keys().filter_map(|key| T::alias(key).map(|of| (key.clone(), of))).collect();
        let mut both = Vec::new();
        for (alias, key) in aliased {
            let value = object.remove(&alias).unwrap_or_default();
            if object.get(key).is_none_or(Value::is_null) {
                object.insert(key.into(), value);
            } else {
                both.push(format!("ignored `{alias}`: `{key}` is set too"));
            }
        }
        let mut notes = ignored_fields(&object, T::keys());
        notes.append(&mut both);
        let patch = from_object(object).map_err(Failure::bad_output)?;
        Ok(Reply::noting(Some(patch), notes))
    }

    fn view_to_json(view: &Option<T>) -> Value {
        view.as_ref().and_then(|merged| serde_json::to_value(merged).ok()).unwrap_or_default()
    }

    fn outcome_to_dyn(outcome: MergeOutcome<T>) -> DynOutcome {
        match outcome {
            Err(error) => DynOutcome::Failed(error),
            Ok(merged) => DynOutcome::Modifying {
                patch: serde_json::to_value(&merged.patch).unwrap_or_default(),
                winners: merged
                    .winners()
                    .map(|(key, name)| (key.to_string(), name.to_string()))
                    .collect(),
            },
        }
    }

    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.root_schema_for::<T>())
    }
}

/// The first value of each key wins. The merged patch itself is in the event, where handlers see it.
#[derive(Default)]
pub(crate) struct MergeRun {
    /// The keys that have a value, as bits.
    set: u64,
    winners: Vec<(&'static str, Arc<str>)>,
    fatal: Option<FireError>,
}

impl<T: Patch, P: Point<Model = Modifying<T>>> Chain<P> for MergeRun {
    fn take(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        reply: Reply<Option<T>>,
    ) -> ControlFlow<()> {
        // Most patches come too late. They are not moved: of a large one, moving it is most of the work.
        if let Reply::Answer(Some(patch)) = &reply
            && self.is_late(patch)
        {
            let lost = named::<T>(patch.set_keys());
            calls.finish_patch(reached, named::<T>(0), lost, None);
            return ControlFlow::Continue(());
        }
        match reply.into_result() {
            Ok((None, notes)) => calls.finish(reached, HandlerOutcome::Passed, notes),
            Ok((Some(patch), notes)) => {
                let set = patch.set_keys();
                let won = self.merge(calls, reached, patch);
                calls.finish_patch(reached, named::<T>(won), named::<T>(set & !won), notes);
            }
            Err(failure) => {
                self.fatal = reached.if_fail_closed(&failure);
                calls.finish(reached, HandlerOutcome::Failed(*failure), None);
                if self.fatal.is_some() {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, calls: &mut Calls<'_, P>) -> Result<Merged<T>, FireError> {
        if let Some(error) = self.fatal.take() {
            return Err(error);
        }
        Ok(Merged {
            patch: calls.event.amend_view(Option::take).unwrap_or_default(),
            winners: std::mem::take(&mut self.winners),
        })
    }
}

impl MergeRun {
    /// Whether it sets only what is set already. One without values is not late: it is still a patch.
    fn is_late<T: Patch>(&self, patch: &T) -> bool {
        let set = patch.set_keys();
        set != 0 && set & !self.set == 0
    }

    /// Takes the values that come first, and says which those are.
    fn merge<T: Patch, P: Point<Model = Modifying<T>>>(
        &mut self,
        calls: &mut Calls<'_, P>,
        reached: &Reached<'_, P>,
        patch: T,
    ) -> u64 {
        let won = calls.event.amend_view(|merged| merged.get_or_insert_default().merge(patch));
        self.set |= won;
        for key in named::<T>(won) {
            self.winners.push((key, reached.name().clone()));
        }
        won
    }
}

fn named<T: Patch>(mut bits: u64) -> impl Iterator<Item = &'static str> {
    std::iter::from_fn(move || {
        let key = (bits != 0).then(|| T::keys().get(bits.trailing_zeros() as usize))?;
        bits &= bits - 1;
        key.copied()
    })
}
