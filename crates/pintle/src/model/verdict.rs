//! What gate handlers say, and what firing a gate gives.

use std::sync::Arc;

use serde::Serialize;

use super::IsBinding;
use crate::{Event, Failure, FailureKind, HandlerOutcome, PointAboutTool};

/// What one gate handler answers: go on, or stop and why; with text for the model.
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

    /// Go on if a person agrees, who is asked for this reason.
    ///
    /// Only a [`Gate<Binding>`](crate::Gate) about a tool can ask: elsewhere this does not compile. The code that fires
    /// the point asks, after every handler has answered: see [`GateOutcome::take_questions`].
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("money").tools(["buy_*"]).register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "it costs money"))?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn ask<P: PointAboutTool>(_at: &Event<P>, reason: impl Into<String>) -> Self
    where
        P::Model: IsBinding,
    {
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

/// What firing a [`Gate<Binding>`](crate::Gate) gives. It always is an outcome, never an error: a failure blocks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Event, Hooks, Verdict, points::UserPromptSubmit};
///
/// let hooks = Hooks::new();
/// hooks.named("hours").register_gate(|_: Event<UserPromptSubmit>| {
///     Verdict::allow().with_context("The office is closed.")
/// })?;
/// hooks.named("secrets").register_gate(|e: Event<UserPromptSubmit>| {
///     if e.prompt.contains("password") { Verdict::block("no passwords") } else { Verdict::allow() }
/// })?;
///
/// let outcome = hooks.fire_gate(&Cx::test(), || UserPromptSubmit::default().prompt("my password")).await;
/// let block = outcome.blocked().unwrap();
/// assert_eq!((&*block.handler, &*block.reason, &block.failure), ("secrets", "no passwords", &None));
/// assert_eq!(outcome.verdicts[0].additional_context.as_deref(), Some("The office is closed."));
/// # Ok(())
/// # }
/// ```
#[must_use = "a gate guards nothing unless its outcome is checked: call `blocked()`"]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateOutcome {
    /// What handlers said, in order. A handler that allowed and said nothing is not in it; a block is the last.
    pub verdicts: Vec<HandlerVerdict>,
}

impl GateOutcome {
    /// The verdict that stops the action: a block, or a question that was not taken.
    pub fn blocked(&self) -> Option<&HandlerVerdict> {
        let first = |decision| self.verdicts.iter().find(|said| said.decision == decision);
        first(Decision::Block).or_else(|| first(Decision::Ask))
    }

    /// Takes over asking a person: what to ask, if no handler blocked. From then on the outcome does not block; a caller
    /// that does not take the questions is stopped by them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use pintle::{Cx, Event, Hooks, Verdict, points::ToolPre};
    /// let hooks = Hooks::new();
    /// hooks.named("money").register_gate(|e: Event<ToolPre>| Verdict::ask(&e, "it costs money"))?;
    ///
    /// # let call = || ToolPre::default().tool_call_id("1").tool_name("buy").tool_input(serde_json::json!({})).zone(4);
    /// let mut outcome = hooks.fire_gate(&Cx::test(), call).await;
    /// assert!(outcome.blocked().is_some(), "the question has not been asked yet");
    ///
    /// let questions = outcome.take_questions();
    /// assert_eq!(questions[0].reason, "it costs money");
    /// assert!(outcome.blocked().is_none(), "now it is up to us");
    /// # Ok(())
    /// # }
    /// ```
    pub fn take_questions(&mut self) -> Vec<HandlerVerdict> {
        if self.verdicts.iter().any(HandlerVerdict::is_block) {
            return Vec::new();
        }
        let asks = self.verdicts.iter_mut().filter(|said| said.decision == Decision::Ask);
        asks.map(|said| {
            let question = said.clone();
            said.decision = Decision::Allow;
            question
        })
        .collect()
    }
}

impl From<Vec<HandlerVerdict>> for GateOutcome {
    fn from(verdicts: Vec<HandlerVerdict>) -> Self {
        Self { verdicts }
    }
}

