//! The command line.

mod approvals;
mod gateway;
mod hooks;
mod memory;
mod plugins;
mod records;
mod sessions;
mod skills;
mod tickets;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::{
    approvals::{Approvals, ApprovalsCommand},
    gateway::{Messages, MessagesCommand, Serve},
    hooks::{Explain, Hooks, HooksCommand},
    memory::{Memory, MemoryCommand},
    plugins::{Language, PluginsCommand, PluginsOf},
    records::{Replay, Runs, Stats, Trace},
    sessions::{Sessions, SessionsCommand},
    skills::{Skills, SkillsCommand},
    tickets::{Tickets, TicketsCommand},
};
use crate::in_force::Found;

/// An AI agent whose guards hold. A guard that fails blocks, and you can see it.
#[derive(Parser)]
#[command(name = "pintle", version, max_term_width = 80)]
pub(crate) struct Cli {
    /// Use the profile in this folder [default: PINTLE_PROFILE, or the nearest]
    #[arg(long, global = true, value_name = "DIR", help_heading = COMMON)]
    pub(crate) profile: Option<PathBuf>,
    /// Use no profile
    #[arg(long, global = true, conflicts_with = "profile", help_heading = COMMON)]
    pub(crate) no_profile: bool,
    /// Keep all state in this folder [default: PINTLE_DATA, or the platform's]
    #[arg(long, global = true, value_name = "DIR", help_heading = COMMON)]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) json: bool,
    /// Use colours: always, never or auto
    #[arg(
        long, global = true, value_name = "WHEN", default_value = "auto", help_heading = COMMON,
        hide_default_value = true, hide_possible_values = true
    )]
    pub(crate) color: When,
    /// Print errors and questions only
    #[arg(long, global = true, conflicts_with = "verbose", help_heading = COMMON)]
    pub(crate) quiet: bool,
    /// Print more; -vv prints all
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = COMMON)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The heading of the options that every command has.
const COMMON: &str = "Common options";

#[derive(clap::ValueEnum, Clone, Copy)]
#[value(rename_all = "lower")]
pub(crate) enum When {
    Always,
    Never,
    Auto,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Init(Init),
    Chat(Chat),
    Serve(Serve),
    Messages(Messages),
    Explain(Explain),
    Hooks(Hooks),
    Trust(Trust),
    Plugins(PluginsOf),
    Approvals(Approvals),
    Runs(Runs),
    Trace(Trace),
    Replay(Replay),
    Stats(Stats),
    Doctor(Doctor),
    Sessions(Sessions),
    Skills(Skills),
    Tickets(Tickets),
    Memory(Memory),
    Completions(Completions),
    Man(Man),
}

/// The commands of the overview, by purpose.
pub(crate) const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["demo", "init", "chat"]),
    ("Guard", &["explain", "hooks", "trust", "approvals"]),
    ("Look", &["runs", "trace", "replay", "stats", "skills"]),
    (
        "Manage",
        &[
            "serve",
            "messages",
            "plugins",
            "doctor",
            "sessions",
            "tickets",
            "memory",
            "completions",
            "man",
        ],
    ),
];

impl Command {
    /// The options that choose the agent, for the commands that have them.
    pub(crate) fn who(&mut self) -> Option<&mut Who> {
        match self {
            Self::Chat(chat) => Some(&mut chat.who),
            Self::Serve(serve) => Some(&mut serve.who),
            Self::Doctor(doctor) => Some(&mut doctor.who),
            Self::Explain(explain) => Some(&mut explain.who),
            Self::Hooks(hooks) => {
                let command = hooks.command.get_or_insert_with(HooksCommand::default);
                match command {
                    HooksCommand::List { who, .. } | HooksCommand::Fire { who, .. } => Some(who),
                    HooksCommand::Explain(explain) => Some(&mut explain.who),
                    HooksCommand::Lint { .. } | HooksCommand::Schema { .. } => None,
                }
            }
            Self::Tickets(Tickets { command: Some(TicketsCommand::Complete { who, .. }) }) => {
                Some(who)
            }
            Self::Replay(replay) => Some(&mut replay.who),
            Self::Approvals(Approvals {
                command:
                    Some(ApprovalsCommand::Approve { who, .. } | ApprovalsCommand::Deny { who, .. }),
            }) => Some(who),
            _ => None,
        }
    }

    /// The folder of a command that looks at a profile without being an agent.
    pub(crate) fn folder(&mut self) -> Option<&mut Option<PathBuf>> {
        match self {
            Self::Trust(trust) => Some(&mut trust.dir),
            Self::Hooks(Hooks { command: Some(HooksCommand::Lint { dir }) }) => Some(dir),
            _ => None,
        }
    }

    /// Whether it asks what the sandbox of this machine holds, and has little else to wait for.
    pub(crate) fn needs_sandbox(&self) -> bool {
        let Self::Hooks(Hooks { command }) = self else {
            return matches!(
                self,
                Self::Chat(_) | Self::Demo(_) | Self::Explain(_) | Self::Serve(_)
            );
        };
        matches!(command, Some(HooksCommand::Explain(_)))
    }

