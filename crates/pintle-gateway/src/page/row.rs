//! A row of the timeline, and what is known of its run.

use serde::Serialize;

/// What a row is about; the page draws its bar by it.
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

/// How a row came out: each has a glyph and a word of its own.
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

/// A row. Its place in the list never changes; what it says may.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Its place in the timeline, from 0.
    pub(crate) i: usize,
    /// How far it is indented: hooks and questions stand below their call, a sub-agent below its parent's.
    pub(crate) level: usize,
    /// The row that it stands below, with all others of that row, whatever came in between.
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
    /// While it goes on, the newest time that is known.
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
    /// What is shown when it is opened: name and text.
    pub(crate) more: Vec<(String, String)>,
}

/// What is known of the run as a whole.
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
    /// The questions that wait for a person.
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
