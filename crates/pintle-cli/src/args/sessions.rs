//! `pintle sessions`.

use clap::{Args, Subcommand};

/// List, show, export and delete conversations
#[derive(Args)]
#[command(after_help = "Examples:
  pintle sessions
  pintle chat --session mine -q 'list .'
  pintle sessions show mine

See also: pintle chat --session, pintle runs")]
pub(crate) struct Sessions {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// List all conversations, newest first
    #[command(after_help = "Examples:
  pintle sessions list
  pintle sessions list --json

See also: pintle sessions show")]
    List,
    /// Show one conversation
    #[command(after_help = "Examples:
  pintle chat --session mine -q 'list .'
  pintle sessions show mine

See also: pintle trace")]
    Show {
        /// Its id or its key
        session: String,
    },
    /// Print one conversation as JSON
    #[command(after_help = "Examples:
  pintle chat --session mine -q 'list .'
  pintle sessions export mine > conversation.json

See also: pintle sessions show")]
    Export {
        /// Its id or its key
        session: String,
    },
    /// Delete one conversation
    #[command(after_help = "Examples:
  pintle chat --session mine -q 'list .'
  pintle sessions delete mine

See also: pintle sessions list")]
    Delete {
        /// Its id or its key
        session: String,
    },
}
