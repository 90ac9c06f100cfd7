//! Starting a process as the standard library does.
//!
//! Whoever shares the host's controlling terminal can take it away from the host, which is then stopped, and read
//! what the user types next. So where the host has one, the process gets a session of its own, which has none: that
//! takes a fork, whose cost grows with the host's memory. A host without a terminal (a server, a service, CI) has
//! nothing to take away: there a process group is enough.

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

use super::{Child, Order};

/// Starts it, and marks it a moment later.
pub(super) fn start(order: &Order<'_>, streams: [OwnedFd; 3]) -> io::Result<Child> {
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(order.program);
    command
        .args(&order.args)
        .env_clear()
        .envs(&order.env)
        .current_dir(order.folder)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    if has_terminal() {
        let unused = CommandWrap::with_new("", |_| {});
        ProcessSession.pre_spawn(&mut command, &unused)?;
    } else {
        command.process_group(0);
    }
    let (child, pid) = spawn(command)?;
    order.mark.put_on(pid);
    Ok(child)
}

#[cfg(target_os = "linux")]
fn spawn(mut command: Command) -> io::Result<(Child, Pid)> {
    use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    let pid = Pid::from_child(&command.spawn()?);
    let child = Child::of(pid).inspect_err(|_| {
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    });
    Ok((child?, pid))
}

#[cfg(not(target_os = "linux"))]
fn spawn(command: Command) -> io::Result<(Child, Pid)> {
    let child = tokio::process::Command::from(command).spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    Ok((child, pid.ok_or_else(|| io::Error::other("it has no number"))?))
}

/// Whatever else keeps the host from opening its terminal does not keep a hook from it.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    !matches!(open("/dev/tty", flags, Mode::empty()), Err(Errno::NXIO))
}
