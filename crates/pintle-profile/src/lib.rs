//! agent.json and pintle.toml: what they say, what is wrong with them, and which of the files they name are trusted.
//!
//! A profile may come from anywhere. It is read strictly, and every mistake in it is reported at once with its place and a way to
//! fix it; it can observe, guard and ask, and never do more than the operator allows.

mod declared;
mod document;
mod file;
mod file_hashes;
mod formats;
mod guard_lints;
mod hook;
mod hook_commands;
mod json;
mod missing_env;
mod model;
mod operator;
mod personality;
mod profile;
mod read;
mod report;
mod rules;
mod sandbox;
mod schema;
mod schema_check;
mod scrub;
mod served;
mod source_lines;
mod suggestions;
mod terminal_escape;
mod tools;
pub mod trust;
mod webhook;

pub use declared::{DeclaredHook, declared_hooks};
pub use file::{Limits, LogLevel, McpServer, Security, ToolSelection};
pub use hook::{Action, Bucket, Hook, Run};
pub use operator::{
    Effective, OPERATOR_FILE, Operator, OperatorEnv, SandboxMode, SandboxNetwork, SandboxOfServer,
    SandboxSettings, WrittenRule,
};
pub use personality::Personality;
pub use profile::{AGENT_FILE, Bounds, HOOKS_FOLDER, Profile};
pub use read::read_inside;
pub use report::{ProfileError, ProfileErrors};
pub use sandbox::{HookSandbox, SandboxRules, ServerZone};
pub use schema::agent_schema;
pub use scrub::{SCRUBBED, SHORTEST_SECRET, Scrubber};
pub use served::variable_of;
pub use terminal_escape::{is_hidden, on_one_line, visible};
pub use tools::{KnownTool, Warning};
pub use webhook::{WebhookAllowlist, is_forbidden_address, is_loopback, webhook_url};

pub(crate) use profile::written_at;
