//! The last stage: restricts this process, then starts the command.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    process::{Command, Stdio},
};

use nix::{
    sys::{
        prctl,
        signal::{SigSet, Signal},
        wait::{WaitStatus, waitpid},
    },
    unistd::Pid,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
};

use super::{NOT_RUN, Refusal, Step, landlock, mounts, privileges, refuse, refuse_on, seccomp};
use crate::control::{Message, Order};

/// Process 1 of the namespace.
pub(super) fn run() -> i32 {
    let (order, streams) = match Order::take(io::stdin()) {
        Ok(taken) => taken,
        Err(error) => return refuse(&format!("the order: {error}"), None),
    };
    let [_, _, stderr] = &streams;
    let stderr = stderr.try_clone().ok();
    let started = set_up(&order)
        .and_then(|()| own_devices(streams))
        .and_then(|streams| start(&order, streams));
    match started {
        Ok(Some(command)) => reap(command),
        Ok(None) => ready(),
        Err(why) => refuse(&why, stderr.as_ref()),
    }
}

/// The host's `/dev/null` as an open file leads to the host's device, whose mode a root user could change. In its place
/// comes the one of the view, which is read-only.
fn own_devices(streams: [OwnedFd; 3]) -> Result<[OwnedFd; 3], Refusal> {
    let is_device = |stream: &OwnedFd| {
        let found = rustix::fs::fstat(stream)?;
        Ok::<_, io::Error>(FileType::from_raw_mode(found.st_mode).is_char_device())
    };
    let mut own = Vec::new();
    for stream in streams {
        own.push(match is_device(&stream).step("the streams")? {
            true => {
                File::options().read(true).write(true).open("/dev/null").step("/dev/null")?.into()
            }
            false => stream,
        });
    }
    own.try_into().map_err(|_| "the streams are not three".into())
}

/// Without namespaces this process becomes the command.
pub(super) fn become_command() -> i32 {
    let (order, streams) = match Order::take(io::stdin()) {
        Ok(taken) => taken,
        Err(error) => return refuse(&format!("the order: {error}"), None),
    };
    let [_, _, stderr] = &streams;
    let stderr = stderr.try_clone().ok();
    let restricted = rustix::process::chdir(&order.plan.cwd)
        .step(format_args!("the working folder {}", order.plan.cwd.display()))
        .and_then(|()| restrict(&order))
        .and_then(|()| check_folder(&order))
        .and_then(|()| SigSet::empty().thread_set_mask().step("signals"));
    if let Err(why) = restricted {
        return refuse(&why, stderr.as_ref());
    }
    let control = io::stdin().as_fd().try_clone_to_owned();
    match (command(&order, streams), control) {
        (Some((mut command, program)), Ok(control)) => {
            let error = command.exec();
            // Standard input is the command's by now.
            let why = format!("{}: {error}", program.to_string_lossy());
            refuse_on(control, &why, stderr.as_ref())
        }
        (Some(_), Err(error)) => refuse(&format!("the control socket: {error}"), stderr.as_ref()),
        (None, _) => ready(),
    }
}

/// In a view, a folder that is not granted does not exist; here it does, and cannot be read.
fn check_folder(order: &Order) -> Result<(), Refusal> {
    match &order.program {
        Some(_) => fs::read_dir(".")
            .map(drop)
            .step(format_args!("the working folder {}", order.plan.cwd.display())),
        None => Ok(()),
    }
}

/// The trial has come to its end.
fn ready() -> i32 {
    match Message::Ready.send(io::stdin()) {
        Ok(()) => 0,
        Err(_) => NOT_RUN,
    }
}

fn set_up(order: &Order) -> Result<(), Refusal> {
    prctl::set_pdeathsig(Signal::SIGKILL).step("pdeathsig")?;
    if host_is_gone() {
        return Err("the host is gone".into());
    }
    mounts::enter(&order.plan)?;
    // Newer kernels count per namespace; where they do not, the limit of processes per user holds.
    let _ = mounts::limit_processes(order.plan.limits.processes);
    mounts::close_proc().step("/proc")?;
    restrict(order)?;
    // The command has the same user: without this it could trace process 1 and speak to the host in its place.
    prctl::set_dumpable(false).step("dumpable")
}

/// The death signal was set too late if the host went before it.
fn host_is_gone() -> bool {
    let stdin = io::stdin();
    let mut control = [PollFd::new(&stdin, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let looked = poll(&mut control, Some(&at_once));
    looked.is_err()
        || control.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

fn restrict(order: &Order) -> Result<(), Refusal> {
    privileges::limit(&order.plan.limits).step("limits")?;
    privileges::drop_capabilities()?;
    prctl::set_no_new_privs().step("no_new_privs")?;
    if order.layers.landlock {
        landlock::restrict(&order.plan, order.layers.namespaces).step("Landlock")?;
    }
    seccomp::restrict(&order.plan, order.layers).step("seccomp")
}

fn command(order: &Order, streams: [OwnedFd; 3]) -> Option<(Command, &OsStr)> {
    let program = order.program.as_ref()?.as_os_str();
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(program);
    let variables = order.env.iter().filter_map(|variable| {
        let bytes = variable.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (bytes.get(..at)?, bytes.get(at + 1..)?);
        Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
    });
    command
        .args(&order.args)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    Some((command, program))
}

fn start(order: &Order, streams: [OwnedFd; 3]) -> Result<Option<Pid>, Refusal> {
    let Some((mut command, program)) = command(order, streams) else { return Ok(None) };
    // The command inherits what is blocked. Process 1 of a namespace needs nothing blocked: it ignores what has no handler.
    SigSet::empty().thread_set_mask().step("signals")?;
    let child = command.spawn().step(program.to_string_lossy())?;
    Ok(Some(Pid::from_raw(child.id().cast_signed())))
}

/// Reaps every orphan until the command ends. When process 1 exits, the kernel kills all that is left.
fn reap(command: Pid) -> i32 {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == command => return code,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => {
                let _ = Message::Signal(signal as i32).send(io::stdin());
                return 128 + signal as i32;
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return NOT_RUN,
        }
    }
}
