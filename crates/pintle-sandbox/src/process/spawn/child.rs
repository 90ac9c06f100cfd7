//! A child process, waited for by a descriptor: neither its PID nor a signal handler of the host takes part.

use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, thread, time::Duration};

use rustix::{
    fd::AsFd,
    process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid},
};
use tokio::{net::unix::pipe::Receiver, time};

/// How often a process is looked at whose end a tracer hides.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// A child of this process.
///
/// Waiting does not reap it: until [`reap`](Self::reap) its PID, which is the id of its group, is not given to
/// another process, so a signal never reaches a stranger. Dropping it reaps it, in the background if it still runs.
pub(crate) struct Child {
    pid: Pid,
    /// A pidfd. To tokio it is a pipe that becomes readable when the process has ended.
    process: Receiver,
    /// Whether it has ended, even if it is not known yet how.
    is_dead: bool,
    status: Option<ExitStatus>,
    is_reaped: bool,
}

impl Child {
    /// Takes hold of a child of this process that has not been reaped yet.
    pub(crate) fn of(pid: Pid) -> io::Result<Self> {
        let process = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        let process = Receiver::from_owned_fd_unchecked(process)?;
        Ok(Self { pid, process, is_dead: false, status: None, is_reaped: false })
    }

    /// Its PID, until its end is known.
    pub(crate) fn id(&self) -> Option<u32> {
        let pid = self.pid.as_raw_nonzero().get().unsigned_abs();
        self.status.is_none().then_some(pid)
    }

    /// How it ended. Cancel-safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            if self.is_dead {
                // A tracer has not taken note of its end yet. Until then the kernel does not report it to the parent, while
                // the descriptor stays readable.
                time::sleep(POLL_INTERVAL).await;
            } else {
                self.process.readable().await?;
                self.is_dead = true;
            }
        }
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.look(WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?;
        }
        Ok(self.status)
    }

    /// Frees its PID, if it has ended.
    pub(crate) fn reap(&mut self) {
        if !self.is_reaped && matches!(self.look(WaitIdOptions::NOHANG), Ok(true) | Err(_)) {
            self.is_reaped = true;
        }
    }

    /// Whether it has ended.
    fn look(&mut self, options: WaitIdOptions) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | options;
        let ended = waitid(WaitId::PidFd(self.process.as_fd()), look)?;
        self.status = ended.as_ref().map(how).or(self.status);
        Ok(ended.is_some())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
        if self.is_reaped {
            return;
        }
        if let Ok(process) = self.process.as_fd().try_clone_to_owned() {
            let wait = move || waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
            let _ = thread::Builder::new().name("pintle-reaper".into()).spawn(wait);
        }
    }
}

fn how(ended: &WaitIdStatus) -> ExitStatus {
    let code = ended.exit_status().map(|code| (code & 0xff) << 8);
    ExitStatus::from_raw(code.or(ended.terminating_signal()).unwrap_or_default())
}
