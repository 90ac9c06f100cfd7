//! Gate: handlers stop. One after another; a failure blocks, and that cannot be loosened.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Model, ModelKind, Said, from_object, ignored_fields, kind_of};
use crate::{DynOutcome, Failure, FailureKind, FailurePolicy, Outcome, Point, fire::Fire};

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

/// What one gate handler says: go on, or stop and why; with words for the model if it likes.
///
/// ```
/// use pintle::Verdict;
///
/// let verdict = Verdict::block("production is off limits").with_context("use the staging host instead");
/// assert!(verdict.is_block());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it stops; `None` allows. An empty reason still blocks.
    block: Option<String>,
    /// Why a person should be asked.
    ask: Option<String>,
    /// Something to show the model.
    output: Option<String>,
    /// Something the model should know.
    additional_context: Option<String>,
}

impl Verdict {
    /// Go on.
    ///
    /// ```
    /// assert!(!pintle::Verdict::allow().is_block());
    /// ```
    pub fn allow() -> Self {
        Self::default()
    }

    /// Stop, for this reason.
    ///
    /// ```
    /// assert!(pintle::Verdict::block("").is_block(), "an empty reason blocks all the same");
    /// ```
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// Go on if a person agrees; for this reason they are asked. In code only: an answer in JSON cannot say it.
    ///
    /// Whoever fires the point asks, after every handler had its say: see [`GateOutcome::take_questions`].
    ///
    /// ```
    /// use pintle::Verdict;
    ///
    /// assert!(!Verdict::ask("it costs money").is_block());
    /// ```
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { ask: Some(reason.into()), ..Self::default() }
    }

    /// Shows the model this text.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Lets the model know this besides.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.additional_context = Some(context.into());
        self
    }

    /// Whether it stops.
    pub fn is_block(&self) -> bool {
        self.block.is_some()
    }
}

/// A lifecycle handler's answer on the wire (R7.1).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerdictJson {
    /// False blocks.
    #[serde(default = "yes", rename = "continue")]
    go_on: bool,
    /// Why it blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Something to show the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Something the model should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

fn yes() -> bool {
    true
}

/// What firing a gate gives. It always is an outcome, never an error: whatever goes wrong blocks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, Verdict, points::UserPromptSubmit};
///
/// let hooks = Hooks::new();
/// hooks.named("hours").register_gate(|_: Event<UserPromptSubmit>| async {
///     Verdict::allow().with_context("The office is closed.")
/// })?;
/// hooks.named("secrets").register_gate(|e: Event<UserPromptSubmit>| async move {
///     if e.prompt.contains("password") { Verdict::block("no passwords") } else { Verdict::allow() }
/// })?;
///
/// let cx = Cx::new(Envelope::default(), PluginGate::All);
/// let outcome = hooks.fire_gate(&cx, || UserPromptSubmit { prompt: "my password".into() }).await;
/// let block = outcome.blocked().unwrap();
/// assert_eq!((&*block.handler, &*block.reason, &block.failure), ("secrets", "no passwords", &None));
/// assert_eq!(outcome.notes[0].words.additional_context.as_deref(), Some("The office is closed."));
/// # Ok(())
/// # }
/// ```
#[must_use = "a gate that nobody asks guards nothing: check `blocked()`"]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateOutcome {
    /// The blocks, in order. At a binding point there is at most one: it ends the chain.
    pub blocks: Vec<Block>,
    /// What handlers that allowed had to say, in order.
    pub notes: Vec<Note>,
    /// Who wants a person to be asked, in order. Until they are taken, they block.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asks: Vec<Question>,
}

impl GateOutcome {
    /// The first block, if any handler blocked.
    pub fn blocked(&self) -> Option<&Block> {
        self.blocks.first()
    }

    /// Takes over asking a person: what to ask, if nobody blocked for good. From then on the outcome does not block:
    /// a caller that does not take the questions is stopped by them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use pintle::{Cx, Envelope, Event, Hooks, PluginGate, Verdict, points::ToolPre};
    /// let hooks = Hooks::new();
    /// hooks.named("money").register_gate(|_: Event<ToolPre>| async { Verdict::ask("it costs money") })?;
    ///
    /// # let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// # let call = || ToolPre {
    /// #     tool_call_id: "1".into(), tool_name: "buy".into(), tool_input: serde_json::json!({}), zone: 4,
    /// # };
    /// let mut outcome = hooks.fire_gate(&cx, call).await;
    /// assert!(outcome.blocked().is_some(), "nobody was asked yet");
    ///
    /// let questions = outcome.take_questions();
    /// assert_eq!(questions[0].reason, "it costs money");
    /// assert!(outcome.blocked().is_none(), "now it is up to us");
    /// # Ok(())
    /// # }
    /// ```
    pub fn take_questions(&mut self) -> Vec<Question> {
        if !self.asks.is_empty() {
            self.blocks.clear();
        }
        std::mem::take(&mut self.asks)
    }

    /// A real block leaves nothing to ask; without one, the questions themselves block until somebody takes them.
    fn settle_questions(&mut self) {
        if !self.blocks.is_empty() {
            self.asks.clear();
        }
        if let Some(Question { handler, reason }) = self.asks.first() {
            let reason = format!("a person has to be asked: {reason}");
            let words = Words::default();
            self.blocks.push(Block { handler: handler.clone(), reason, failure: None, words });
        }
    }
}

