//! Starting a process that runs nothing before it carries its tag.
//!
//! `posix_spawn` costs the same however much memory the host has, and it makes a session; but it returns the PID only when
//! the new process runs its program. So the last thing the new process does before that is to open a [`PauseFifo`].
//! Meanwhile the host finds it among the children of its [`SpawnThread`], tags it, gets all it needs to wait for it, and only
//! then releases it. If anything of that fails, the process is killed while it is paused: nothing of the program has run.

use std::{
    io,
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::{
    Child, Spawn,
    pause_fifo::PauseFifo,
    spawn_thread::{SpawnRequest, SpawnThread},
};
use crate::process::process_tag::ProcessTag;

/// `None` where the system does not allow this (a container may not): then nothing was started.
pub(super) fn start(spawn: &Spawn<'_>, streams: &[OwnedFd; 3]) -> io::Result<Option<Child>> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let (Some(fifo), Some(lifeline)) = (PauseFifo::make()?, &spawn.lifeline) else {
        return Ok(None);
    };
    let request = SpawnRequest::new(spawn, streams, &fifo, lifeline)?;
    let Some(thread) = SpawnThread::take()? else {
        REFUSED.store(true, Ordering::Relaxed);
        return Ok(None);
    };
    let child = spawn_held(&thread, request, spawn.tag, &fifo);
    thread.give_back();
    child.map(Some)
}

fn spawn_held(
    thread: &SpawnThread,
    request: SpawnRequest,
    tag: ProcessTag,
    fifo: &PauseFifo,
) -> io::Result<Child> {
    let mut pending = thread.begin(request);
    let Some(pid) = pending.child() else {
        pending.finish()?;
        return Err(io::Error::other("the process ended before its program started"));
    };
    tag.put_on(pid);
    match Child::of(pid).and_then(|child| Ok((child, fifo.release()?))) {
        Ok((child, _released)) => pending.finish().map(|()| child),
        Err(error) => {
            let _ = kill_process(pid, Signal::KILL);
            let finished = pending.finish();
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            // An error that came before the pause says more than that the process is gone.
            finished.and(Err(error))
        }
    }
}
