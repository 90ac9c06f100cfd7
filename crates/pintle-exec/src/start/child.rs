//! A child process, waited for by a descriptor: neither its number nor a signal handler of the host's has a part in it.

use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, thread, time::Duration};

use rustix::{
    fd::AsFd,
    process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid},
};
use tokio::{net::unix::pipe::Receiver, time};

/// How often one is looked at whose end is hidden by whoever traces it.
const LOOK: Duration = Duration::from_millis(15);

/// Dropping it waits for its end in the background, so that it leaves no entry in the system's table of processes.
pub(crate) struct Child {
    pid: Pid,
    /// The descriptor is one of the process. To tokio it is a pipe that nobody reads from: it becomes readable when the
    /// process has ended.
    process: Receiver,
    /// Whether it is known to have ended, though perhaps not yet how.
    is_dead: bool,
    status: Option<ExitStatus>,
}

impl Child {
    /// Takes hold of a child of this process that nobody has waited for yet.
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        let process = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        let process = Receiver::from_owned_fd_unchecked(process)?;
        Ok(Self { pid, process, is_dead: false, status: None })
    }

    /// Its number, until its end is known.
    pub(crate) fn id(&self) -> Option<u32> {
        let number = self.pid.as_raw_nonzero().get().unsigned_abs();
        self.status.is_none().then_some(number)
    }

    /// How it ended. May be given up and taken up again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            if self.is_dead {
                // Somebody traces it and has not taken note of its end: nobody else hears of it before, and the
                // descriptor stays readable all the while.
                time::sleep(LOOK).await;
            } else {
                self.process.readable().await?;
                self.is_dead = true;
            }
        }
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let ended = waitid(WaitId::PidFd(self.process.as_fd()), look)?;
            self.status = ended.map(|ended| how(&ended));
        }
        Ok(self.status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !matches!(self.try_wait(), Ok(None)) {
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
