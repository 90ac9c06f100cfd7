//! Finding processes that have left their process group.
//!
//! A daemon (`setsid`) is in no group of ours and has no parent of ours, but it carries a [tag](super::process_tag) in the
//! environment it started with and in its limits. On Linux both are looked for in `/proc`. What escapes is listed in the
//! crate's documentation.

use std::time::Instant;

use super::process_tag::ProcessTag;

/// A search for the processes that carry a tag, the first of which was started at `since`.
///
/// All others have later PIDs than this leader, so for a process that forked little the search costs next to nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    pub(super) tag: ProcessTag,
    pub(super) since: Instant,
}

#[cfg(not(target_os = "linux"))]
impl Search {
    pub(super) fn is_quick(self, _: rustix::process::Pid) -> bool {
        true
    }

    pub(super) fn kill(self, _: rustix::process::Pid) {}
}

#[cfg(target_os = "linux")]
mod proc {
    use std::{fs, time::Duration};

    use rustix::process::{
        Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, pidfd_send_signal,
    };

    use super::Search;
    use crate::process::process_tag;

    /// Up to this many PIDs are tried one by one instead of listing every process of the machine.
    const FEW: u32 = 512;

    /// A bound on chasing a process that forks faster than it is killed.
    const ROUNDS: usize = 64;

    impl Search {
        /// Whether only a few PIDs have to be looked at.
        pub(in crate::process) fn is_quick(self, leader: Pid) -> bool {
            self.few(leader).is_some()
        }

        /// Kills every process that carries the tag.
        pub(in crate::process) fn kill(self, leader: Pid) {
            let limit = self.tag.to_string();
            let variable = format!("{}={limit}", process_tag::VARIABLE);
            let needle = Needle { variable, limit };
            for _ in 0..ROUNDS {
                let pids = self.few(leader).unwrap_or_else(all_pids);
                let found = pids
                    .into_iter()
                    .filter_map(|pid| Pid::from_raw(pid.try_into().ok()?))
                    .filter(|pid| needle.is_on(*pid))
                    .inspect(|pid| kill(*pid, &needle))
                    .count();
                if found == 0 {
                    return;
                }
                std::thread::yield_now();
            }
        }

        /// The PIDs given out since the leader's, if they are few.
        fn few(self, leader: Pid) -> Option<Vec<u32>> {
            let leader = leader.as_raw_nonzero().get().unsigned_abs();
            let last = last_pid()?;
            // In a short time the PIDs cannot have wrapped around.
            let short = self.since.elapsed() < Duration::from_secs(1);
            let few = last.checked_sub(leader).is_some_and(|count| count <= FEW);
            (short && few).then(|| (leader + 1..=last).collect())
        }
    }

    /// The PID of the youngest process of this machine (or container).
    fn last_pid() -> Option<u32> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        text.split_ascii_whitespace().last()?.parse().ok()
    }

    fn all_pids() -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }

    /// A tag as it looks in `/proc`.
    struct Needle {
        variable: String,
        limit: String,
    }

    impl Needle {
        /// Whether this process carries it. A dead process and another user's process do not.
        fn is_on(&self, pid: Pid) -> bool {
            let read = |file| fs::read(format!("/proc/{}/{file}", pid.as_raw_nonzero()));
            let has_variable = read("environ").is_ok_and(|environ| {
                environ.split(|byte| *byte == 0).any(|var| var == self.variable.as_bytes())
            });
            let has_limit = || {
                read("limits").is_ok_and(|limits| {
                    let mut lines = limits.split(|byte| *byte == b'\n');
                    let limit = lines.find_map(|line| line.strip_prefix(b"Max file locks"));
                    limit.is_some_and(|rest| rest.trim_ascii().starts_with(self.limit.as_bytes()))
                })
            };
            // A zombie has no environment any more, but still its limits.
            let is_dead = || {
                read("stat").is_ok_and(|stat| {
                    let name_ends = stat.iter().rposition(|byte| *byte == b')');
                    let state = name_ends.and_then(|end| stat.get(end + 2));
                    matches!(state, Some(b'Z' | b'X'))
                })
            };
            has_variable || has_limit() && !is_dead()
        }
    }

    fn kill(pid: Pid, needle: &Needle) {
        // A descriptor first, then a second look: the PID cannot be reused in between.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if !needle.is_on(pid) {
            return;
        }
        // A whole group at once: it cannot outrun its own signal by forking.
        if getpgid(Some(pid)) == Ok(pid) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}
