//! What ends the processes of hooks when the host itself is killed.
//!
//! A host that gets `SIGKILL` can end nobody. So a shell is started beside its first hook that does nothing but
//! wait on a pipe. The kernel closes the pipe when the host is gone, however it went; then the shell kills every
//! process that carries the host's mark. It finds them as [`strays`](crate::strays) does, and with the same limits.

use std::{
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use crate::strays::MARKER;

/// Several rounds, because a process may fork while it is looked for. The number of the shell itself is not among
/// those it finds: its environment is empty.
const SCRIPT: &str = r#"
read -r _
for _ in 1 2 3 4 5 6 7 8; do
    found=$(grep -lsz -- "^$1" /proc/[0-9]*/environ)
    [ -n "$found" ] || exit 0
    for file in $found; do
        number=${file#/proc/}
        kill -KILL "${number%/environ}"
    done
done
"#;

/// Makes sure that a watchdog is there. Without one a hook still runs: only a host that is killed would miss it.
pub(crate) fn stand_by(host: &str) {
    static WATCHDOG: Mutex<Option<Child>> = Mutex::new(None);
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = watchdog.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
    if !is_there {
        *watchdog = start(host).ok();
    }
}

fn start(host: &str) -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;

    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "pintle-watchdog", &format!("{MARKER}={host}-")])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A Ctrl-C is for the host: whoever stands by for its end must not go first.
        .process_group(0)
        .spawn()
}
