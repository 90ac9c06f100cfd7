//! Detects processes that an agent started. Every process that a running agent starts carries a mark that it cannot remove.
//!
//! The mark is a limit on file locks, one below "unlimited". Linux has not enforced that limit since 2.4 and still keeps it
//! for each process and all it starts; only a privileged process can raise it again. An environment variable would be
//! gone with `env -i`.

use crate::problem::Problem;

#[cfg(target_os = "linux")]
const MARK: Option<u64> = Some(u64::MAX - 1);

/// Marks this process: from now on an agent runs in it.
pub(crate) fn mark_as_agent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let current = getrlimit(Resource::Locks).current.or(MARK);
        // The system refuses this when the process has the mark already, or a lower limit.
        let _ = setrlimit(Resource::Locks, Rlimit { current, maximum: MARK });
    }
}

/// Fails in a process that an agent started: only a person may take this action.
pub(crate) fn refuse_agents(action: &str) -> Result<(), Problem> {
    #[cfg(target_os = "linux")]
    // A process can lower the limit but never remove it: any limit at all is the mark.
    if rustix::process::getrlimit(rustix::process::Resource::Locks).maximum.is_some() {
        return Err(Problem::new(format!(
            "only a person may {action}, and an agent runs this command"
        ))
        .fix("run it in a terminal of your own"));
    }
    Ok(())
}
