//! `pintle serve` and `pintle messages`.

use clap::{Args, Subcommand};

use super::Who;

/// Serve the agent in chats and over HTTP
#[derive(Args)]
#[command(after_help = "Examples:
  pintle serve
  pintle serve --addr 127.0.0.1:4000 --profile my-agent
  pintle serve --host bot.example.org

HTTP works at once. The token is in the file `token` of the data folder, which
only you can read:
  curl http://127.0.0.1:7437/v1/messages -H 'Content-Type: application/json' \\
    -H \"Authorization: Bearer $(cat DATA/token)\" \\
    -d '{\"chat\": \"c\", \"messageId\": \"1\", \"sender\": \"me\", \"text\": \"list .\"}'

Telegram: get a token from @BotFather, then in agent.json
  \"channels\": { \"telegram\": { \"token\": \"${TELEGRAM_TOKEN}\" } }
and pair yourself with the code that `pintle messages pair` prints.

Ctrl-C stops; accepted messages that are not done are processed after the next
start. Messages and tool calls whose outcome is not known are listed by
`pintle messages unknown`.

See also: pintle messages, pintle approvals")]
pub(crate) struct Serve {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7437")]
    pub(crate) addr: std::net::SocketAddr,
    /// A host that requests may name, besides the address itself (can be repeated)
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Lines of standard input are messages too
    #[arg(long)]
    pub(crate) console: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// List messages that were put aside; pair with people
#[derive(Args)]
#[command(after_help = "Examples:
  pintle messages
  pintle messages retry 0198f0c2

See also: pintle serve")]
pub(crate) struct Messages {
    /// Without one: dead
    #[command(subcommand)]
    pub(crate) command: Option<MessagesCommand>,
}

#[derive(Subcommand)]
pub(crate) enum MessagesCommand {
    /// List messages that were put aside after several tries, with the reason
    #[command(after_help = "Examples:
  pintle messages dead
  pintle messages dead --json

See also: pintle messages retry")]
    Dead,
    /// Try one again; a running `pintle serve` picks it up
    #[command(after_help = "Examples:
  pintle messages retry 0198f0c2
  pintle messages retry 0198f0c2 --json

See also: pintle messages dead")]
    Retry {
        /// Its id, or the start or end of it
        id: String,
    },
    /// List messages that may have arrived, and tool calls that may have run: neither is repeated
    #[command(after_help = "Examples:
  pintle messages unknown
  pintle messages unknown --json

See also: pintle messages dead")]
    Unknown,
    /// Print a code with which one person can pair in a private chat
    #[command(after_help = "Examples:
  pintle messages pair
  pintle messages pair --json

The person sends `/pair CODE` to the bot.

See also: pintle serve")]
    Pair,
}
