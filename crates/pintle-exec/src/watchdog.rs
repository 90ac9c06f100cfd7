//! What ends the processes of hooks when the host itself is killed.
//!
//! A host that gets `SIGKILL` can end nobody. So a shell is started beside its first hook that does nothing but
//! wait on a pipe. The kernel closes the pipe when the host is gone, however it went; then the shell kills every
//! process that carries the host's mark. It finds them as [`strays`](crate::strays) does, and with the same limits.

use std::{
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::Pid;

use crate::{mark, start::GATE};

/// Looks for the variable, the limit, and for whoever still stands at a gate: it has no stdin, unlike the host's forks.
/// Several rounds, because a process may fork while it is looked for. The number of the shell itself is not among
/// those it finds: it carries no mark.
const SCRIPT: &str = r#"
read -r _
for _ in 1 2 3 4 5 6 7 8; do
    found=$(grep -lsz -- "^$1=$2" /proc/[0-9]*/environ
        grep -ls -- "^Max file locks  *$2" /proc/[0-9]*/limits
        for gate in $(find /proc/[0-9]*/fd -lname "*$3$2*"); do
            [ -e "${gate%/*}/0" ] || echo "$gate"
        done)
    [ -n "$found" ] || exit 0
    for file in $found; do
        number=${file#/proc/}
        kill -KILL "${number%%/*}"
    done
done
"#;

/// A watchdog, and the pipe it waits on.
struct Watchdog {
    process: Child,
    lifeline: Arc<ChildStdin>,
}

/// Makes sure that a watchdog is there, and tells the pipe it waits on: when every copy of that is closed, it acts. Without
/// one a hook still runs: only a host that is killed would miss it.
pub(crate) fn stand_by() -> Option<Arc<ChildStdin>> {
    static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = |dog: &mut Watchdog| matches!(dog.process.try_wait(), Ok(None));
    if !watchdog.as_mut().is_some_and(is_there) {
        *watchdog = start();
    }
    watchdog.as_ref().map(|dog| dog.lifeline.clone())
}

fn start() -> Option<Watchdog> {
    let mut process = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "pintle-watchdog", mark::VARIABLE, &mark::host(), GATE])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A Ctrl-C is for the host: whoever stands by for its end must not go first.
        .process_group(0)
        .spawn()
        .ok()?;
    // A host may be part of a hook itself. When that hook is ended, the watchdog has to stay for the host's own.
    if let Some(number) = process.id().try_into().ok().and_then(Pid::from_raw) {
        mark::take_off(number);
    }
    let lifeline = Arc::new(process.stdin.take()?);
    Some(Watchdog { process, lifeline })
}
