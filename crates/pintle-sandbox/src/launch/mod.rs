//! The launcher: this very program, started again, which restricts itself and then starts the command.
//!
//! Two stages, because only a *child* enters a new pid namespace and only `exec` is safe to call in one:
//!
//! | stage | does |
//! |---|---|
//! | [`outer`] | leaves the host's namespaces, opens the loopback and the proxy's listener, starts `inner`, waits |
//! | [`inner`] | is process 1: builds the view of the file system, drops privileges, starts the command, reaps |
//!
//! Without namespaces there is one stage: `outer` restricts itself and becomes the command.
//!
//! A stage that cannot do all of it runs nothing: it says why on the command's stderr and on the control socket, and
//! exits with [`NOT_RUN`].

mod filter;
mod inner;
mod landlock;
mod loopback;
mod mounts;
mod outer;
mod privileges;
mod seccomp;

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    process::exit,
};

pub(crate) use landlock::{SOCKETS as LANDLOCK_SOCKETS, abi as landlock_abi};

use crate::control::Message;

/// The exit code of a launcher that ran nothing.
pub const NOT_RUN: i32 = 125;

/// What the stages are called as programs.
pub(crate) const OUTER: &str = "pintle-sandbox-outer";
const INNER: &str = "pintle-sandbox-inner";

/// Where a program finds itself, also after it was replaced on the disk.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// Why nothing was run, in words.
type Refusal = String;

/// Becomes the launcher if this process was started as one, and then does not return.
pub(crate) fn run_if_asked() {
    match env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some(OUTER) => exit(outer::run()),
        Some(INNER) => exit(inner::run()),
        _ => {}
    }
}

/// Says on the command's stderr and to the host that nothing was run.
fn refuse(why: &str, stderr: Option<&OwnedFd>) -> i32 {
    refuse_on(io::stdin(), why, stderr)
}

fn refuse_on(control: impl AsFd, why: &str, stderr: Option<&OwnedFd>) -> i32 {
    let _ = Message::Failed(why.to_owned()).send(control);
    if let Some(stderr) = stderr.and_then(|fd| fd.try_clone().ok()) {
        let _ = writeln!(File::from(stderr), "pintle: nothing was run: {why}");
    }
    NOT_RUN
}

/// Names the step that failed.
trait Step<T> {
    fn step(self, what: impl std::fmt::Display) -> Result<T, Refusal>;
}

impl<T, E: std::fmt::Display> Step<T> for Result<T, E> {
    fn step(self, what: impl std::fmt::Display) -> Result<T, Refusal> {
        self.map_err(|error| format!("{what}: {error}"))
    }
}
