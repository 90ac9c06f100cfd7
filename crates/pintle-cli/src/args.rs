//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::in_force::Found;

/// An agent whose hooks you can rely on: every point fires, a guard that fails blocks, and nothing is silent.
#[derive(Parser)]
#[command(name = "pintle", version, after_help = "First time here? Try:\n  pintle demo")]
pub(crate) struct Cli {
    /// Where sessions and records are kept [default: PINTLE_DATA, or the platform's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Machine-readable output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Init(Init),
    Chat(Chat),
    Doctor(Doctor),
    Sessions(Sessions),
    Hooks(Hooks),
    Trace(Trace),
    Trust(Trust),
    Approvals(Approvals),
}

impl Command {
    /// Who the agent is, of the commands that put one together from the profile in force.
    pub(crate) fn who(&mut self) -> Option<&mut Who> {
        match self {
            Self::Chat(chat) => Some(&mut chat.who),
            Self::Doctor(doctor) => Some(&mut doctor.who),
            Self::Hooks(Hooks { command }) => match command {
                HooksCommand::List { who }
                | HooksCommand::Fire { who, .. }
                | HooksCommand::Explain { who, .. } => Some(who),
                HooksCommand::Lint { .. } | HooksCommand::Schema { .. } => None,
            },
            _ => None,
        }
    }
}

/// Play a short conversation offline: hooks fire, a destructive command is blocked, an approval is asked
#[derive(Args)]
#[command(after_help = "Example:\n  pintle demo --yes")]
pub(crate) struct Demo {
    /// Answer the approval with yes instead of asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Write a sample profile: agent.json, a personality, a hook script
#[derive(Args)]
#[command(after_help = "Example:\n  pintle init my-agent && pintle chat --profile my-agent")]
pub(crate) struct Init {
    /// The folder to write to; made if it is not there
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Talk to the agent, or ask one question
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pintle chat\n  pintle chat -q 'list .'\n  pintle chat --profile . --session mine\n  pintle chat --json -q 'list .' | grep tool.end\n  pintle chat --model anthropic/claude-sonnet-4-5   # wants ANTHROPIC_API_KEY

A person at the terminal is asked before a call that needs a yes. Lines of a
pipe are messages, never answers: there, `pintle approvals` answers.

Ctrl-C stops a run, twice the program (exit code 130). SIGTERM and SIGHUP stop
the run in order, give its last hooks 8 seconds, and leave (143 and 129)."
)]
pub(crate) struct Chat {
    /// Ask this, print only the answer, and exit
    #[arg(short, long = "question", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) question: Option<String>,
    /// Go on with the conversation of this name [default: the current folder's]
    #[arg(long, value_name = "KEY")]
    pub(crate) session: Option<String>,
    /// Begin a new conversation
    #[arg(long)]
    pub(crate) new: bool,
    /// Without a terminal: wait until somebody answers with `pintle approvals`, instead of denying
    #[arg(long)]
    pub(crate) wait_for_approval: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Who the agent is and what writes its text.
#[derive(Args, Clone, Default)]
pub(crate) struct Who {
    /// A folder with an agent.json [default: PINTLE_PROFILE, or the nearest one here or above]
    #[arg(long, value_name = "DIR")]
    pub(crate) profile: Option<PathBuf>,
    /// No profile, whatever is there
    #[arg(long, conflicts_with = "profile")]
    pub(crate) no_profile: bool,
    #[arg(skip)]
    pub(crate) found: Found,
    /// Which of the profile's personalities to be
    #[arg(long, value_name = "NAME")]
    pub(crate) personality: Option<String>,
    /// `offline`, `scripted:FILE`, or PROVIDER/NAME [default: PINTLE_MODEL, the profile's, or offline]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// Check the set-up
#[derive(Args)]
#[command(after_help = "Examples:\n  pintle doctor\n  pintle doctor --show-prompt --profile .")]
pub(crate) struct Doctor {
    /// Print the assembled system prompt: each part, and who contributed it
    #[arg(long)]
    pub(crate) show_prompt: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Look at conversations
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pintle sessions list\n  pintle chat --session mine -q 'list .'\n  pintle sessions show mine"
)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// All conversations, newest first
    #[command(after_help = "Example:\n  pintle sessions list --json")]
    List,
    /// One conversation, for reading
    #[command(
        after_help = "Example:\n  pintle chat --session mine -q 'list .'\n  pintle sessions show mine"
    )]
    Show {
        /// Its id, the start or end of it, or its key
        session: String,
    },
    /// One conversation as JSON, on standard output
    #[command(
        after_help = "Example:\n  pintle chat --session mine -q 'list .'\n  pintle sessions export mine > conversation.json"
    )]
    Export {
        /// Its id, the start or end of it, or its key
        session: String,
    },
    /// Remove one conversation
    #[command(
        after_help = "Example:\n  pintle chat --session mine -q 'list .'\n  pintle sessions delete mine"
    )]
    Delete {
        /// Its id, the start or end of it, or its key
        session: String,
    },
}

