//! Finding processes of a hook that have left its process group.
//!
//! A daemonised grandchild (`setsid`) is in no group of ours and has no parent of ours, but it carries the hook's
//! [mark](crate::mark): in the environment it was born with, and as a limit. On Linux both are looked for in `/proc`.
//!
//! What gets away: a process that leaves the group, wipes its environment *and* sets that limit anew; one that runs as
//! another user; whatever leaves the group on systems without `/proc`; and in a container that forbids to
//! [hold a process back](crate::start), what the hook forks before the limit is set, in its first moment.

use std::time::Instant;

use rustix::process::Pid;

use crate::mark::Mark;

/// A search for the processes that carry a mark.
///
/// `leader` was the first of them, started at `since`: all others have later process numbers, so a hook that
/// forked nothing, or little, costs next to nothing to check.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    pub(crate) mark: Mark,
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

    use super::Search;
    use crate::mark;

    /// Up to this many process numbers are tried one by one instead of listing every process of the machine.
    const FEW: u32 = 512;

    /// A bound on chasing a hook that forks faster than it is killed.
    const ROUNDS: usize = 64;

    impl Search {
        /// Whether only a few process numbers have to be looked at.
        pub(crate) fn is_quick(&self) -> bool {
            self.few().is_some()
        }

        /// Kills every process that carries the mark.
        pub(crate) fn kill(&self) {
            let mark = Looks {
                variable: format!("{}={}", mark::VARIABLE, self.mark.text()),
                limit: self.mark.text(),
            };
            for _ in 0..ROUNDS {
                let numbers = self.few().unwrap_or_else(all_process_numbers);
                let found = numbers
                    .into_iter()
                    .filter_map(|number| Pid::from_raw(number.try_into().ok()?))
                    .filter(|pid| mark.is_on(*pid))
                    .inspect(|pid| kill(*pid, &mark))
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

    /// A mark as it looks from outside.
    struct Looks {
        variable: String,
        limit: String,
    }

    impl Looks {
        /// Whether this process carries it. One that is gone, or somebody else's, does not.
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
            // What only waits for its parent to notice its end has no environment any more, but still its limits.
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

    fn kill(pid: Pid, mark: &Looks) {
        // A descriptor first, then a second look: the number cannot come to mean another process in between.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if !mark.is_on(pid) {
            return;
        }
        // Of a group it leads, everybody at once: a group cannot outrun its own signal by forking.
        if getpgid(Some(pid)) == Ok(pid) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}
