//! The hooks of a profile: which action at which moment.

use super::document::Node;
use super::file::{ActionFile, LogLevel};
use super::report::Problem;
use super::sandbox::HookSandbox;
use super::written_at;
use pintle_policy::normal;
use std::time::Duration;

/// A moment a profile can bind actions to (R10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bucket {
    /// The top of every run.
    OnStart,
    /// A user's message is about to enter.
    OnPrompt,
    /// Before each tool runs.
    OnToolCall,
    /// After each tool that ran.
    OnToolEnd,
    /// Before each model request.
    OnModelCall,
    /// After each response.
    OnModelEnd,
    /// Every exit of a run.
    OnComplete,
    /// An unrecoverable failure.
    OnError,
}

impl Bucket {
    /// Every moment, in the order of a run.
    pub const ALL: [Self; 8] = [
        Self::OnStart,
        Self::OnPrompt,
        Self::OnToolCall,
        Self::OnToolEnd,
        Self::OnModelCall,
        Self::OnModelEnd,
        Self::OnComplete,
        Self::OnError,
    ];

    /// Its name in agent.json.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The hook point it stands for.
    #[must_use]
    pub fn point(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::OnStart => ("onStart", "session.start"),
            Self::OnPrompt => ("onPrompt", "user.prompt.submit"),
            Self::OnToolCall => ("onToolCall", "tool.pre"),
            Self::OnToolEnd => ("onToolEnd", "tool.post"),
            Self::OnModelCall => ("onModelCall", "model.pre"),
            Self::OnModelEnd => ("onModelEnd", "model.post"),
            Self::OnComplete => ("onComplete", "session.end"),
            Self::OnError => ("onError", "error"),
        }
    }

    /// Whether there is a tool at this moment.
    #[must_use]
    pub fn has_tool(self) -> bool {
        matches!(self, Self::OnToolCall | Self::OnToolEnd)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bucket| bucket.name() == name)
    }
}

/// What a command hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A line for `/bin/sh -c`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// What a hook does (R10.2). None of them can rewrite what a tool is about to do (R10.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Writes one line to the log.
    Log {
        /// How loud.
        level: LogLevel,
    },
    /// Posts the event; nothing waits for it.
    Webhook {
        /// Where to.
        url: String,
        /// The environment variable that holds the key to sign with.
        secret_env: Option<String>,
    },
    /// Appends the event to a file.
    SaveJson {
        /// The file, relative to the profile's folder.
        path: String,
    },
    /// Asks a person before the tool runs.
    Approve,
    /// Runs a program.
    Command {
        /// What.
        run: Run,
        /// How long it may take; the default is the executor's.
        timeout: Option<Duration>,
        /// Whether one process serves many events.
        worker: bool,
        /// What its process is held to.
        sandbox: HookSandbox,
    },
}

impl Action {
    /// Its name in agent.json.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Log { .. } => "log",
            Self::Webhook { .. } => "webhook",
            Self::SaveJson { .. } => "save_json",
            Self::Approve => "approve",
            Self::Command { .. } => "command",
        }
    }
}

/// One action bound to one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The moment.
    pub bucket: Bucket,
    /// Its name; if it has none, what it does and where it is written.
    pub name: String,
    /// Globs of the tools it is for; none means every tool.
    pub tools: Vec<String>,
    /// What it does.
    pub action: Action,
    /// Where it is written, like `agent.json:14`.
    pub source: String,
}

/// The hooks of a file that has been checked.
///
/// # Errors
/// When one cannot be read after all.
pub(crate) fn build(document: &Node, source: &str) -> Result<Vec<Hook>, Problem> {
    let mut built: Vec<Hook> = Vec::new();
    for bucket in Bucket::ALL {
        let hooks = document.get("hooks").and_then(|hooks| hooks.get(bucket.name()));
        for node in hooks.map(Node::items).unwrap_or_default() {
            let action: ActionFile = serde_json::from_value(node.to_json())
                .map_err(|error| Problem::new(node.span.clone(), error.to_string()))?;
            let taken = |name: &str| built.iter().any(|h| h.bucket == bucket && h.name == name);
            let hook = one(bucket, action, written_at(source, node), taken);
            built.push(hook);
        }
    }
    Ok(built)
}

/// What a hook without a name is called: what it does and where it is written, and among several on one line which.
pub(super) fn default_name(action: &str, source: &str, taken: impl Fn(&str) -> bool) -> String {
    let first = format!("{action} at {source}");
    if !taken(&first) {
        return first;
    }
    let mut numbered = (2..).map(|number| format!("{first} ({number})"));
    numbered.find(|name| !taken(name)).unwrap_or(first)
}

fn one(bucket: Bucket, action: ActionFile, source: String, taken: impl Fn(&str) -> bool) -> Hook {
    let (action, name, tools) = match action {
        ActionFile::Log { level, name, tools } => (Action::Log { level }, name, tools),
        ActionFile::Webhook { url, secret_env, name, tools } => {
            (Action::Webhook { url, secret_env }, name, tools)
        }
        ActionFile::SaveJson { path, name, tools } => {
            (Action::SaveJson { path: normal(&path) }, name, tools)
        }
        ActionFile::Approve { name, tools } => (Action::Approve, name, tools),
        ActionFile::Command { command, argv, timeout_ms, worker, sandbox, name, tools } => {
            let run = match (command, argv) {
                (Some(line), _) => Run::Shell(line),
                (None, argv) => Run::Argv(argv.unwrap_or_default()),
            };
            let timeout = timeout_ms.map(Duration::from_millis);
            (Action::Command { run, timeout, worker, sandbox }, name, tools)
        }
    };
    let name = name.unwrap_or_else(|| default_name(action.name(), &source, taken));
    Hook { bucket, name, tools: tools.unwrap_or_default(), action, source }
}
