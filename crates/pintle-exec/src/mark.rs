//! What every process of a hook carries, so that it can be found again.
//!
//! The same number twice: as a variable in its environment, which whoever forks or runs a program passes on, and as a
//! limit on file locks, which is passed on too. The environment can be wiped (`env -i`); a limit nobody thinks of, least
//! of all one that Linux has not enforced since 2.4 and still keeps for each process.

use std::sync::{
    LazyLock,
    atomic::{AtomicU64, Ordering},
};

use rustix::process::Pid;

/// The variable that marks every process of a hook.
pub(crate) const VARIABLE: &str = "PINTLE_HOOK_ID";

/// How many hooks a host can tell apart.
const HOOKS: u64 = 1_000_000_000;

/// The number of a hook: ten digits are its host's, nine its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(u64);

impl Mark {
    /// Unlike any other hook's.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(*HOST * HOOKS + COUNT.fetch_add(1, Ordering::Relaxed) % HOOKS)
    }

    /// What the variable is set to, and the limit.
    pub(crate) fn text(self) -> String {
        self.0.to_string()
    }

    /// Sets the limit of a process that was just started. Where that fails there still is the variable.
    #[cfg(target_os = "linux")]
    pub(crate) fn put_on(self, process: Pid) {
        set_limit(process, Some(self.0));
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn put_on(self, _: Pid) {}
}

/// What the marks of all hooks of this host begin with.
pub(crate) fn host() -> String {
    HOST.to_string()
}

/// Takes a mark away that a process has inherited, if the host is itself part of a hook.
pub(crate) fn take_off(process: Pid) {
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
        let born = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        u64::try_from(born % u128::from(u64::MAX)).unwrap_or_default()
    });
    HOOKS + random % (9 * HOOKS)
});