    /// Whether an agent is put together from the profile in force.
    pub(crate) fn is_of_an_agent(&self) -> bool {
        !matches!(self, Self::Approvals(_) | Self::Replay(_))
    }
}

/// See it work, offline, in 30 seconds
#[derive(Args)]
#[command(after_help = "Examples:
  pintle demo --yes
  NO_COLOR=1 pintle demo --yes

See also: pintle trace, pintle init")]
pub(crate) struct Demo {
    /// Answer the question with yes, and do not pause
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Write a profile: agent.json, a personality, a hook
#[derive(Args)]
#[command(after_help = "Examples:
  pintle init my-agent
  pintle chat --profile my-agent -q 'list .'

See also: pintle hooks lint, pintle trust")]
pub(crate) struct Init {
    /// The folder to write to; it is created if needed
    #[arg(default_value = ".", value_name = "DIR", hide_default_value = true)]
    pub(crate) dir: PathBuf,
}

/// Talk to the agent; -q TEXT asks one question
#[derive(Args)]
#[command(after_help = "Examples:
  pintle chat
  pintle chat -q 'list .'
  pintle chat --continue
  pintle chat --json -q 'list .' | grep tool.end
  pintle chat --model anthropic/claude-sonnet-4-5   # needs ANTHROPIC_API_KEY

A conversation is new unless --continue, --session or /resume says otherwise.
A person at the terminal is asked before a call that needs approval. Lines of a
pipe are messages, never answers: answer with `pintle approvals` there.
Ctrl-C clears the line or stops the run; twice on an empty line it leaves (exit
code 130). SIGTERM and SIGHUP stop the run in order, give its last hooks 8
seconds, and leave (143 and 129).

See also: pintle sessions, pintle trace, pintle approvals")]
pub(crate) struct Chat {
    /// Ask this, print only the answer, and exit
    #[arg(short, long = "question", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) question: Option<String>,
    /// Continue the conversation with this key
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Continue the newest conversation of this folder
    #[arg(short, long = "continue", conflicts_with = "new")]
    pub(crate) continues: bool,
    /// Start a new conversation, also with --session
    #[arg(long)]
    pub(crate) new: bool,
    /// Exit with 5 when a call was blocked
    #[arg(long)]
    pub(crate) fail_on_block: bool,
    /// A message belongs to -q
    #[arg(hide = true)]
    pub(crate) text: Vec<String>,
    /// Without a terminal: wait until `pintle approvals` answers
    #[arg(long)]
    pub(crate) wait_for_approval: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// The personality and the model.
#[derive(Args, Clone, Default)]
pub(crate) struct Who {
    #[arg(skip)]
    pub(crate) profile: Option<PathBuf>,
    #[arg(skip)]
    pub(crate) no_profile: bool,
    #[arg(skip)]
    pub(crate) found: Found,
    /// Use this personality of the profile
    #[arg(long, value_name = "NAME")]
    pub(crate) personality: Option<String>,
    /// Use `offline`, `scripted:FILE` or PROVIDER/NAME [default: PINTLE_MODEL]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// Check the set-up; changes nothing
#[derive(Args)]
#[command(after_help = "Examples:
  pintle doctor
  pintle doctor --show-prompt --profile .

See also: pintle hooks list, pintle explain")]
pub(crate) struct Doctor {
    /// Print the system prompt: each part, and who contributed it
    #[arg(long)]
    pub(crate) show_prompt: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Review and trust what changed in a profile
#[derive(Args)]
#[command(after_help = "Examples:
  pintle trust . --accept
  pintle trust --json

See also: pintle hooks lint, pintle init")]
pub(crate) struct Trust {
    /// The profile's folder [default: --profile, or this folder]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Trust it as it is now, without asking
    #[arg(long)]
    pub(crate) accept: bool,
}

/// Print a completion script for your shell
#[derive(Args)]
#[command(after_help = "Examples:
  pintle completions bash > pintle.bash
  pintle completions zsh > _pintle
  pintle completions fish > pintle.fish

Where shells look for it:
  bash  ~/.local/share/bash-completion/completions/pintle
  zsh   a folder of $fpath, as _pintle
  fish  ~/.config/fish/completions/pintle.fish

See also: pintle man")]
pub(crate) struct Completions {
    pub(crate) shell: clap_complete::Shell,
}

/// Write the man pages to a folder
#[derive(Args)]
#[command(after_help = "Examples:
  pintle man man1
  pintle man ~/.local/share/man/man1   # where `man pintle` finds them

See also: pintle completions")]
pub(crate) struct Man {
    /// The folder to write to; it is created if needed
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_overview_names_every_command_once() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        let mut named: Vec<&str> = command.get_subcommands().map(|it| it.get_name()).collect();
        grouped.sort_unstable();
        named.sort_unstable();
        assert_eq!(grouped, named);
    }
}
