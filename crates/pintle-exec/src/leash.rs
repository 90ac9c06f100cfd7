//! Ending a process with everything it started.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    runtime::Handle,
    time,
};

use crate::{
    mark::Mark,
    start::{Child, Streams},
    strays::Search,
};

/// How long a process group has between TERM and KILL.
pub const TERM_GRACE: Duration = Duration::from_millis(300);

/// How often an ending group is looked at.
const LOOK: Duration = Duration::from_millis(15);

/// How long the kernel has to hand over a killed process.
const REAP: Duration = Duration::from_secs(5);

/// A started process and its group. Dropping it ends them all: TERM now, KILL after [`TERM_GRACE`], in the
/// background; and at once when there is no runtime, or none any more, to wait in.
pub(crate) struct Leash {
    held: Option<Held>,
}

struct Held {
    child: Child,
    /// Open until the end: a process that is asked to end must not die of its last words instead.
    stdout: Receiver,
    stderr: Receiver,
    group: Pid,
    strays: Search,
}

/// A process and its two ends of what it writes.
pub(crate) struct Talk<'a> {
    pub(crate) child: &'a mut Child,
    pub(crate) stdout: &'a mut Receiver,
    pub(crate) stderr: &'a mut Receiver,
}

impl Leash {
    /// Takes hold of a process that leads a group of its own and carries its mark. `None` when it has no number.
    pub(crate) fn new(
        child: Child,
        Streams { stdin, stdout, stderr }: Streams,
        mark: Mark,
        since: Instant,
    ) -> Option<(Self, Sender)> {
        let group = Pid::from_raw(child.id()?.try_into().ok()?)?;
        let strays = Search { mark, leader: group, since };
        let held = Held { child, stdout, stderr, group, strays };
        Some((Self { held: Some(held) }, stdin))
    }

    /// The process and its streams. `None` only after it was let go.
    pub(crate) fn talk(&mut self) -> Option<Talk<'_>> {
        let Held { child, stdout, stderr, .. } = self.held.as_mut()?;
        Some(Talk { child, stdout, stderr })
    }

    /// The process has exited by itself: nothing it left behind may live on.
    pub(crate) async fn exited(mut self) {
        Ending(self.held.take()).kill_rest().await;
    }

    /// As dropping, and waits until it is done.
    pub(crate) async fn end(mut self) {
        if let Some(held) = self.held.take() {
            held.ask_to_end();
            Ending(Some(held)).run().await;
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        held.ask_to_end();
        let ending = Ending(Some(held));
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(ending.run());
        }
    }
}

/// A group that was asked to end. Dropping it stops asking: a runtime that goes away takes no grace along.
struct Ending(Option<Held>);

impl Ending {
    async fn run(mut self) {
        let deadline = time::Instant::now() + TERM_GRACE;
        while let Some(held) = &mut self.0
            && held.lives()
            && time::Instant::now() < deadline
        {
            time::sleep(LOOK).await;
        }
        if let Some(mut held) = self.kill_rest().await {
            let _ = time::timeout(REAP, held.child.wait()).await;
        }
    }

    /// Kills what is left; gives back what then is nobody's any more.
    async fn kill_rest(mut self) -> Option<Held> {
        let held = self.0.as_ref()?;
        held.kill_group();
        if held.strays.is_quick() {
            held.strays.kill();
        } else {
            // A long search is no work for the threads that everybody else waits for.
            let strays = held.strays.clone();
            let _ = tokio::task::spawn_blocking(move || strays.kill()).await;
        }
        self.0.take()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            held.kill_group();
            held.strays.kill();
        }
    }
}

impl Held {
    fn ask_to_end(&self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        // A stopped process cannot hear the TERM.
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    fn lives(&mut self) -> bool {
        // Reaps the process if it has exited: a zombie would count as a living group.
        let _ = self.child.try_wait();
        test_kill_process_group(self.group).is_ok()
    }

    fn kill_group(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}
