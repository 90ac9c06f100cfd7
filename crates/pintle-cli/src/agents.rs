//! Whether somebody acts for an agent: whatever a process starts in which an agent lives carries a mark that it cannot
//! take off.
//!
//! The mark is a limit on file locks, one below none at all. Linux has not enforced that limit since 2.4 and still keeps it
//! for each process and all it starts; only a privileged process can raise it again. An environment variable would be
//! gone with `env -i`.

use crate::problem::Problem;

#[cfg(target_os = "linux")]
const MARK: Option<u64> = Some(u64::MAX - 1);

/// From now on an agent lives in this process.
pub(crate) fn mark_as_agent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let current = getrlimit(Resource::Locks).current.or(MARK);
        // Where that is refused a mark is there already, or a lower limit that the system set.
        let _ = setrlimit(Resource::Locks, Rlimit { current, maximum: MARK });
    }
}

/// An agent's process must not do what only a person may do, not even through a script.
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
