//! What every process that one start leads to carries, so that it can be found again.
//!
//! The same number twice: as an environment variable, which is inherited, and as the soft limit on file locks, which is
//! inherited too. The environment is easily wiped (`env -i`). The limit is hardly ever set: Linux has not enforced it since
//! 2.4 and still keeps it for each process. The hard limit stays as it is.

use std::{
    fmt,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::process::Pid;

/// The variable that tags every process.
pub(super) const VARIABLE: &str = "PINTLE_PROCESS_TAG";

/// How many tags a host has before they repeat.
const TAGS: u64 = 1_000_000_000;

/// Ten digits are the host's, nine its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessTag(u64);

impl ProcessTag {
    /// One that no other start has.
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(*HOST * TAGS + COUNT.fetch_add(1, Ordering::Relaxed) % TAGS)
    }

    /// Sets the limit of a process that was just started. Where that fails there still is the variable.
    #[cfg(target_os = "linux")]
    pub(super) fn put_on(self, process: Pid) {
        set_limit(process, Some(self.0));
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn put_on(self, _: Pid) {}
}

impl fmt::Display for ProcessTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The digits that all tags of this host begin with.
pub(super) fn host() -> String {
    HOST.to_string()
}

/// Removes the tag that a process has inherited from a host that is itself tagged.
pub(super) fn take_off(process: Pid) {
    #[cfg(target_os = "linux")]
    set_limit(process, None);
    #[cfg(not(target_os = "linux"))]
    let _ = process;
}

#[cfg(target_os = "linux")]
fn set_limit(process: Pid, limit: Option<u64>) {
    use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

    let maximum = getrlimit(Resource::Locks).maximum;
    let limit = Rlimit { current: limit.or(maximum), maximum };
    let _ = prlimit(Some(process), Resource::Locks, limit);
}

/// This host, unlike any other on this machine: ten digits.
static HOST: LazyLock<u64> = LazyLock::new(|| {
    let random = getrandom::u64().unwrap_or_else(|_| {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        u64::try_from(now % u128::from(u64::MAX)).unwrap_or_default()
    });
    TAGS + random % (9 * TAGS)
});
