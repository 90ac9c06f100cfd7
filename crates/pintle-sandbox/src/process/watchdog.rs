//! What ends the processes of a host that is killed.
//!
//! A host that gets `SIGKILL` can end nothing. So beside its first process a shell is started that only waits on a pipe. The
//! kernel closes the pipe when the host is gone, however it ended; then the shell kills every process that carries a tag of
//! the host. It finds them as the [orphan search](super::orphan_search) does, with the same limits.

use std::{
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::Pid;

use super::{process_tag, spawn::FIFO_PREFIX};

/// Looks for the variable, the limit, and for processes that are still paused: those hold a FIFO and have no stdin, unlike
/// the host's forks. Several rounds, because a process may fork while it is looked for. The shell does not find itself: it
/// carries no tag.
const SCRIPT: &str = r#"
read -r _
for _ in 1 2 3 4 5 6 7 8; do
    found=$(grep -lsz -- "^$1=$2" /proc/[0-9]*/environ
        grep -ls -- "^Max file locks  *$2" /proc/[0-9]*/limits
        for fifo in $(find /proc/[0-9]*/fd -lname "*$3$2*"); do
            [ -e "${fifo%/*}/0" ] || echo "$fifo"
        done)
    [ -n "$found" ] || exit 0
    for file in $found; do
        pid=${file#/proc/}
        kill -KILL "${pid%%/*}"
    done
done
"#;

/// A watchdog, and the pipe it waits on.
struct Watchdog {
    process: Child,
    lifeline: Arc<ChildStdin>,
}

/// Makes sure that a watchdog runs, and gives the pipe it waits on: it acts when every copy of that is closed. Without a
/// watchdog a process still starts: only a host that is killed would leave it behind.
pub(super) fn stand_by() -> Option<Arc<ChildStdin>> {
    static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_running = |watchdog: &mut Watchdog| matches!(watchdog.process.try_wait(), Ok(None));
    if !watchdog.as_mut().is_some_and(is_running) {
        *watchdog = start();
    }
    watchdog.as_ref().map(|watchdog| watchdog.lifeline.clone())
}

fn start() -> Option<Watchdog> {
    let host = process_tag::host();
    let mut process = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "pintle-watchdog", process_tag::VARIABLE, &host, FIFO_PREFIX])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A Ctrl-C is for the host: the watchdog must not end first.
        .process_group(0)
        .spawn()
        .ok()?;
    // A host may itself be tagged by another one. When that ends it, its watchdog must stay to end the rest.
    if let Some(pid) = process.id().try_into().ok().and_then(Pid::from_raw) {
        process_tag::take_off(pid);
    }
    let lifeline = Arc::new(process.stdin.take()?);
    Some(Watchdog { process, lifeline })
}
