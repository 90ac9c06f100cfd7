//! The first stage: leaves the host's namespaces and stays outside the new pid namespace to wait for it.

use std::{
    fs, io,
    net::TcpListener,
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, Stdio},
};

use nix::{
    sched::{CloneFlags, unshare},
    sys::signal::{SigSet, Signal},
    unistd::{getegid, geteuid},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, getpid, pidfd_open},
    thread::CapabilitySet,
};

use super::{INNER, NOT_RUN, Refusal, Step, THIS_PROGRAM, inner, loopback, privileges, refuse};
use crate::{
    control::{Message, Order},
    plan::Plan,
    policy::Network,
    proxy,
};

pub(super) fn run() -> i32 {
    // Before anything is opened: whatever the host left open is not for the command.
    if let Err(error) = privileges::close_inherited() {
        return refuse(&format!("inherited descriptors: {error}"), None);
    }
    let order = match Order::peek(io::stdin()) {
        Ok(order) => order,
        Err(error) => return refuse(&format!("the order: {error}"), None),
    };
    if !order.layers.namespaces {
        return inner::become_command();
    }
    match enter(&order) {
        Ok(inner) => wait(inner),
        Err(why) => {
            let streams = Order::take(io::stdin()).ok().map(|(_, streams)| streams);
            refuse(&why, streams.as_ref().map(|[_, _, stderr]| stderr))
        }
    }
}

fn enter(order: &Order) -> Result<Child, Refusal> {
    leave(&order.plan)?;
    if matches!(order.plan.network, Network::Loopback | Network::Proxy(_)) {
        loopback::up().step("loopback")?;
    }
    if let Network::Proxy(_) = order.plan.network {
        let listener = TcpListener::bind(("127.0.0.1", proxy::PORT)).step("the proxy's port")?;
        Message::send_listener(io::stdin(), &listener).step("the proxy's listener")?;
    }
    // Process 1 mounts; only a root user keeps the right to over exec without this. The work folder of a copy on write is
    // closed to everyone: its mount needs the right to pass by that.
    if !geteuid().is_root() {
        use CapabilitySet as Right;
        keep_over_exec(&[Right::SYS_ADMIN, Right::SETPCAP, Right::DAC_OVERRIDE])
            .step("capabilities")?;
    }
    // Without one, nothing would end the namespace when the host is gone.
    pidfd_open(getpid(), PidfdFlags::empty()).step("pidfd")?;
    block_signals().step("signals")?;
    Command::new(THIS_PROGRAM)
        .arg0(INNER)
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .step("the second stage")
}

/// Leaves the namespaces of the host. This process has one thread.
fn leave(plan: &Plan) -> Result<(), Refusal> {
    let (uid, gid) = (geteuid(), getegid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if plan.network != Network::Direct {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).step("unshare")?;
    fs::write("/proc/self/setgroups", "deny").step("setgroups")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("uid_map")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("gid_map")
}

fn keep_over_exec(kept: &[CapabilitySet]) -> io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    for capability in kept {
        sets.inheritable |= *capability;
    }
    rustix::thread::set_capabilities(None, sets)?;
    for capability in kept {
        rustix::thread::configure_capability_in_ambient_set(*capability, true)?;
    }
    Ok(())
}

/// A signal to the process group is for the command; the launcher leaves when the command does.
fn block_signals() -> nix::Result<()> {
    let signals = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
    signals.into_iter().collect::<SigSet>().thread_block()
}

/// Waits for the namespace to end, and ends it when the host is gone.
fn wait(mut inner: Child) -> i32 {
    let process = Pid::from_child(&inner);
    let watched = pidfd_open(process, PidfdFlags::empty());
    let stdin = io::stdin();
    if let Ok(process) = watched {
        loop {
            // The order is still in the socket until the second stage takes it: only its end is of interest.
            let mut fds = [
                PollFd::new(&process, PollFlags::IN),
                PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
            ];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => break,
                Ok(_) => {}
            }
            let [ended, control] = &fds;
            let host_is_gone = control.revents().intersects(PollFlags::HUP | PollFlags::ERR);
            if ended.revents().is_empty() && host_is_gone {
                let _ = inner.kill();
            }
            if !ended.revents().is_empty() || host_is_gone {
                break;
            }
        }
    }
    match inner.wait() {
        Ok(status) => {
            status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(NOT_RUN)
        }
        Err(_) => NOT_RUN,
    }
}
