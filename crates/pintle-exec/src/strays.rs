//! Finding processes of a hook that have left its process group.
//!
//! A daemonised grandchild (`setsid`) is in no group of ours and has no parent of ours, but it carries the
//! environment it was born with, and in it the hook's marker. On Linux the marker is looked for in `/proc`. What
//! wipes its environment *and* leaves the group gets away; so does everything that leaves the group on systems
//! without `/proc`.

use std::time::Instant;

use rustix::process::Pid;

/// The variable that marks every process of a hook.
pub(crate) const MARKER: &str = "PINTLE_HOOK_ID";

/// A search for the processes that carry a marker.
///
/// `leader` was the first of them, started at `since`: all others have later process numbers, so a hook that
/// forked nothing, or little, costs next to nothing to check.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    pub(crate) marker: String,
    pub(crate) leader: Pid,
    pub(crate) since: Instant,
}

#[cfg(not(target_os = "linux"))]
impl Search {
    pub(crate) fn is_quick(&self) -> bool {
        true
    }

    pub(crate) fn kill(&self) {}
}

#[cfg(target_os = "linux")]
mod proc {
    use std::{fs, time::Duration};

    use rustix::process::{
        Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, pidfd_send_signal,
    };

    use super::{MARKER, Search};

    /// Up to this many process numbers are tried one by one instead of listing every process of the machine.
    const FEW: u32 = 512;

    /// A bound on chasing a hook that forks faster than it is killed.
    const ROUNDS: usize = 64;

    impl Search {
        /// Whether only a few process numbers have to be looked at.
        pub(crate) fn is_quick(&self) -> bool {
            self.few().is_some()
        }

        /// Kills every process that carries the marker.
        pub(crate) fn kill(&self) {
            let needle = format!("{MARKER}={}", self.marker);
            for _ in 0..ROUNDS {
                let numbers = self.few().unwrap_or_else(all_process_numbers);
                let found = numbers
                    .into_iter()
                    .filter_map(|number| Pid::from_raw(number.try_into().ok()?))
                    .filter(|pid| carries(*pid, &needle))
                    .inspect(|pid| kill(*pid, &needle))
                    .count();
                if found == 0 {
                    return;
                }
                std::thread::yield_now();
            }
        }

        /// The process numbers given out since the leader's, if they are few.
        fn few(&self) -> Option<Vec<u32>> {
            let leader = self.leader.as_raw_nonzero().get().unsigned_abs();
            let last = last_process_number()?;
            // In a short time the numbers cannot have gone all the way round.
            let short = self.since.elapsed() < Duration::from_secs(1);
            let few = last.checked_sub(leader).is_some_and(|count| count <= FEW);
            (short && few).then(|| (leader + 1..=last).collect())
        }
    }

    /// The number given to the youngest process of this machine (or container).
    fn last_process_number() -> Option<u32> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        text.split_ascii_whitespace().last()?.parse().ok()
    }

    fn all_process_numbers() -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }

    /// Whether the process was born with the marker. One that is gone, or somebody else's, was not.
    fn carries(pid: Pid, needle: &str) -> bool {
        fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).is_ok_and(|environ| {
            environ.split(|byte| *byte == 0).any(|var| var == needle.as_bytes())
        })
    }

    fn kill(pid: Pid, needle: &str) {
        // A descriptor first, then a second look: the number cannot come to mean another process in between.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if !carries(pid, needle) {
            return;
        }
        // Of a group it leads, everybody at once: a group cannot outrun its own signal by forking.
        if getpgid(Some(pid)) == Ok(pid) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}
