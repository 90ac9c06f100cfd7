//! Starting a process that does nothing before it carries its mark.
//!
//! `posix_spawn` costs the same however much memory the host has, and it makes a session; but it says which process
//! it made only when that one runs its program. So the last thing the new process does before is to open a
//! [`Gate`]. Whoever wants it started finds it among the children of its [`Parent`], marks it, gets all it needs to wait for it,
//! and only then opens the gate. If anything of that fails, the process is killed where it stands: nothing of the hook has run.

use std::{
    io,
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::{
    Child, Order,
    gate::Gate,
    parent::{Birth, Parent},
};

/// Starts it. `None` where the system does not allow this (a container may not): then nothing was started.
pub(super) fn start(order: &Order<'_>, streams: &[OwnedFd; 3]) -> io::Result<Option<Child>> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if REFUSED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let (Some(gate), Some(lifeline)) = (Gate::make()?, &order.lifeline) else { return Ok(None) };
    let birth = Birth::of(order, streams, &gate, lifeline)?;
    let Some(parent) = Parent::find()? else {
        REFUSED.store(true, Ordering::Relaxed);
        return Ok(None);
    };
    let child = bear(&parent, birth, order, &gate);
    parent.rest();
    child.map(Some)
}

fn bear(parent: &Parent, birth: Birth, order: &Order<'_>, gate: &Gate) -> io::Result<Child> {
    let mut labour = parent.begin(birth);
    let Some(pid) = labour.child() else {
        labour.end()?;
        return Err(io::Error::other("it was gone before it began"));
    };
    order.mark.put_on(pid);
    match Child::of(pid).and_then(|child| Ok((child, gate.open()?))) {
        Ok((child, _open)) => labour.end().map(|()| child),
        Err(error) => {
            let _ = kill_process(pid, Signal::KILL);
            let ended = labour.end();
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            // What kept the process from coming as far as the gate says more than that it is not there.
            ended.and(Err(error))
        }
    }
}
