//! Starting a process that cannot reach the host's terminal.
//!
//! Whoever shares the host's controlling terminal can take it away from the host, which is then stopped, and read
//! what the user types next. So where the host has one, a hook's process gets a session of its own, which has none.
//!
//! The standard library has no stable way to ask `posix_spawn` for a session, and a call between fork and exec
//! means a fork, whose cost grows with the host's memory. A host without a terminal (a server, a service, CI) has
//! nothing to take away: there a process group is enough, and `posix_spawn` starts it.

use std::io;

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};
use tokio::process::Command;

/// Makes the process to be the leader of a group of its own, out of reach of the host's terminal.
pub(crate) fn set_apart(command: &mut Command) -> io::Result<()> {
    if has_terminal() {
        let unused = CommandWrap::with_new("", |_| {});
        return ProcessSession.pre_spawn(command.as_std_mut(), &unused);
    }
    command.process_group(0);
    Ok(())
}

/// Whatever else keeps the host from opening its terminal does not keep a hook from it.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    !matches!(open("/dev/tty", flags, Mode::empty()), Err(Errno::NXIO))
}
