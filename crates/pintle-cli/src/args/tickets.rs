//! `pintle tickets`.

use clap::{Args, Subcommand};

use super::Who;

/// List, create and move the tickets of agents
#[derive(Args)]
#[command(after_help = "Examples:
  pintle tickets
  pintle tickets create 'Mend the parser' --check 'cargo test parser'
  pintle tickets show 1

A ticket is todo, running, needs_revision or done. Agents work on them with
their ticket tools; a completion is checked before the ticket is done.

See also: pintle chat, pintle hooks schema before_ticket_complete")]
pub(crate) struct Tickets {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<TicketsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum TicketsCommand {
    /// List tickets, newest first
    #[command(after_help = "Examples:
  pintle tickets list
  pintle tickets list --state needs_revision --json

See also: pintle tickets show")]
    List {
        /// Only those in this state: todo, running, needs_revision or done
        #[arg(long, value_name = "STATE", value_parser = ["todo", "running", "needs_revision", "done"], hide_possible_values = true)]
        state: Option<String>,
    },
    /// Show one ticket
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser'
  pintle tickets show 1

See also: pintle tickets list")]
    Show {
        /// Its number
        id: u64,
    },
    /// Put a ticket on the board
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser' --criteria 'all tests pass'
  pintle tickets create 'Mend the parser' --check 'cargo test parser'

A completion runs the check in the workspace, in a sandbox of zone `build`; it
has to exit with 0 within 10 minutes. Without a check, the model compares the
criteria with what the agent says it did. An error rejects the completion.

See also: pintle tickets show")]
    Create {
        /// What to do
        title: String,
        /// How to check that it is done
        #[arg(long, value_name = "TEXT")]
        criteria: Option<String>,
        /// A command that exits with 0 when it is done
        #[arg(long, value_name = "COMMAND")]
        check: Option<String>,
    },
    /// Take a ticket, to work on it yourself
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser'
  pintle tickets take 1

See also: pintle tickets complete")]
    Take {
        /// Its number
        id: u64,
    },
    /// Give a running ticket back to the board
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser'
  pintle tickets take 1
  pintle tickets release 1

See also: pintle tickets take")]
    Release {
        /// Its number
        id: u64,
    },
    /// Say that a running ticket is done; its criteria are checked
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser'
  pintle tickets take 1
  pintle tickets complete 1 --summary 'mended, with a test'

See also: pintle tickets release")]
    Complete {
        /// Its number
        id: u64,
        /// What was done
        #[arg(long, value_name = "TEXT")]
        summary: String,
        #[command(flatten)]
        who: Who,
    },
    /// Delete a ticket
    #[command(after_help = "Examples:
  pintle tickets create 'Mend the parser'
  pintle tickets delete 1

See also: pintle tickets list")]
    Delete {
        /// Its number
        id: u64,
    },
}
