//! `pintle skills`.

use clap::{Args, Subcommand};

/// Look at runs that are worth learning from
#[derive(Args)]
#[command(after_help = "Examples:
  pintle skills
  pintle skills pending --json

See also: pintle runs, pintle trace")]
pub(crate) struct Skills {
    /// Without one: pending
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the runs to look at, oldest first
    #[command(after_help = "Examples:
  pintle skills pending
  pintle skills pending --json

See also: pintle skills show")]
    Pending,
    /// Show one of them
    #[command(after_help = "Examples:
  pintle skills show r7
  pintle skills show r7 --json

See also: pintle trace")]
    Show {
        /// The run's id
        run: String,
    },
    /// Take one out of the queue
    #[command(after_help = "Examples:
  pintle skills drop r7
  pintle skills drop r7 --json

See also: pintle skills pending")]
    Drop {
        /// The run's id
        run: String,
    },
}