/// Look at hooks
#[derive(Args)]
#[command(after_help = "Examples:\n  pintle hooks list\n  pintle hooks schema tool.pre")]
pub(crate) struct Hooks {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

#[derive(Subcommand)]
pub(crate) enum HooksCommand {
    /// Every hook that is bound: point, model, source, order
    #[command(after_help = "Example:\n  pintle hooks list --profile .")]
    List {
        #[command(flatten)]
        who: Who,
    },
    /// Everything that is wrong with a profile, at once
    #[command(after_help = "Example:\n  pintle hooks lint .")]
    Lint {
        /// The profile's folder
        #[arg(default_value = ".", value_name = "DIR")]
        dir: PathBuf,
    },
    /// Fire one point with a payload of yours, and show who ran, who won and what was decided
    #[command(
        after_help = "Examples:\n  echo '{\"prompt\": \"hi\"}' | pintle hooks fire user.prompt.submit --payload -\n  echo '{\"model\": \"offline\", \"newSession\": true}' > start.json\n  pintle hooks fire session.start --payload start.json --profile .

Hooks alone are asked. Whether a call may run is for `tools`, `policies` and
zones to say as well: `pintle hooks explain` goes through all of it."
    )]
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
    /// What would happen to a tool call, step by step, without running it
    #[command(
        after_help = "Examples:\n  pintle hooks explain --tool terminal --args '{\"command\": \"git push\"}'\n  pintle hooks explain --profile . --tool read_file --args '{\"path\": \".env\"}'

The tool is not run, and observers (log, save_json, webhook) are only shown.
Command hooks do run, as their answer is part of the judgement; so do the
profile's MCP servers, as only they know their tools."
    )]
    Explain {
        /// The tool's name
        #[arg(long)]
        tool: String,
        /// Its arguments as JSON
        #[arg(long, value_name = "JSON")]
        args: String,
        #[command(flatten)]
        who: Who,
    },
    /// The points, or the JSON Schema of one point's payload and result
    #[command(after_help = "Example:\n  pintle hooks schema before_tool_call")]
    Schema {
        /// A point's name; without one, all points are listed
        point: Option<String>,
    },
}

/// Show the last run, or a given one, as a waterfall
#[derive(Args)]
#[command(after_help = "Example:\n  pintle chat -q 'list .'\n  pintle trace")]
pub(crate) struct Trace {
    /// The run's id, or the start or end of it
    pub(crate) run: Option<String>,
}

/// Show what changed in a profile since it was trusted, and trust it as it is now
#[derive(Args)]
#[command(
    after_help = "Example:\n  pintle trust .            # what changed\n  pintle trust . --accept   # and run it"
)]
pub(crate) struct Trust {
    /// The profile's folder
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Trust it as it is now
    #[arg(long)]
    pub(crate) accept: bool,
}

/// See what waits for a person's yes, and answer it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pintle approvals\n  pintle approvals approve 3f9c21d0   # an id of that list\n  pintle approvals deny 3f9c21d0 --reason 'not on a Friday'

You answer as the system's user you are, and as `operator`: whoever runs pintle.
Where pintle.toml names `approvers`, one of these has to be among them."
)]
pub(crate) struct Approvals {
    /// Without one: `list`
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// What waits for an answer, or was approved when its run had stopped
    #[command(after_help = "Example:\n  pintle approvals list --all --json")]
    List {
        /// Answered and lapsed ones too
        #[arg(long)]
        all: bool,
    },
    /// One question, with its full arguments
    #[command(after_help = "Example:\n  pintle approvals show 3f9c21d0")]
    Show {
        /// Its id, or the start or end of it
        id: String,
    },
    /// Say yes. If the run that asked is gone, it goes on now, in its own folder and with its own profile
    #[command(after_help = "Example:\n  pintle approvals approve 3f9c21d0

A run that goes on has its call judged again, by the profile, the guards and the
level of now. If they refuse it, that is said, and the exit code is 3; it is 1
when the answer did not count.")]
    Approve {
        /// Its id, or the start or end of it
        id: String,
        /// And to the rule that the question offers, until the session's program ends
        #[arg(long)]
        session: bool,
        /// And to the rule that the question offers, for good: it is written to pintle.toml
        #[arg(long, conflicts_with = "session")]
        always: bool,
        #[command(flatten)]
        who: Who,
    },
    /// Say no. The model is told why
    #[command(after_help = "Example:\n  pintle approvals deny 3f9c21d0 --reason 'not on a Friday'")]
    Deny {
        /// Its id, or the start or end of it
        id: String,
        /// Words for the model
        #[arg(long, allow_hyphen_values = true)]
        reason: Option<String>,
        #[command(flatten)]
        who: Who,
    },
    /// The rules by which calls run without a question, and who approved them
    #[command(after_help = "Examples:\n  pintle approvals rules\n  pintle approvals rules --json

`pintle approvals rules --revoke 2` takes the second one back.")]
    Rules {
        /// Take back the rule of this number
        #[arg(long, value_name = "N")]
        revoke: Option<usize>,
    },
}
