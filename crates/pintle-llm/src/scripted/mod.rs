//! The model that says what a file tells it to.

mod parse;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use pintle_agent::{Llm, LlmError, LlmEvent, LlmRequest, LlmResponse};

use crate::text_stream;

/// Plays a script: a JSON array of which each request takes the next element.
///
/// | field | says |
/// |---|---|
/// | `text` | what to write; it streams word by word |
/// | `toolCalls` | `[{"id"?, "name", "input"?}]`, or `"inputRaw": "text"` for arguments that are not JSON |
/// | `usage` | `{"inputTokens"?, "outputTokens"?, "cacheReadTokens"?, "cacheCreationTokens"?, "costUsd"?}` |
/// | `finish` | `"end_turn"`, `"tool_use"`, `"max_tokens"` or `"refusal"`; by default what the calls suggest |
/// | `delayMs` | how long to wait before anything else |
/// | `error` | `{"code", "message"?, "retryable"?, "retryAfterMs"?}`: fail, after the text |
/// | `cut` | `true`: stop after the text, without an end |
///
/// An unknown field is an error, so that a typing mistake does not pass for a script. After the last element each
/// request fails with `script_exhausted`. One script serves all conversations that share it, in the order of
/// their requests.
///
/// ```
/// # use pintle_llm::Scripted;
/// let script = Scripted::from_json("greeting", r#"[{"text": "Hello!"}]"#)?;
/// let error = Scripted::from_json("typo", r#"[{"txet": "Hello!"}]"#).unwrap_err();
/// assert!(error.to_string().starts_with("typo: element 0: unknown field `txet`"));
/// # Ok::<(), pintle_llm::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Scripted {
    name: String,
    steps: Vec<Step>,
    taken: AtomicUsize,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {}: {error}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The text is not JSON.
    #[error("{name}: not JSON: {error}")]
    NotJson {
        /// The script's name; for a file, its path.
        name: String,
        /// Where and why.
        error: serde_json::Error,
    },
    /// The JSON is not an array.
    #[error("{name}: a script is a JSON array with one element for each request")]
    NotAnArray {
        /// The script's name; for a file, its path.
        name: String,
    },
    /// An element makes no sense.
    #[error("{name}: element {element}: {problem}")]
    Element {
        /// The script's name; for a file, its path.
        name: String,
        /// Which element, from 0.
        element: usize,
        /// Which field, and what is wrong with it.
        problem: String,
    },
}

/// What to do for one request.
#[derive(Debug, Clone)]
struct Step {
    delay: Duration,
    text: String,
    close: Close,
}

/// How a response ends.
#[derive(Debug, Clone)]
enum Close {
    End(Box<LlmResponse>),
    Fail(LlmError),
    Cut,
}

impl Scripted {
    /// Reads a script from a file. Fails when it cannot be read or is not a script; see [`ScriptError`].
    pub fn open(file: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| ScriptError::Unreadable { file: file.to_owned(), error })?;
        Self::from_json(&file.display().to_string(), &text)
    }

    /// Takes a script from a text, under a name for messages.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ScriptError> {
        let steps = parse::script(name, text)?;
        Ok(Self { name: format!("scripted:{name}"), steps, taken: AtomicUsize::new(0) })
    }

    fn exhausted(&self) -> LlmError {
        let elements = self.steps.len();
        LlmError {
            code: "script_exhausted".to_owned(),
            message: format!(
                "{} has {elements} elements, and all are used up: add one for this request",
                self.name
            ),
            retryable: false,
            retry_after: None,
        }
    }
}

impl Llm for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, _request: LlmRequest) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
        // Taken here and not at the first poll, so that the order of requests is the order of elements.
        let element = self.taken.fetch_add(1, Ordering::Relaxed);
        let step = match self.steps.get(element) {
            Some(step) => step.clone(),
            None => Step {
                delay: Duration::ZERO,
                text: String::new(),
                close: Close::Fail(self.exhausted()),
            },
        };
        play(step)
    }
}

fn play(step: Step) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
    let close = match step.close {
        Close::End(response) => Some(Ok(LlmEvent::End(*response))),
        Close::Fail(error) => Some(Err(error)),
        Close::Cut => None,
    };
    let events = stream::iter(text_stream::deltas(&step.text).chain(close));
    if step.delay.is_zero() {
        return events.boxed();
    }
    stream::once(tokio::time::sleep(step.delay))
        .filter_map(|()| async { None })
        .chain(events)
        .boxed()
}
