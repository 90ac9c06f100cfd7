//! The four execution models. Each file says how its handlers run, what they answer, how the answers combine
//! and what a failure does.

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

pub use claiming::{Claimed, Claiming, IsClaiming};
pub use gate::{Advisory, Binding, Force, Gate, IsGate};
pub use modifying::{IsModifying, Merged, Modifying};
pub use verdict::{Block, GateOutcome, Note, Question, Verdict, Words};
pub use void::{IsVoid, Void};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{DynOutcome, Failure, FailureKind, FailurePolicy, Point, calls::Calls, seat::Answered};

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
/// assert_eq!(<BeforePromptBuild as Point>::Model::powers(), ["prependSystem", "appendSystem", "overrideSystem"]);
/// assert_eq!(<ToolPre as Point>::Model::POLICY, FailurePolicy::FailClosed);
/// ```
pub trait Model: sealed::Sealed + Sized + 'static {
    /// What one handler says.
    type Answer: Send + 'static;
    /// What a handler can see of the answers before its own.
    type View: Clone + Default + Send + Sync + 'static;
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
    fn powers() -> &'static [&'static str];
    /// What this answer does, as bits in the order of [`Model::powers`].
    fn powers_used(answer: &Self::Answer) -> u64;

    /// The outcome when nobody listens.
    #[doc(hidden)]
    fn quiet() -> Self::Outcome;
    /// The outcome when the fire is cancelled.
    #[doc(hidden)]
    fn cancelled(point: &'static str) -> Self::Outcome;
    /// How far a fire's handlers have come, and what they have said.
    #[doc(hidden)]
    type Progress<P: Point<Model = Self>>: Default + Send;
    /// Runs the handlers and combines what they say.
    #[doc(hidden)]
    fn run<P: Point<Model = Self>>(
        calls: &mut Calls<'_, P>,
        progress: &mut Self::Progress<P>,
        cx: &mut Context<'_>,
    ) -> Poll<Self::Outcome>;
    /// What a dynamic handler said, understood.
    #[doc(hidden)]
    fn answer_from_json(json: Value) -> Result<Said<Self::Answer>, Failure>;
    /// What handlers have said so far, for a dynamic handler.
    #[doc(hidden)]
    fn view_to_json(_view: &Self::View) -> Value {
        Value::Null
    }
    #[doc(hidden)]
    fn outcome_to_dyn(outcome: Self::Outcome) -> DynOutcome;
    /// The JSON Schema of an answer; `None` where a handler returns nothing.
    #[doc(hidden)]
    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema>;
}

/// What a reader of the record should know besides the answer. Mostly nothing: it is one pointer.
pub(crate) type Notes = Option<Box<Vec<String>>>;

/// What came of a handler. What is rare is behind a pointer.
#[doc(hidden)]
pub enum Said<A> {
    Plainly(A),
    Noting(Box<(A, Vec<String>)>),
    Failed(Box<Failure>),
}

impl<A> Said<A> {
    pub(crate) fn noting(answer: A, notes: Vec<String>) -> Self {
        if notes.is_empty() {
            Self::Plainly(answer)
        } else {
            Self::Noting(Box::new((answer, notes)))
        }
    }

    pub(crate) fn failed(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }

    pub(crate) fn heard(answered: Answered<A>) -> Result<(A, Notes), Box<Failure>> {
        match answered {
            Some(Self::Plainly(answer)) => Ok((answer, None)),
            Some(Self::Noting(noted)) => Ok((noted.0, Some(Box::new(noted.1)))),
            Some(Self::Failed(failure)) => Err(failure),
            None => Err(Box::new(Failure::new(FailureKind::Gone, "it said nothing"))),
        }
    }
}

/// What a handler may return: the point's answer, or a `Result` of it.
///
/// ```
/// use pintle::{Event, Failure, Hooks, Verdict, points::ToolPre};
///
/// let hooks = Hooks::new();
/// hooks.register_gate(|_: Event<ToolPre>| async { Verdict::allow() })?;
/// hooks.register_gate(|e: Event<ToolPre>| async move {
///     let port: u16 = e.tool_input["port"].to_string().parse()?; // an error here is a failure, and blocks
///     Ok::<_, Failure>(if port < 1024 { Verdict::block("a port of the system") } else { Verdict::allow() })
/// })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler of this point answers `{A}` (or a `Result` of it), not `{Self}`",
    label = "this handler's answer does not fit its point",
    note = "Void handlers return `()`, Modifying `Option<patch>`, Claiming `Option<claim>`, Gate `Verdict`"
)]
pub trait IntoAnswer<A> {
    /// The answer, or how the handler failed.
    fn into_answer(self) -> Result<A, Failure>;
}

impl<A> IntoAnswer<A> for A {
    fn into_answer(self) -> Result<A, Failure> {
        Ok(self)
    }
}

impl<A, E: Into<Failure>> IntoAnswer<A> for Result<A, E> {
    fn into_answer(self) -> Result<A, Failure> {
        self.map_err(Into::into)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Void {}
    impl<T> Sealed for super::Modifying<T> {}
    impl<T> Sealed for super::Claiming<T> {}
    impl<T> Sealed for super::Gate<T> {}
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
    let complaint =
        |object: &Map<String, Value>| T::deserialize(object).err().map(|e| e.to_string());
    let error = match T::deserialize(&object) {
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    // serde_json does not say where. If a field is missing here, giving it changes the complaint; otherwise the
    // field to blame is the one that, alone, gets the same complaint.
    let missing = error.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    if let Some(name) = missing {
        let mut given = object.clone();
        given.insert(name.into(), Value::Null);
        if complaint(&given).as_ref() != Some(&error) {
            return Err(error);
        }
    }
    let alone = |(key, value)| Map::from_iter([(String::clone(key), Value::clone(value))]);
    match object.iter().find(|field| complaint(&alone(*field)).as_ref() == Some(&error)) {
        Some((key, _)) => Err(format!("`{key}`: {error}")),
        None => Err(error),
    }
}

fn kind_of(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
