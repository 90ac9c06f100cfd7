//! agent.json and pintle.toml: what they say, what is wrong with them.
//!
//! A profile may come from anywhere. It is read strictly, and every mistake in it is reported at once with its place and a way to
//! fix it; it can observe, guard and ask, and never do more than the operator allows.

mod action;
mod bucket;
mod channels;
mod declared;
mod document;
mod file;
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
mod served;
mod source_lines;
mod suggestions;
mod terminal_escape;
mod tools;
mod webhook;

pub use action::{ActionCheck, ActionKind, OnlyIn, Uses, Written};
pub use bucket::{BUCKETS, Bucket};
pub use channels::{ChannelWebhook, Channels, HttpChannel, TelegramChannel};
pub use declared::{DeclaredHook, declared_hooks};
pub use document::Node;
pub use file::{Limits, McpServer, Security, ToolSelection};
pub use formats::bad_inner_path;
pub use hook::Hook;
pub use hook_commands::Run;
pub use json::read_json;
pub use operator::{
    Consumer, ConsumerSettings, Effective, LoopBudgetSettings, OPERATOR_FILE, Operator,
    OperatorEnv, OperatorFile, RecordSettings, SandboxMode, SandboxNetwork, SandboxOfServer,
    SandboxSettings, SkillQueueSettings, WrittenRule, operator_schema,
};
pub use profile::{AGENT_FILE, Bounds, HOOKS_FOLDER, Profile};
pub use read::{read_file, read_inside};
pub use report::{Problem, ProfileError, ProfileErrors};
pub use sandbox::SandboxRules;
pub use schema::agent_schema;
pub use served::variable_of;
pub use terminal_escape::{is_hidden, on_one_line, typed, typed_word, visible};
pub use tools::Warning;
pub use webhook::WebhookAllowlist;

pub(crate) use profile::written_at;
