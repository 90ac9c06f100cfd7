//! The supervisor: starts a process, waits for it, and ends it with everything it started (R8.8).

mod command;
mod confined;
mod confinement;
mod orphan_search;
mod process_group;
mod process_tag;
mod spawn;
mod streams;
mod watchdog;

use std::{
    io::{self, ErrorKind},
    process::ExitStatus,
};

use tokio::runtime::Handle;

use crate::{HostUse, ProtectedChange, sweep::Sweep};

pub use command::{Command, DEFAULT_PATH, Folder, Output, Stdin, find_program, is_executable};
use confined::Confined;
pub use confinement::{Confinement, Unconfined};
pub use process_group::TERM_GRACE;
use process_group::{Ending, ProcessGroup};
pub use streams::Streams;

/// What the sandbox saw of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Why nothing was run: the sandbox could not be set up.
    pub not_run: Option<String>,
    /// The hosts that it asked for, in order.
    pub hosts: Vec<HostUse>,
    /// The protected paths that are not as they were, once all of the process has ended (R17.2).
    pub changed: Vec<ProtectedChange>,
}

/// A running process with everything it started.
///
/// Dropping it ends them all: TERM now, KILL after [`TERM_GRACE`], in the background; without a runtime to wait in, KILL
/// at once. A process that has left the group (a daemon) is searched for and killed. When the host itself is killed, a
/// watchdog does the same.
///
/// However a confined process ends, the paths that its policy protects are then compared, and put right where the kernel did not
/// hold them ([`Sweep`](crate::Sweep)).
pub struct Process {
    /// `None` once another owner ends it.
    group: Option<ProcessGroup>,
    confined: Option<Confined>,
    /// What protected paths were before it.
    sweep: Option<Sweep>,
}

impl Process {
    /// Starts a process that cannot reach the host's terminal. Needs a tokio runtime.
    ///
    /// # Errors
    /// When it cannot be started. Then nothing of the program has run.
    pub fn start(command: &Command, confinement: &Confinement) -> io::Result<(Self, Streams)> {
        for path in [&*command.program, command.folder.path()] {
            if !path.is_absolute() {
                let message = format!("`{}` is not an absolute path", path.display());
                return Err(io::Error::new(ErrorKind::InvalidInput, message));
            }
        }
        let (streams, theirs) = Streams::open(command)?;
        let output = streams.output_handles()?;
        let mut sweep = None;
        let (child, search, confined) = match confinement {
            Confinement::Held(held) => {
                let before = || sweep = Some(Sweep::before(held));
                let (child, search, confined) = confined::start(held, command, theirs, before)?;
                (child, search, Some(confined))
            }
            Confinement::Unconfined(_) => {
                let (child, search) = spawn::start(command, theirs)?;
                (child, search, None)
            }
        };
        let group = ProcessGroup::new(child, search, output)?;
        Ok((Self { group: Some(group), confined, sweep }, streams))
    }

    /// For a process that goes on while a person works: a protected file that the person may have replaced is reported and not put
    /// back. Without namespaces it is put back.
    pub fn goes_on(&mut self, confinement: &Confinement) {
        if let (Some(sweep), Confinement::Held(held)) = (&mut self.sweep, confinement) {
            sweep.leave_files(held);
        }
    }

    /// For a process that serves many calls: its caller compares the protected paths after each of them, with a
    /// [`Sweep`](crate::Sweep) of its own. At the end of the process they may have been changed by a person.
    pub fn serves_calls(&mut self) {
        self.sweep = None;
    }

    /// Its PID, until its end is known.
    pub fn id(&self) -> Option<u32> {
        self.group.as_ref()?.child.id()
    }

    /// Waits for the process to exit. What it started lives on. Cancel-safe.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let Some(group) = &mut self.group else {
            return Err(io::Error::other("the process was ended"));
        };
        let status = group.child.wait().await?;
        Ok(self.confined.as_ref().map_or(status, |confined| confined.status(status)))
    }

    /// What the sandbox saw of a process until now. What changed is known at its end.
    pub fn report(&self) -> Report {
        let confined = self.confined.as_ref();
        Report {
            not_run: confined.and_then(Confined::refusal),
            hosts: confined.map(|confined| confined.hosts().entries()).unwrap_or_default(),
            changed: Vec::new(),
        }
    }

    /// The hosts that it asked for since they were last taken.
    #[must_use]
    pub fn take_hosts(&self) -> Vec<HostUse> {
        self.confined.as_ref().map(|confined| confined.hosts().take()).unwrap_or_default()
    }

    /// Whether the process has exited.
    pub fn has_exited(&mut self) -> bool {
        let child = self.group.as_mut().map(|group| group.child.try_wait());
        !matches!(child, Some(Ok(None)))
    }

    /// Asks all of it to end: TERM, and CONT because a stopped process cannot act on TERM.
    pub fn terminate(&self) {
        if let Some(group) = &self.group {
            group.terminate();
        }
    }

    /// The process has exited: kills at once what it left behind, and waits for that.
    pub async fn exited(mut self) -> Report {
        let changed = self.ending().exited().await;
        Report { changed, ..self.report() }
    }

    /// As dropping it, and waits until all of it is gone.
    pub async fn end(mut self) -> Report {
        self.terminate();
        let changed = self.ending().run().await;
        Report { changed, ..self.report() }
    }

    fn ending(&mut self) -> Ending {
        Ending { group: self.group.take(), sweep: self.sweep.take() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.group.is_none() {
            return;
        }
        self.terminate();
        let ending = self.ending();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(ending.run());
        }
    }
}
