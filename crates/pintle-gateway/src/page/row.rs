//! A row of the timeline, and the summary of its run.

use serde::Serialize;

/// The kind of a row. It decides how the page draws the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Message,
    Prompt,
    Model,
    Tool,
    Agent,
    Hook,
    Person,
    Answer,
    Error,
}

/// The outcome of a row. Each has its own glyph and word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mark {
    Ok,
    Fail,
    Block,
    Wait,
    Idle,
}

impl Mark {
    /// Its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "fail",
            Self::Block => "block",
            Self::Wait => "wait",
            Self::Idle => "idle",
        }
    }
}

/// A row. Its place in the list never changes; its content may.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Its place in the timeline, from 0.
    pub(crate) i: usize,
    /// The depth of the row: hooks and questions are below their call, a sub-agent below the call of its parent.
    pub(crate) level: usize,
    /// The parent row. All rows of one parent are kept together, in the order in which they came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) under: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The argument, or the point.
    pub(crate) detail: String,
    /// The reason, or what changed.
    pub(crate) why: String,
    pub(crate) mark: Mark,
    /// The outcome as a word.
    pub(crate) word: String,
    /// In milliseconds since 1970.
    pub(crate) from: f64,
    /// While the row is open, the newest known time.
    pub(crate) to: f64,
    pub(crate) is_open: bool,
    /// A time, or why there is none.
    pub(crate) took: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plugin: Option<String>,
    /// A hook that won a key.
    pub(crate) changed: bool,
    /// The question behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The details of an opened row: name and text.
    pub(crate) more: Vec<(String, String)>,
}

/// The summary of the run.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Head {
    pub(crate) prompt: String,
    pub(crate) platform: String,
    pub(crate) personality: String,
    pub(crate) chat: String,
    pub(crate) calls: usize,
    pub(crate) blocked: usize,
    pub(crate) failed: usize,
    pub(crate) requests: usize,
    pub(crate) sub_agents: usize,
    pub(crate) cost_usd: f64,
    /// The open questions.
    pub(crate) waiting: Vec<String>,
    pub(crate) answer: String,
    pub(crate) outcome: Option<String>,
}

impl Row {
    pub(super) fn new(kind: Kind, name: impl Into<String>, from: f64, to: f64) -> Self {
        Self {
            i: 0,
            level: 0,
            under: None,
            kind,
            name: name.into(),
            detail: String::new(),
            why: String::new(),
            mark: Mark::Ok,
            word: "ok".into(),
            from,
            to,
            is_open: false,
            took: String::new(),
            plugin: None,
            changed: false,
            question: None,
            more: Vec::new(),
        }
    }
}
