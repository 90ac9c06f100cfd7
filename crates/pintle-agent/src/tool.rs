//! What the loop needs of a tool.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::BoxFuture;
use pintle_policy::ToolSpec;
use pintle_sandbox::Grant;
use tokio_util::sync::CancellationToken;

use crate::{PermittedCall, event::SandboxUse, memory::Notebook, tickets::TicketBoard};

/// Something the model can ask for.
///
/// `run` takes a [`PermittedCall`], which only the judge can make: a tool cannot be run around the gates. A tool that
/// opens files takes their paths from [`PermittedCall::reach`], not from the arguments.
pub trait Tool: Send + Sync + 'static {
    /// What it says of itself. It is asked once, when the agent is built.
    fn spec(&self) -> ToolSpec;

    /// Runs it. Dropping the future stops it and everything it started.
    fn run(&self, call: PermittedCall, cx: ToolCx)
    -> BoxFuture<'static, Result<String, ToolError>>;
}

/// What a running tool knows of its surroundings.
#[derive(Clone)]
pub struct ToolCx {
    /// The folder the agent works in, as the operator named it. Where the paths of a call lead from here was looked up
    /// when it was judged: [`PermittedCall::reach`].
    pub workspace: Arc<PathBuf>,
    /// The session it runs in.
    pub session_id: Arc<str>,
    /// The run it is part of.
    pub run_id: Arc<str>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
    /// Where output goes while the tool still runs.
    pub progress: Progress,
    /// Where it is recorded how a process was held.
    pub sandbox: SandboxLog,
    /// The ticket board, under the name of the run's personality.
    pub tickets: TicketBoard,
    /// The notes of the run's personality about its workspace.
    pub notes: Notebook,
    /// Where it says that its result comes from outside.
    pub outside: OutsideMark,
}

/// Where a tool says that its result comes from outside, as what a web page says does. The result of a call in zone network
/// or above is marked without it.
#[derive(Clone, Default)]
pub struct OutsideMark(Arc<AtomicBool>);

impl OutsideMark {
    /// Marks the result: the model reads it in a fence, and injection safety looks at it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is marked.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

type RecordSandbox = Arc<dyn Fn(SandboxUse) + Send + Sync>;

/// Where a tool records how its process was held.
#[derive(Clone, Default)]
pub struct SandboxLog(Option<RecordSandbox>);

impl SandboxLog {
    /// Calls `record` for each process.
    pub fn new(record: impl Fn(SandboxUse) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(record)))
    }

    /// Records how a process was held.
    pub fn record(&self, held: SandboxUse) {
        if let Some(record) = &self.0 {
            record(held);
        }
    }
}

type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// Where a running tool reports output as it comes.
#[derive(Clone, Default)]
pub struct Progress(Option<Report>);

impl Progress {
    /// Calls `report` with each piece.
    pub fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    /// Reports a piece of output.
    pub fn say(&self, text: &str) {
        if let Some(report) = &self.0 {
            report(text);
        }
    }
}

/// Why a tool did not do it. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It ran and failed.
    #[error("{0}")]
    Failed(String),
    /// It failed, and the kernel had refused it this. A person may grant it to a second attempt.
    #[error("{text}")]
    Refused {
        /// For the model.
        text: String,
        /// What was refused.
        grants: Vec<Grant>,
    },
    /// It took too long and was stopped.
    #[error("{0}")]
    TimedOut(String),
    /// The run was cancelled while it ran.
    #[error("{0}")]
    Cancelled(String),
}
