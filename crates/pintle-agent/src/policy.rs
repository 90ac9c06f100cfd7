//! What the judge goes by besides the hooks.

use std::path::PathBuf;

use crate::Containment;
use glob::Pattern;
use pintle_policy::{Guard, Level, Restricted};

/// The floor under every call: no hook and no model can talk past it.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What runs by itself, what is asked, what never runs.
    pub level: Level,
    /// Where the level is set, for the text of a refusal.
    pub level_written: Option<String>,
    /// The folder the agent works in.
    pub workspace: PathBuf,
    /// Files and folders that a file tool writes only after a person agreed, with every link resolved.
    pub protected: Vec<PathBuf>,
    /// Files and folders that a file tool reads or writes only after a person agreed, with every link resolved.
    pub secret: Vec<PathBuf>,
    /// What holds the processes that calls start.
    pub containment: Containment,
    /// Patterns that reject input.
    pub guards: Vec<Guard>,
    /// The tools the agent may use; `None` is all of them.
    pub allow: Option<Vec<Pattern>>,
    /// The tools it may not use.
    pub deny: Vec<Pattern>,
    /// How long a question to a person stays open.
    pub approval_timeout: std::time::Duration,
}

impl Policy {
    /// The default floor for an agent working in this folder: level `standard`, no guards, every tool.
    pub fn standard(workspace: impl Into<PathBuf>) -> Self {
        Self {
            level: Level::Standard,
            level_written: None,
            workspace: workspace.into(),
            protected: Vec::new(),
            secret: Vec::new(),
            containment: Containment::default(),
            guards: Vec::new(),
            allow: None,
            deny: Vec::new(),
            approval_timeout: std::time::Duration::from_secs(30 * 60),
        }
    }

    pub(crate) fn restricted(&self) -> Restricted<'_> {
        Restricted { protected: &self.protected, secret: &self.secret }
    }

    /// Whether the agent may use this tool at all.
    pub fn offers(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.matches(tool)))
            && !self.deny.iter().any(|glob| glob.matches(tool))
    }
}

/// When a run ends by itself.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most model rounds.
    pub max_turns: u32,
    /// The most it may cost, looked at before each model request. With a model that does not say what an answer cost
    /// the limit cannot be held: the run then ends with an error before its second request.
    pub max_cost_usd: Option<f64>,
    /// The longest it may take.
    pub max_seconds: Option<u64>,
    /// How many calls in a row may be denied.
    pub max_denials: u32,
    /// How many calls in a row may be a model's slips: an unknown tool, arguments that do not fit or are no JSON.
    pub max_slips: u32,
    /// The most tool calls.
    pub max_calls: u32,
    /// How many calls in a row may be the same: tool and arguments.
    pub max_identical_calls: u32,
    /// How deep sub-agents may go.
    pub max_depth: u32,
    /// The most tokens of a request, where that is less than the model takes or the model's window is not known.
    pub context_tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 50,
            max_cost_usd: None,
            max_seconds: None,
            max_denials: 3,
            max_slips: 5,
            max_calls: 500,
            max_identical_calls: 10,
            max_depth: 3,
            context_tokens: None,
        }
    }
}
