//! `pintle approvals`.

use clap::{Args, Subcommand};

use super::Who;

/// Answer open questions; list standing rules
#[derive(Args)]
#[command(after_help = "Examples:
  pintle approvals
  pintle approvals approve 3f9c   # an id of that list
  pintle approvals deny 3f9c --reason 'not on a Friday'

You answer as the system's user that you are, and as `operator`. If pintle.toml
names `approvers`, one of these two has to be among them.

See also: pintle chat --wait-for-approval, pintle explain")]
pub(crate) struct Approvals {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the questions that wait for an answer
    #[command(after_help = "Examples:
  pintle approvals list
  pintle approvals list --all --json

See also: pintle approvals show")]
    List {
        /// Answered and expired ones too
        #[arg(long)]
        all: bool,
    },
    /// Show one question, with its full arguments
    #[command(after_help = "Examples:
  pintle approvals show 3f9c
  pintle approvals show 3f9c --json

See also: pintle approvals approve, pintle approvals deny")]
    Show {
        /// The question's id
        id: String,
    },
    /// Approve; a run whose process has ended continues now
    #[command(after_help = "Examples:
  pintle approvals approve 3f9c
  pintle approvals approve 3f9c --json

A run that goes on uses its own folder and its own profile. Its call is judged
again, by today's profile, guards and level; if they refuse it, the exit code is
3. It is 1 when the answer came too late.

See also: pintle approvals deny, pintle approvals rules")]
    Approve {
        /// The question's id
        id: String,
        /// Also approve the rule that the question offers, until the program ends
        #[arg(long)]
        session: bool,
        /// Also approve the rule that the question offers, in pintle.toml
        #[arg(long, conflicts_with = "session")]
        always: bool,
        #[command(flatten)]
        who: Who,
    },
    /// Deny, with a reason for the model
    #[command(after_help = "Examples:
  pintle approvals deny 3f9c
  pintle approvals deny 3f9c --reason 'not on a Friday'

See also: pintle approvals approve")]
    Deny {
        /// The question's id
        id: String,
        /// A message for the model
        #[arg(long, allow_hyphen_values = true)]
        reason: Option<String>,
        #[command(flatten)]
        who: Who,
    },
    /// List the rules by which calls run without a question
    #[command(after_help = "Examples:
  pintle approvals rules
  pintle approvals rules --json

`pintle approvals rules --revoke 2` removes the second one.

See also: pintle approvals approve --always")]
    Rules {
        /// Remove the rule of this number
        #[arg(long, value_name = "N")]
        revoke: Option<usize>,
    },
}
