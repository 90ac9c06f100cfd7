//! `pintle memory`.

use clap::{Args, Subcommand};

/// List, search and delete the notes of agents
#[derive(Args)]
#[command(after_help = "Examples:
  pintle memory
  pintle memory search 'tabs or spaces'

An agent keeps notes with memory_write, for its personality and the folder it
works in, and gets those that fit into the prompt of later conversations.

See also: pintle doctor --show-prompt, pintle sessions")]
pub(crate) struct Memory {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<MemoryCommand>,
}

#[derive(Subcommand)]
pub(crate) enum MemoryCommand {
    /// List all notes, newest first
    #[command(after_help = "Examples:
  pintle memory list
  pintle memory list --json

See also: pintle memory search")]
    List,
    /// Find notes by their words, the best fit first
    #[command(after_help = "Examples:
  pintle memory search 'tabs or spaces'
  pintle memory search tabs --json

See also: pintle memory list")]
    Search {
        /// Words to look for
        query: String,
    },
    /// Delete a note
    #[command(after_help = "Examples:
  pintle memory list
  pintle memory delete 1 || true   # the number is in the list

See also: pintle memory list")]
    Delete {
        /// Its number
        id: u64,
    },
}
