//! Starting a process that cannot reach the host's terminal.
//!
//! Whoever shares the host's controlling terminal can take it away from the host, which is then stopped, and read
//! what the user types next. So where the host has one, a hook's process gets a session of its own, which has none.
//!
//! The standard library has no stable way to ask `posix_spawn` for a session, and a call between fork and exec
//! means a fork, whose cost grows with the host's memory. So the program `setsid` makes the session and then becomes
//! the hook. Where there is none, or the hook is a file that perhaps cannot be run, there is a fork: it gives the
//! system's own reason. A host without a terminal (a server, a service, CI) has nothing to take away: there a process
//! group is enough.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::{
    fs::{Access, Mode, OFlags, access, open},
    io::Errno,
    process::{Pid, getpgid},
};
use tokio::process::{Child, Command};

/// Becomes the program it is given, in a session of its own, under the same process number.
const SETSID: &str = "/usr/bin/setsid";

/// How much of a file the kernel looks at to see how to run it.
const HEAD: usize = 256;

/// How many scripts in a row may each be the other's interpreter, at least.
const SCRIPTS: u8 = 4;

/// How long a started process may take to lead its group: a moment, unless somebody stops it.
const SETTLE: Duration = Duration::from_secs(5);

/// How often a process that does not lead its group yet is looked at.
const LOOK: Duration = Duration::from_micros(50);

/// Runs the program as the leader of a group of its own, out of reach of the host's terminal. Once it is started,
/// [`settle`] says when that is so.
pub(crate) fn set_apart(program: &Path) -> io::Result<Command> {
    let mut command = Command::new(program);
    if !has_terminal() {
        command.process_group(0);
    } else if surely_runs(program, SCRIPTS)? && can_run(Path::new(SETSID)) {
        // Not in a group of its own: whoever leads one cannot have a session too, and `setsid` would fork.
        command = Command::new(SETSID);
        command.arg("--").arg(program);
    } else {
        let unused = CommandWrap::with_new("", |_| {});
        ProcessSession.pre_spawn(command.as_std_mut(), &unused)?;
    }
    Ok(command)
}

/// Waits until the process leads its group, so that whoever ends the group from now on ends the process.
pub(crate) fn settle(child: &mut Child) -> Result<(), String> {
    let number = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let since = Instant::now();
    while number.is_none() || getpgid(number).ok() != number {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ended before it began: {status}"));
        }
        if since.elapsed() > SETTLE {
            let _ = child.start_kill();
            return Err("it did not get a process group of its own".into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Whatever else keeps the host from opening its terminal does not keep a hook from it.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    !matches!(open("/dev/tty", flags, Mode::empty()), Err(Errno::NXIO))
}

/// Whether running this file can hardly fail: if it did, `setsid` would exit like a hook that fails.
///
/// A file that is neither a binary nor a script is an error. Nothing is run that leaves it to the system to refuse it:
/// `setsid` and a fork both look for programs as a shell does, and would take it for a shell script.
fn surely_runs(program: &Path, scripts: u8) -> io::Result<bool> {
    let Some(head) = head(program) else { return Ok(false) };
    if head.starts_with(b"\x7fELF") {
        return Ok(true);
    }
    let interpreter = interpreter(&head).ok_or(Errno::NOEXEC)?;
    match scripts.checked_sub(1) {
        Some(scripts) => surely_runs(&interpreter, scripts),
        None => Ok(false),
    }
}

fn can_run(path: &Path) -> bool {
    // Nothing else is opened: it could keep whoever opens it waiting.
    path.is_absolute() && path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// How a file begins that may be run, filled up as the kernel does.
fn head(path: &Path) -> Option<Vec<u8>> {
    if !can_run(path) {
        return None;
    }
    let mut head = Vec::with_capacity(HEAD);
    File::open(path).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
    head.resize(HEAD, 0);
    Some(head)
}

/// What a script's first line names, if it ends within what the kernel reads.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?;
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let line = line.get(start..)?;
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0))?;
    let name = line.get(..end).filter(|name| !name.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_first_word_of_the_first_line() {
        for (head, path) in [
            ("#!/bin/sh\n", Some("/bin/sh")),
            ("#! \t/usr/bin/env python3\nx", Some("/usr/bin/env")),
            ("#!/bin/sh\r\n", Some("/bin/sh\r")),
            ("#! \n/bin/sh\n", None),
            ("#!/no/newline\0", Some("/no/newline")),
            ("#!/cut/off", None),
            ("/bin/sh\n", None),
        ] {
            assert_eq!(interpreter(head.as_bytes()), path.map(PathBuf::from), "{head:?}");
        }
    }
}
