//! The four execution models. Each file says how its handlers run, what they answer, how the answers combine
//! and what a failure does.

mod answer;
mod claiming;
mod gate;
mod modifying;
mod verdict;
mod verdict_json;
mod void;

use std::{
    fmt,
    task::{Context, Poll},
    time::Duration,
};

pub use answer::{HandlerOutput, IntoAnswer};
pub use claiming::{Claimed, Claiming, IsClaiming};
pub use gate::{Advisory, Binding, Enforcement, Gate, IsBinding, IsGate};
pub use modifying::{IsModifying, Merged, Modifying};
pub use verdict::{Advice, Decision, GateOutcome, HandlerVerdict, Verdict};
pub use void::{IsVoid, Void};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    DynOutcome, Failure, FailurePolicy, Point,
    calls::{Answer, Calls},
};

/// The name of an execution model.
///
/// ```
/// use pintle::{Model, ModelKind, Point, points::ToolPre};
///
/// assert_eq!(<ToolPre as Point>::Model::KIND, ModelKind::Gate);
/// assert_eq!(ModelKind::Gate.to_string(), "Gate");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Observes.
    Void,
    /// Amends.
    Modifying,
    /// Routes.
    Claiming,
    /// Stops.
    Gate,
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Void => "Void",
            Self::Modifying => "Modifying",
            Self::Claiming => "Claiming",
            Self::Gate => "Gate",
        })
    }
}

/// An execution model: [`Void`], [`Modifying`], [`Claiming`] or [`Gate`]. There are no others.
///
/// A point names its model; what follows from it can be asked for:
///
/// ```
/// use pintle::{FailurePolicy, Model, Point, points::{BeforePromptBuild, ToolPre}};
///
/// assert_eq!(<BeforePromptBuild as Point>::Model::capabilities(), ["prependSystem", "appendSystem", "overrideSystem"]);
/// assert_eq!(<ToolPre as Point>::Model::POLICY, FailurePolicy::FailClosed);
/// ```
#[expect(private_bounds, reason = "sealed: how a model runs its handlers is the engine's own")]
pub trait Model: Run<<Self as Model>::Answer, <Self as Model>::Outcome> {
    /// What one handler says.
    type Answer: Send + 'static;
    /// What firing gives.
    type Outcome: Send + 'static;

    /// Its name.
    const KIND: ModelKind;
    /// Whether a block stops the action; `None` where nothing can be blocked.
    const BINDING: Option<bool> = None;
    /// What a handler's failure does, unless its registration tightens it.
    const POLICY: FailurePolicy = FailurePolicy::FailOpen;
    /// How long a handler may take, unless its registration or the registry says otherwise.
    const DEADLINE: Option<Duration> = None;

    /// What an answer can do, by name: what `capabilities` are chosen from.
    fn capabilities() -> &'static [&'static str];
}

/// How a model runs its handlers, which answer `A`, and combines their answers to an outcome `O`.
pub(crate) trait Run<A, O>: Sized + 'static {
    /// What a handler can see of the answers before its own.
    type View: Clone + Default + Send + Sync + 'static;
    /// How far a fire has come.
    type Progress<P: Point<Model = Self>>: Default + Send;

    /// Runs the handlers and combines what they say.
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<O>;

    /// What this answer does, as bits in the order of [`Model::capabilities`].
    fn capabilities_used(answer: &A) -> u64;
    /// The outcome when no handler listens.
    fn quiet() -> O;
    /// The outcome when the fire is cancelled.
    fn cancelled(point: &'static str) -> O;
    /// What a dynamic handler said, understood.
    fn answer_from_json(json: Value) -> Result<Reply<A>, Failure>;
    fn outcome_to_dyn(outcome: O) -> DynOutcome;
    /// What handlers have said so far, for a dynamic handler.
    fn view_to_json(_view: &Self::View) -> Value {
        Value::Null
    }
    /// The JSON Schema of an answer; `None` where a handler returns nothing.
    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema>;
}

pub(crate) type View<P> = <<P as Point>::Model as Run<Answer<P>, OutcomeOf<P>>>::View;
pub(crate) type Progress<P> = <<P as Point>::Model as Run<Answer<P>, OutcomeOf<P>>>::Progress<P>;

/// What firing `P` gives.
pub(crate) type OutcomeOf<P> = <<P as Point>::Model as Model>::Outcome;

/// What a reader of the record should know besides the answer. Mostly nothing: it is one pointer.
pub(crate) type Notes = Option<Box<Vec<String>>>;

/// What came of a handler. What is rare is behind a pointer.
pub(crate) enum Reply<A> {
    Answer(A),
    AnswerWithNotes(Box<(A, Vec<String>)>),
    Failed(Box<Failure>),
}

impl<A> Reply<A> {
    pub(crate) fn noting(answer: A, notes: Vec<String>) -> Self {
        if notes.is_empty() {
            Self::Answer(answer)
        } else {
            Self::AnswerWithNotes(Box::new((answer, notes)))
        }
    }

    pub(crate) fn failed(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }

    pub(crate) fn with_notes(self, mut more: Vec<String>) -> Self {
        match self {
            Self::Answer(answer) => Self::noting(answer, more),
            Self::AnswerWithNotes(mut noted) => {
                noted.1.append(&mut more);
                Self::AnswerWithNotes(noted)
            }
            Self::Failed(failure) => Self::failed(with_notes(*failure, &more)),
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    pub(crate) fn into_result(self) -> Result<(A, Notes), Box<Failure>> {
        match self {
            Self::Answer(answer) => Ok((answer, None)),
            Self::AnswerWithNotes(noted) => Ok((noted.0, Some(Box::new(noted.1)))),
            Self::Failed(failure) => Err(failure),
        }
    }
}

/// A failure has no notes in the record: its message has them.
pub(crate) fn with_notes(mut failure: Failure, notes: &[String]) -> Failure {
    if !notes.is_empty() {
        failure.message.push_str(&format!(" ({})", notes.join("; ")));
    }
    failure
}

/// Names the fields that are not among `known`, so that nothing a handler says is dropped in silence.
fn ignored_fields<'a>(object: &'a Map<String, Value>, known: &[&str]) -> Vec<String> {
    object
        .keys()
        .filter(|key: &&'a String| !known.contains(&key.as_str()))
        .map(|key| format!("ignored unknown field `{key}`"))
        .collect()
}

/// What a JSON object says, as a `T`; or what does not fit, and in which field.
pub(crate) fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        match error.path().to_string().as_str() {
            "." => error.inner().to_string(),
            field => format!("`{field}`: {}", error.inner()),
        }
    })
}

/// The object of an answer; `None` for null.
fn object_or_null(json: Value, what: &str) -> Result<Option<Map<String, Value>>, Failure> {
    match json {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other => Err(Failure::bad_output(format!(
            "{what} is an object or null, not {}",
            kind_of(&other)
        ))),
    }
}

/// What a JSON value is, in words for a message.
///
/// ```
/// assert_eq!(pintle::kind_of(&serde_json::json!([])), "an array");
/// ```
pub fn kind_of(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