/// What firing a [`Gate<Advisory>`](crate::Gate) gives. It cannot stop anything, so it has no `blocked()`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pintle::{Cx, Event, Hooks, Verdict, points::SessionEnd};
///
/// let hooks = Hooks::new();
/// hooks.named("tests").register_gate(|_: Event<SessionEnd>| Verdict::block("the tests were not run"))?;
///
/// let advice = hooks.fire_gate(&Cx::test(), || SessionEnd::default().reason("done")).await;
/// assert_eq!(advice.objections().next().unwrap().reason, "the tests were not run");
/// # Ok(())
/// # }
/// ```
#[must_use = "advice is for the model or a log: read its `verdicts`"]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// What handlers said, in order. A handler that allowed and said nothing is not in it.
    pub verdicts: Vec<HandlerVerdict>,
}

impl Advice {
    /// The blocks, in order.
    pub fn objections(&self) -> impl Iterator<Item = &HandlerVerdict> {
        self.verdicts.iter().filter(|said| said.is_block())
    }
}

impl From<Vec<HandlerVerdict>> for Advice {
    fn from(verdicts: Vec<HandlerVerdict>) -> Self {
        Self { verdicts }
    }
}

/// What one gate handler said: its decision, the reason, and text for the model.
///
/// ```
/// use pintle::HandlerVerdict;
///
/// fn for_a_person(block: &HandlerVerdict) -> String {
///     match &block.failure {
///         None => format!("{} said no: {}", block.handler, block.reason),
///         Some(failure) => format!("{} is broken ({failure}), so nothing may pass", block.handler),
///     }
/// }
/// # let _ = for_a_person;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HandlerVerdict {
    /// The handler.
    pub handler: Arc<str>,
    /// Whether it goes on.
    #[serde(skip)]
    pub decision: Decision,
    /// Why it blocks or asks; empty where it allows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How the handler failed, when it did not decide at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Something to show the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Something the model should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// What a gate handler decided.
///
/// ```
/// use pintle::{Decision, HandlerVerdict, Verdict};
///
/// assert_eq!(HandlerVerdict::new("no-prod", Verdict::block("")).decision, Decision::Block);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Allow,
    /// Go on if a person agrees.
    Ask,
    /// Stop.
    Block,
}

impl HandlerVerdict {
    /// A handler's verdict, with its name. A block or a question without a reason gets one that names the handler.
    pub fn new(handler: impl Into<Arc<str>>, verdict: Verdict) -> Self {
        let handler = handler.into();
        let Spoken { block, ask, output, additional_context } =
            verdict.said.map(|said| *said).unwrap_or_default();
        let or = |reason: String, name: String| if reason.is_empty() { name } else { reason };
        let (decision, reason) = match (block, ask) {
            (Some(reason), _) => (Decision::Block, or(reason, format!("blocked by {handler}"))),
            (None, Some(reason)) => {
                (Decision::Ask, or(reason, format!("`{handler}` wants a person to be asked")))
            }
            (None, None) => (Decision::Allow, String::new()),
        };
        Self { handler, decision, reason, failure: None, output, additional_context }
    }

    /// The block of a handler that failed. A command that exits with a code other than 0 has said why on stderr (R8.1);
    /// of any other failure, the reason says how the handler failed.
    pub(super) fn failed(handler: Arc<str>, failure: Failure) -> Self {
        let reason = match failure.kind {
            FailureKind::Exit(_) if !failure.message.is_empty() => failure.message.clone(),
            _ => format!("`{handler}` {failure}"),
        };
        Self { failure: Some(failure), ..Self::new(handler, Verdict::block(reason)) }
    }

    /// Whether it stops.
    pub fn is_block(&self) -> bool {
        self.decision == Decision::Block
    }

    pub(super) fn says_something(&self) -> bool {
        self.decision != Decision::Allow
            || self.output.is_some()
            || self.additional_context.is_some()
    }

    pub(super) fn outcome(&self) -> HandlerOutcome {
        match self.decision {
            Decision::Allow => HandlerOutcome::Allowed,
            Decision::Ask => HandlerOutcome::Asked(self.reason.clone()),
            Decision::Block => HandlerOutcome::Blocked(self.reason.clone()),
        }
    }
}
