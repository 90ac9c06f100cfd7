//! Models without a provider.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::Value;

use crate::{FinishReason, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, LlmUsage, ToolCall};

/// A model that gives prepared answers, one for each request in their order, and keeps the requests.
///
/// After the last answer each request fails with the code `script_exhausted`.
///
/// ```
/// use pintle_agent::testing::{Answer, ScriptedLlm};
/// use serde_json::json;
///
/// let llm = ScriptedLlm::new([
///     Answer::calls([("t1", "read_file", json!({ "path": "a.txt" }))]),
///     Answer::text("It says hello."),
/// ]);
/// assert!(llm.requests().is_empty());
/// ```
#[derive(Debug)]
pub struct ScriptedLlm {
    name: String,
    answers: Vec<Answer>,
    next: AtomicUsize,
    requests: Mutex<Vec<LlmRequest>>,
}

/// What a [`ScriptedLlm`] does with one request.
#[derive(Debug, Clone)]
pub struct Answer {
    delay: Duration,
    text: String,
    end: End,
}

#[derive(Debug, Clone)]
enum End {
    Complete { tool_calls: Vec<ToolCall>, usage: LlmUsage, finish: FinishReason },
    Failed(LlmError),
    Cut,
}

impl Answer {
    /// A text, which is the end of the turn.
    pub fn text(text: impl Into<String>) -> Self {
        let (usage, finish) = (LlmUsage::default(), FinishReason::EndTurn);
        let end = End::Complete { tool_calls: Vec::new(), usage, finish };
        Self { delay: Duration::ZERO, text: text.into(), end }
    }

    /// Tool calls: the id, the tool and the arguments of each.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, Value)>) -> Self {
        let call = |(id, name, input): (&str, &str, Value)| {
            ToolCall::default().id(id).name(name).input(input)
        };
        Self::text("").with_calls(calls.into_iter().map(call).collect())
    }

    /// A failure.
    pub fn error(error: LlmError) -> Self {
        Self { end: End::Failed(error), ..Self::text("") }
    }

    /// A text whose end never comes.
    pub fn cut(text: impl Into<String>) -> Self {
        Self { end: End::Cut, ..Self::text(text) }
    }

    /// With these tool calls.
    #[must_use]
    pub fn with_calls(mut self, calls: Vec<ToolCall>) -> Self {
        if let End::Complete { tool_calls, finish, .. } = &mut self.end {
            *finish = if calls.is_empty() { FinishReason::EndTurn } else { FinishReason::ToolUse };
            *tool_calls = calls;
        }
        self
    }

    /// With this text before anything else.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// With this usage.
    #[must_use]
    pub fn with_usage(mut self, used: LlmUsage) -> Self {
        if let End::Complete { usage, .. } = &mut self.end {
            *usage = used;
        }
        self
    }

    /// The model stops for this reason.
    #[must_use]
    pub fn finishing(mut self, reason: FinishReason) -> Self {
        if let End::Complete { finish, .. } = &mut self.end {
            *finish = reason;
        }
        self
    }

    /// The answer begins after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    fn stream(self) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        let Self { delay, text, end } = self;
        let words: Vec<_> = text
            .split_inclusive(char::is_whitespace)
            .map(|word| Ok(LlmEvent::TextDelta(word.to_owned())))
            .collect();
        let end = match end {
            End::Complete { tool_calls, usage, finish } => {
                Some(Ok(LlmEvent::End(LlmResponse { text, tool_calls, usage, finish })))
            }
            End::Failed(error) => Some(Err(error)),
            End::Cut => None,
        };
        let events = stream::iter(words.into_iter().chain(end));
        if delay.is_zero() {
            return events.boxed();
        }
        let wait = stream::once(tokio::time::sleep(delay)).filter_map(|()| async { None });
        wait.chain(events).boxed()
    }
}

impl ScriptedLlm {
    /// A model that gives these answers.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self::named("scripted", answers))
    }

    /// The same under a name of its own.
    pub fn named(name: impl Into<String>, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            name: name.into(),
            answers: answers.into_iter().collect(),
            next: AtomicUsize::new(0),
            requests: Mutex::default(),
        }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<LlmRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Llm for ScriptedLlm {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        // Taken here and not at the first poll: the order of requests is the order of answers.
        let answer = self.answers.get(self.next.fetch_add(1, Ordering::Relaxed)).cloned();
        let exhausted = || {
            let message = format!(
                "{} has {} answers, and all are used up: add one for this request",
                self.name,
                self.answers.len()
            );
            let code = "script_exhausted".to_owned();
            Answer::error(LlmError { code, message, retryable: false, retry_after: None })
        };
        answer.unwrap_or_else(exhausted).stream()
    }
}

/// A model that answers by the request alone, for many conversations at once.
pub fn llm_fn<F>(answer: F) -> Arc<dyn Llm>
where
    F: Fn(&LlmRequest) -> Answer + Send + Sync + 'static,
{
    struct Answering<F>(F);
    impl<F: Fn(&LlmRequest) -> Answer + Send + Sync + 'static> Llm for Answering<F> {
        fn name(&self) -> &str {
            "answering"
        }

        fn stream(&self, request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
            (self.0)(&request).stream()
        }
    }
    Arc::new(Answering(answer))
}
