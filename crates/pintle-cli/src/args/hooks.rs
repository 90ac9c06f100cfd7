//! `pintle hooks` and `pintle explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Who;

/// List, check, fire and document hooks
#[derive(Args)]
#[command(after_help = "Examples:
  pintle hooks
  pintle hooks schema tool.pre

See also: pintle explain, pintle trust")]
pub(crate) struct Hooks {
    /// Without one: list
    #[command(subcommand)]
    pub(crate) command: Option<HooksCommand>,
}

#[derive(Subcommand)]
pub(crate) enum HooksCommand {
    /// List every hook: point, order, kind, where it comes from, state
    #[command(after_help = "Examples:
  pintle hooks list
  pintle hooks list --all --profile .

See also: pintle hooks lint, pintle trust")]
    List {
        /// The points without a hook, too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        who: Who,
    },
    /// Print everything that is wrong with a profile, at once
    #[command(after_help = "Examples:
  pintle hooks lint
  pintle hooks lint . --json

See also: pintle init, pintle trust")]
    Lint {
        /// The profile's folder [default: --profile, or this folder]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Fire one point with a payload of yours, and show who decided what
    #[command(after_help = "Examples:
  echo '{\"prompt\": \"hi\"}' | pintle hooks fire user.prompt.submit --payload -
  echo '{\"model\": \"offline\", \"newSession\": true}' > start.json
  pintle hooks fire session.start --payload start.json --profile .

Only hooks are asked. `pintle explain` also asks tools, policies and zones.

See also: pintle hooks schema, pintle explain")]
    Fire {
        /// The point's name
        point: String,
        /// A file with the payload as JSON; `-` is standard input
        #[arg(long, value_name = "FILE")]
        payload: PathBuf,
        /// Reach these plugins' handlers only, separated by commas [default: all]
        #[arg(long, value_name = "A,B", value_delimiter = ',')]
        plugins: Option<Vec<String>>,
        #[command(flatten)]
        who: Who,
    },
    /// The same as `pintle explain`
    #[command(after_help = "Examples:
  pintle hooks explain --tool read_file --args '{\"path\": \"agent.json\"}'
  pintle hooks explain -- ls

See also: pintle explain")]
    Explain(Explain),
    /// List the points, or print the JSON Schema of one
    #[command(after_help = "Examples:
  pintle hooks schema
  pintle hooks schema before_tool_call

See also: pintle hooks fire")]
    Schema {
        /// A point's name; without one, all points are listed
        point: Option<String>,
    },
}

impl Default for HooksCommand {
    fn default() -> Self {
        Self::List { all: false, who: Who::default() }
    }
}

/// Show what would happen to a command, without running it
#[derive(Args)]
#[command(after_help = "Examples:
  pintle explain -- ls
  pintle explain --tool read_file --args '{\"path\": \"agent.json\"}'
  pintle explain --untrusted -- git push

The call does not run. Hooks that decide do run, as their answer is part of the
judgement (--no-hooks leaves them out); so do the profile's MCP servers.

Exit codes: 0 it would run, 3 a person would be asked, 4 it would be refused.

See also: pintle hooks list, pintle approvals rules")]
pub(crate) struct Explain {
    /// A tool's name, for a call that is not a command
    #[arg(long, requires = "args", conflicts_with = "command")]
    pub(crate) tool: Option<String>,
    /// Its arguments as JSON
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
    /// Leave the hooks out
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// As if the agent had read text from outside before, such as a web page
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// The command, as in a shell
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "tool",
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) who: Who,
}
