//! Whether somebody acts for an agent: what an agent's tools start carries a mark that it cannot take off.
//!
//! The mark is a limit on file locks, one below none at all. Linux has not enforced that limit since 2.4 and still keeps it
//! for each process and all it starts; only a privileged process can raise it again. An environment variable would be
//! gone with `env -i`.

use rustix::process::Pid;

#[cfg(target_os = "linux")]
const MARK: Option<u64> = Some(u64::MAX - 1);

/// Whether this process was started by an agent's tool, or by what that started. Such a process must not answer what a person
/// is asked. Only Linux can tell.
#[must_use]
pub fn is_run_by_an_agent() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::getrlimit(rustix::process::Resource::Locks).maximum == MARK;
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Marks what a tool has just started.
pub(crate) fn mark(process: Pid) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

        let current = getrlimit(Resource::Locks).current.or(MARK);
        let _ = prlimit(Some(process), Resource::Locks, Rlimit { current, maximum: MARK });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = process;
}
