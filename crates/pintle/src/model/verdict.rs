//! What gate handlers say, and what firing a gate gives.

use std::sync::Arc;

use serde::Serialize;

use crate::Failure;

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
    /// Nothing to say is what most handlers answer: it is one pointer.
    pub(super) said: Option<Box<Spoken>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    /// Why it stops; `None` allows. An empty reason still blocks.
    pub(super) block: Option<String>,
    /// Why a person should be asked.
    pub(super) ask: Option<String>,
    /// Something to show the model.
    pub(super) output: Option<String>,
    /// Something the model should know.
    pub(super) additional_context: Option<String>,
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
        Spoken { block: Some(reason.into()), ..Spoken::default() }.into()
    }

    /// Go on if a person agrees; for this reason they are asked.
    ///
    /// Whoever fires the point asks, after every handler had its say: see [`GateOutcome::take_questions`].
    ///
    /// ```
    /// use pintle::Verdict;
    ///
    /// assert!(!Verdict::ask("it costs money").is_block());
    /// ```
    pub fn ask(reason: impl Into<String>) -> Self {
        Spoken { ask: Some(reason.into()), ..Spoken::default() }.into()
    }

    /// Shows the model this text.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.said.get_or_insert_default().output = Some(output.into());
        self
    }

    /// Lets the model know this besides.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.said.get_or_insert_default().additional_context = Some(context.into());
        self
    }

    /// Whether it stops.
    pub fn is_block(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.block.is_some())
    }
}

impl From<Spoken> for Verdict {
    fn from(said: Spoken) -> Self {
        Self { said: (said != Spoken::default()).then(|| Box::new(said)) }
    }
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
    pub(super) asks: Vec<Question>,
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
    pub(super) fn settle_questions(&mut self) {
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
