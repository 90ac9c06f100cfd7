//! `pintle plugins`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Add, grant and remove plugins
#[derive(Args)]
#[command(after_help = "Examples:
  pintle plugins new today
  pintle plugins add today --yes
  pintle plugins

A plugin runs when a profile names it: \"plugins\": [\"today\"] in agent.json, and
in the personalities that it fires for.

See also: pintle hooks list, pintle doctor")]
pub(crate) struct PluginsOf {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<PluginsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum PluginsCommand {
    /// List the plugins that were added, and what they may do
    #[command(after_help = "Examples:
  pintle plugins list
  pintle plugins list --json

See also: pintle plugins add")]
    List,
    /// Write a plugin that works, with a test that passes
    #[command(after_help = "Examples:
  pintle plugins new today
  pintle plugins new today-js --language node

See also: pintle plugins add")]
    New {
        /// The folder to write to; its name is the plugin's id
        dir: PathBuf,
        /// The language it is written in
        #[arg(long, value_enum, default_value_t = Language::Python)]
        language: Language,
    },
    /// Add a plugin's folder as it is now, or add it again after a change
    #[command(after_help = "Examples:
  pintle plugins new today
  pintle plugins add today --yes

Without --yes and --grant you are asked what to grant. What you add is copied:
the plugin runs as it is now, until you add it again.

See also: pintle plugins grant, pintle plugins remove")]
    Add {
        /// The plugin's folder, with its plugin.json
        dir: PathBuf,
        /// Grant this, and nothing else that it asks for
        #[arg(long, value_name = "CAPABILITY")]
        grant: Vec<String>,
        /// Grant everything that it asks for
        #[arg(long, conflicts_with = "grant")]
        yes: bool,
    },
    /// Remove a plugin with its files
    #[command(after_help = "Examples:
  pintle plugins new today && pintle plugins add today --yes
  pintle plugins remove today

See also: pintle plugins revoke")]
    Remove {
        /// The plugin's id
        id: String,
    },
    /// Grant what a plugin asks for
    #[command(after_help = "Examples:
  pintle plugins new today && pintle plugins add today
  pintle plugins grant today amend:prompt
  pintle plugins grant today   # all that it asks for

See also: pintle plugins list, pintle plugins revoke")]
    Grant {
        /// The plugin's id
        id: String,
        /// What to grant [default: all that it asks for]
        capabilities: Vec<String>,
    },
    /// Take back what a plugin was granted
    #[command(after_help = "Examples:
  pintle plugins new today && pintle plugins add today --yes
  pintle plugins revoke today amend:prompt
  pintle plugins revoke today   # everything

See also: pintle plugins list, pintle plugins grant")]
    Revoke {
        /// The plugin's id
        id: String,
        /// What to take back [default: everything]
        capabilities: Vec<String>,
    },
}

/// The language of a new plugin.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Language {
    Python,
    Node,
}
