//! A child process and everything it starts, as one thing that can be stopped.

use std::{io, process::ExitStatus, time::Duration};

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
};

/// How long a group may take to leave after being asked to.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// A process group whose leader is our child.
///
/// The leader is reaped only after the group's last signal was sent. Until then its id cannot be given to
/// another process, so a signal never reaches a stranger. Dropping the guard asks the group to leave, and
/// kills it after [`GRACE`] or when the runtime ends, whichever is first.
///
/// A process that makes a session of its own (`setsid`) leaves the group and is out of reach.
pub(crate) struct Group {
    leader: Option<Leader>,
}

struct Leader {
    child: Child,
    pid: Pid,
}

impl Group {
    /// Starts `command` as the leader of a new group, out of reach of the agent's own terminal.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Pipes)> {
        set_apart(command)?;
        let mut child = command.spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the process has no id"))?;
        let pipes = Pipes {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        Ok((Self { leader: Some(Leader { child, pid }) }, pipes))
    }

    /// Resolves when the leader has exited. It is not reaped by this.
    pub(crate) async fn exited(&self) -> io::Result<()> {
        let Some(leader) = &self.leader else { return Ok(()) };
        // Listening starts before looking, so that an exit in between is not missed.
        let mut child_signal = signal(SignalKind::child())?;
        while !leader.has_exited()? {
            if child_signal.recv().await.is_none() {
                return Err(io::Error::other("the runtime no longer reports exited processes"));
            }
        }
        Ok(())
    }

    /// Whether the leader has exited.
    pub(crate) fn has_exited(&self) -> bool {
        self.leader.as_ref().is_none_or(|leader| leader.has_exited().unwrap_or(true))
    }

    #[cfg(test)]
    pub(crate) fn pid(&self) -> i32 {
        self.leader.as_ref().unwrap().pid.as_raw_nonzero().get()
    }

    /// Asks the whole group to leave.
    pub(crate) fn terminate(&self) {
        if let Some(leader) = &self.leader {
            leader.signal(Signal::TERM);
        }
    }

    /// Kills whatever is left of the group and says how its leader ended.
    pub(crate) async fn finish(mut self) -> io::Result<ExitStatus> {
        match self.leader.take() {
            Some(mut leader) => {
                leader.signal(Signal::KILL);
                leader.child.wait().await
            }
            None => Err(io::Error::other("the process was already waited for")),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        leader.signal(Signal::TERM);
        let dying = Dying(leader);
        // Outside a runtime, or in one that is ending, `dying` is dropped at once, which kills.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(GRACE).await;
                drop(dying);
            });
        }
    }
}

/// A group that was asked to leave and is killed when this is dropped.
struct Dying(Leader);

impl Drop for Dying {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

impl Leader {
    fn signal(&self, signal: Signal) {
        // The only failure is that nobody is left, which is what the signal is for.
        let _ = kill_process_group(self.pid, signal);
    }

    fn has_exited(&self) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid), look)?.is_some())
    }
}

/// Makes the process to be a group's leader; where the agent has a terminal, in a session without one.
///
/// Whoever shares the agent's controlling terminal can take it away from the agent, which is then stopped, and read
/// what the user types next. Without a terminal there is nothing to take, and a group is cheaper: a session means a fork,
/// whose cost grows with the agent's memory.
fn set_apart(command: &mut Command) -> io::Result<()> {
    if has_terminal() {
        let unused = CommandWrap::with_new("", |_| {});
        return ProcessSession.pre_spawn(command.as_std_mut(), &unused);
    }
    command.process_group(0);
    Ok(())
}

/// Whatever else keeps the agent from opening its terminal does not keep a command from it.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    !matches!(open("/dev/tty", flags, Mode::empty()), Err(Errno::NXIO))
}

/// The ends of the leader's pipes, where the command asked for pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: Option<tokio::process::ChildStdin>,
    pub(crate) stdout: Option<tokio::process::ChildStdout>,
    pub(crate) stderr: Option<tokio::process::ChildStderr>,
}
