//! Starting a process as the standard library does.
//!
//! A process that shares the host's controlling terminal can take it away from the host, which is then stopped, and read
//! what the user types next. So where the host has a terminal, the process gets a session of its own, which has none: that
//! takes a fork, whose cost grows with the host's memory. A host without a terminal (a server, CI) has nothing to lose:
//! there a process group is enough.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::Command,
};

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    process::Pid,
};

#[cfg(target_os = "linux")]
use super::Child;
use super::Spawn;

/// Starts it, and tags it a moment later.
pub(super) fn start(spawn: &Spawn<'_>, streams: [OwnedFd; 3]) -> io::Result<Child> {
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(&spawn.command.program);
    command
        .args(&spawn.command.args)
        .env_clear()
        .envs(&spawn.env)
        .current_dir(&spawn.folder)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    if has_terminal() {
        let unused = CommandWrap::with_new("", |_| {});
        ProcessSession.pre_spawn(&mut command, &unused)?;
    } else {
        command.process_group(0);
    }
    let (child, pid) = run(command)?;
    spawn.tag.put_on(pid);
    Ok(child)
}

#[cfg(target_os = "linux")]
fn run(mut command: Command) -> io::Result<(Child, Pid)> {
    use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    let pid = Pid::from_child(&command.spawn()?);
    let child = Child::of(pid).inspect_err(|_| {
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    });
    Ok((child?, pid))
}

#[cfg(not(target_os = "linux"))]
fn run(command: Command) -> io::Result<(Child, Pid)> {
    let child = Child(tokio::process::Command::from(command).spawn()?);
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    Ok((child, pid.ok_or_else(|| io::Error::other("the process has no PID"))?))
}

/// A child of this process. Here waiting reaps it.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Child(tokio::process::Child);

#[cfg(not(target_os = "linux"))]
impl Child {
    pub(crate) fn id(&self) -> Option<u32> {
        self.0.id()
    }

    pub(crate) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        self.0.wait().await
    }

    pub(crate) fn try_wait(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        self.0.try_wait()
    }

    pub(crate) fn reap(&mut self) {
        let _ = self.0.try_wait();
    }
}

/// Any other error that keeps the host from opening its terminal does not keep a process from it.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    !matches!(open("/dev/tty", flags, Mode::empty()), Err(Errno::NXIO))
}
