//! Starting a process: in a session of its own, marked, with pipes on all three of its streams.

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod gate;
#[cfg(target_os = "linux")]
mod held_back;
#[cfg(target_os = "linux")]
mod parent;
mod plainly;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    process::ChildStdin,
    sync::Arc,
};

use rustix::io::fcntl_dupfd_cloexec;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::mark::Mark;

#[cfg(target_os = "linux")]
pub(crate) use child::Child;
#[cfg(not(target_os = "linux"))]
pub(crate) use tokio::process::Child;

/// What the names of all gates begin with: what a process is held back with.
pub(crate) const GATE: &str = "pintle-gate-";

/// What is to be started.
pub(crate) struct Order<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<&'a OsStr>,
    /// The whole environment.
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) folder: &'a Path,
    pub(crate) mark: Mark,
    /// What keeps the watchdog waiting, if there is one.
    pub(crate) lifeline: Option<Arc<ChildStdin>>,
}

/// The host's ends of a process's streams.
pub(crate) struct Streams {
    pub(crate) stdin: Sender,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Receiver,
}

/// Starts it, as the leader of a group of its own that cannot reach the host's terminal.
///
/// Where the system allows it, the process is held back until it carries its mark, so that nothing it forks is without
/// one. Elsewhere it is marked a moment later.
pub(crate) fn start(order: &Order<'_>) -> io::Result<(Child, Streams)> {
    let (stdin_end, stdin) = io::pipe()?;
    let (stdout, stdout_end) = io::pipe()?;
    let (stderr, stderr_end) = io::pipe()?;
    let theirs = [
        above_streams(stdin_end.into())?,
        above_streams(stdout_end.into())?,
        above_streams(stderr_end.into())?,
    ];
    let ours = Streams {
        stdin: Sender::from_owned_fd(stdin.into())?,
        stdout: Receiver::from_owned_fd(stdout.into())?,
        stderr: Receiver::from_owned_fd(stderr.into())?,
    };
    #[cfg(target_os = "linux")]
    if let Some(child) = held_back::start(order, &theirs)? {
        return Ok((child, ours));
    }
    Ok((plainly::start(order, theirs)?, ours))
}

/// The same file, under a number that none of a process's own streams has: it is not overwritten by one of them.
fn above_streams(file: OwnedFd) -> io::Result<OwnedFd> {
    match file.as_raw_fd() {
        ..=2 => Ok(fcntl_dupfd_cloexec(&file, 3)?),
        _ => Ok(file),
    }
}
