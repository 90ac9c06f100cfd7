//! Starting an unconfined process: in a session of its own, and tagged.

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod pause_fifo;
#[cfg(target_os = "linux")]
mod spawn_paused;
mod spawn_plain;
#[cfg(target_os = "linux")]
mod spawn_thread;

use std::{
    borrow::Cow, collections::BTreeMap, ffi::OsStr, io, os::fd::OwnedFd, path::Path,
    process::ChildStdin, sync::Arc, time::Instant,
};

use super::{
    Command,
    orphan_search::Search,
    process_tag::{self, ProcessTag},
    watchdog,
};

#[cfg(target_os = "linux")]
pub(crate) use child::Child;
#[cfg(not(target_os = "linux"))]
pub(crate) use spawn_plain::Child;

/// What the names of all FIFOs begin with that a process is paused with.
pub(super) const FIFO_PREFIX: &str = "pintle-pause-";

/// A process that is about to start.
struct Spawn<'a> {
    command: &'a Command,
    folder: Cow<'a, Path>,
    env: BTreeMap<&'a OsStr, &'a OsStr>,
    tag: ProcessTag,
    /// What keeps the watchdog waiting, if there is one.
    lifeline: Option<Arc<ChildStdin>>,
}

/// Starts a process with these three streams, as the leader of a group that cannot reach the host's terminal.
///
/// Where the system allows it, the process is paused until it carries its tag, so that nothing it forks is without one.
/// Elsewhere it is tagged a moment later.
pub(super) fn start(
    command: &Command,
    streams: [OwnedFd; 3],
) -> io::Result<(Child, Option<Search>)> {
    let tag = ProcessTag::new();
    let value = tag.to_string();
    let variables = command.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let tagged = (OsStr::new(process_tag::VARIABLE), OsStr::new(&value));
    let spawn = Spawn {
        command,
        folder: command.folder.for_child(),
        env: variables.chain([tagged]).collect(),
        tag,
        lifeline: watchdog::stand_by(),
    };
    let search = Some(Search { tag, since: Instant::now() });
    #[cfg(target_os = "linux")]
    if let Some(child) = spawn_paused::start(&spawn, &streams)? {
        return Ok((child, search));
    }
    Ok((spawn_plain::start(&spawn, streams)?, search))
}