/// A block: who, why, and whether it was a decision or a failure.
///
/// ```
/// use pintle::Block;
///
/// fn for_a_person(block: &Block) -> String {
///     match &block.failure {
///         None => format!("{} said no: {}", block.handler, block.reason),
///         Some(failure) => format!("{} is broken ({failure}), so nothing may pass", block.handler),
///     }
/// }
/// # let _ = for_a_person;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The handler that blocked.
    pub handler: Arc<str>,
    /// Why.
    pub reason: String,
    /// How the handler failed, when it did not decide at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What else it said.
    #[serde(flatten)]
    pub words: Words,
}

/// A handler's wish that a person be asked.
///
/// ```
/// use pintle::Question;
///
/// let question = Question { handler: "money".into(), reason: "it costs money".into() };
/// assert_eq!(question.reason, "it costs money");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The handler.
    pub handler: Arc<str>,
    /// Why.
    pub reason: String,
}

/// What a handler that allowed had to say.
///
/// ```
/// use pintle::GateOutcome;
///
/// fn for_the_model(outcome: &GateOutcome) -> Vec<&str> {
///     outcome.notes.iter().filter_map(|note| note.words.additional_context.as_deref()).collect()
/// }
/// # let _ = for_the_model;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The handler.
    pub handler: Arc<str>,
    /// What it said.
    #[serde(flatten)]
    pub words: Words,
}

/// Words for the model.
///
/// ```
/// use pintle::Words;
///
/// let words = Words { output: Some("3 tests failed".into()), additional_context: None };
/// assert_eq!(serde_json::to_value(&words).unwrap(), serde_json::json!({ "output": "3 tests failed" }));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Words {
    /// Something to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Something it should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// A command that exits with a code other than 0 has said why on stderr (R8.1); of any other failure, the reason
/// says how the handler failed.
fn reason_for(handler: &str, failure: &Failure) -> String {
    match failure.kind {
        FailureKind::Exit(_) if !failure.message.is_empty() => failure.message.clone(),
        _ => format!("`{handler}` {failure}"),
    }
}

/// A wish that nobody would hear is a failure: where a person cannot be asked, it blocks.
fn can_ask<P: Point, F: Force>(said: Said<Verdict>) -> Result<Said<Verdict>, Failure> {
    if said.answer.ask.is_some() && !(F::BINDING && P::HAS_TOOL) {
        return Err(Failure::bad_output(format!("a person cannot be asked at {}", P::NAME)));
    }
    Ok(said)
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
        u64::from(verdict.block.is_some())
            | u64::from(verdict.output.is_some()) << 1
            | u64::from(verdict.additional_context.is_some()) << 2
            | u64::from(verdict.ask.is_some()) << 3
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

    async fn run<P: Point<Model = Self>>(fire: Fire<P>) -> GateOutcome {
        let (slot, mut fire) = fire.split();
        let mut gate = GateOutcome::default();
        let mut position = 0;
        while let Some(reached) = fire.next(&slot, &mut position) {
            let said = fire.call(&reached, ()).await.and_then(|said| can_ask::<P, F>(said));
            let (block, failure, words) = match said {
                Ok(Said { answer: Verdict { block, ask, output, additional_context }, notes }) => {
                    let block = block.map(|reason| reached.reason_or_name(reason));
                    let outcome = match (&block, &ask) {
                        (Some(reason), _) => Outcome::Blocked(reason.clone()),
                        (None, Some(reason)) => Outcome::Asked(reason.clone()),
                        (None, None) => Outcome::Allowed,
                    };
                    fire.finish(&reached, outcome, notes);
                    let question = |reason| Question { handler: reached.name().clone(), reason };
                    gate.asks.extend(ask.map(question));
                    (block, None, Words { output, additional_context })
                }
                Err(failure) => {
                    fire.finish(&reached, Outcome::Failed(failure.clone()), Vec::new());
                    let reason = reason_for(reached.name(), &failure);
                    (Some(reason), Some(failure), Words::default())
                }
            };
            let handler = reached.name().clone();
            match block {
                Some(reason) => {
                    gate.blocks.push(Block { handler, reason, failure, words });
                    if F::BINDING {
                        break;
                    }
                }
                None if words != Words::default() => gate.notes.push(Note { handler, words }),
                None => {}
            }
        }
        gate.settle_questions();
        gate
    }

    fn answer_from_json(json: Value) -> Result<Said<Verdict>, Failure> {
        let object = match json {
            Value::Null => return Ok(Said::plainly(Verdict::allow())),
            Value::Object(object) => object,
            other => {
                return Err(Failure::bad_output(format!(
                    "a verdict is an object or null, not {}",
                    kind_of(&other)
                )));
            }
        };
        let mut notes =
            ignored_fields(&object, &["continue", "reason", "output", "additionalContext"]);
        let VerdictJson { go_on, reason, output, additional_context } =
            from_object(object).map_err(Failure::bad_output)?;
        if go_on && reason.is_some() {
            notes.push("ignored `reason`: it takes `\"continue\": false` to block".into());
        }
        let block = (!go_on).then(|| reason.unwrap_or_default());
        Ok(Said { answer: Verdict { block, ask: None, output, additional_context }, notes })
    }

    fn outcome_to_dyn(outcome: GateOutcome) -> DynOutcome {
        DynOutcome::Gate { binding: F::BINDING, outcome }
    }

    fn answer_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.root_schema_for::<VerdictJson>())
    }
}
