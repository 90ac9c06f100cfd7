//! Ending a process group, and what has left it.

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::{self, Instant};

use super::{orphan_search::Search, spawn::Child};
use crate::{ProtectedChange, sweep::Sweep};

/// How long a process group has between TERM and KILL.
pub const TERM_GRACE: Duration = Duration::from_millis(300);

/// How often an ending group is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// How long the kernel has to report the end of a killed process.
const REAP_LIMIT: Duration = Duration::from_secs(5);
/// How long a killed process may finish what it writes before protected paths are compared.
const KILL_LIMIT: Duration = Duration::from_millis(100);

/// A process that leads a group of its own.
pub(super) struct ProcessGroup {
    pub(super) child: Child,
    id: Pid,
    /// How to find what has left the group. `None` where a PID namespace ends all of it.
    search: Option<Search>,
    /// Keeps the pipes open: a process that is asked to end must not die of SIGPIPE instead.
    _output: Vec<OwnedFd>,
}

impl ProcessGroup {
    pub(super) fn new(
        child: Child,
        search: Option<Search>,
        output: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let id = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let id = id.ok_or_else(|| io::Error::other("the process has no PID"))?;
        Ok(Self { child, id, search, _output: output })
    }

    pub(super) fn terminate(&self) {
        let _ = kill_process_group(self.id, Signal::TERM);
        let _ = kill_process_group(self.id, Signal::CONT);
    }

    fn is_alive(&mut self) -> bool {
        // A zombie would make its group look alive.
        self.child.reap();
        test_kill_process_group(self.id).is_ok()
    }

    fn kill(&self) {
        let _ = kill_process_group(self.id, Signal::KILL);
    }

    fn kill_orphans(&self) {
        if let Some(search) = self.search {
            search.kill(self.id);
        }
    }
}

/// A group that was asked to end, and what is compared then. Dropping it kills the group at once: a runtime that shuts down
/// leaves no time for a grace.
pub(super) struct Ending {
    pub(super) group: Option<ProcessGroup>,
    pub(super) sweep: Option<Sweep>,
}

impl Ending {
    /// Waits until the group is gone, at most [`TERM_GRACE`], then kills what is left.
    pub(super) async fn run(mut self) -> Vec<ProtectedChange> {
        let deadline = Instant::now() + TERM_GRACE;
        while let Some(group) = &mut self.group
            && group.is_alive()
            && Instant::now() < deadline
        {
            time::sleep(POLL_INTERVAL).await;
        }
        self.kill_rest().await;
        if let Some(group) = &mut self.group {
            let _ = time::timeout(REAP_LIMIT, group.child.wait()).await;
        }
        self.compared()
    }

    /// Kills at once what a process that has exited left behind.
    pub(super) async fn exited(mut self) -> Vec<ProtectedChange> {
        self.kill_rest().await;
        let deadline = Instant::now() + KILL_LIMIT;
        while let Some(group) = &mut self.group
            && self.sweep.is_some()
            && group.is_alive()
            && Instant::now() < deadline
        {
            time::sleep(Duration::from_millis(1)).await;
        }
        self.compared()
    }

    async fn kill_rest(&mut self) {
        let Some(group) = &self.group else { return };
        group.kill();
        match group.search {
            // A long search must not block a thread of the runtime.
            Some(search) if !search.is_quick(group.id) => {
                let leader = group.id;
                let _ = tokio::task::spawn_blocking(move || search.kill(leader)).await;
            }
            _ => group.kill_orphans(),
        }
    }

    /// Nothing is left that could change a protected path.
    fn compared(mut self) -> Vec<ProtectedChange> {
        self.group = None;
        self.sweep.take().map(Sweep::after).unwrap_or_default()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.kill();
            group.kill_orphans();
            let killed = std::time::Instant::now();
            while self.sweep.is_some() && group.is_alive() && killed.elapsed() < KILL_LIMIT {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let _ = self.sweep.take().map(Sweep::after);
    }
}
