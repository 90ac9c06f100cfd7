//! What may stand in agent.json. Declared once: the JSON Schema, the strict reader and the typed profile all come
//! from these types. `format` names a check in `formats.rs`; what `anyOf` says is for editors, and in `rules.rs` for the
//! reader, who says more about it than that it does not fit.

use super::channels::Channels;
use super::sandbox::{SandboxRules, of_servers};
use pintle::points::PersonalityConfig;
use pintle_policy::{GuardKind, Level, Zone};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An agent's profile: who it is, what it may do, and the hooks that watch it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "agent.json")]
pub(crate) struct AgentFile {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "only editors read it")]
    pub(crate) schema: Option<String>,
    /// The profile's name. Default: the folder's.
    #[schemars(extend("format" = "non-empty"))]
    pub(crate) name: Option<String>,
    /// The model to talk to, like `anthropic/NAME` or `offline`.
    #[schemars(extend("format" = "non-empty"))]
    pub(crate) model: Option<String>,
    /// The personality a session starts with.
    #[schemars(extend("format" = "non-empty"))]
    pub(crate) personality: Option<String>,
    /// Personalities by name. More may live in folders `personalities/NAME/` with `SOUL.md` and `config.json`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, InlinePersonality>")]
    pub(crate) personalities: BTreeMap<String, PersonalityConfig>,
    /// Which tools exist for this agent at all.
    #[serde(default)]
    pub(crate) tools: ToolSelection,
    /// How strict the floor is; can only tighten what the operator set.
    #[serde(default)]
    pub(crate) security: Security,
    /// Limits that end a run.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Paths that are kept from every confined process; can only tighten.
    #[serde(default)]
    pub(crate) sandbox: SandboxRules,
    /// MCP servers by name.
    #[serde(default)]
    pub(crate) mcp_servers: BTreeMap<String, McpServer>,
    /// The plugins that may fire, by their ids; a personality can only name fewer. `pintle plugins` lists those that were added.
    pub(crate) plugins: Option<Vec<String>>,
    /// The chats in which `pintle serve` answers.
    #[serde(default)]
    pub(crate) channels: Channels,
    /// Actions by the moment they run at.
    #[serde(default)]
    #[allow(
        dead_code,
        reason = "its schema comes from the buckets and actions; hooks are built with their places"
    )]
    pub(crate) hooks: BTreeMap<String, Vec<serde_json::Value>>,
    /// Guards: input rejected by pattern before anything runs.
    #[serde(default)]
    pub(crate) policies: Vec<Policy>,
}

/// Who the agent is: its prompt, its tools, the plugins that fire for it.
#[derive(JsonSchema)]
#[schemars(rename = "Personality", rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "the schema of a `PersonalityConfig` in agent.json")]
pub(crate) struct InlinePersonality {
    /// Its part of the system prompt.
    prompt: String,
    /// The tools it may use, as globs; all of them if left out.
    #[schemars(extend("format" = "globs"))]
    tools: Option<Vec<String>>,
    /// The plugins that fire for it; none if left out.
    plugins: Option<Vec<String>>,
}

/// `config.json` of a personality's folder; its prompt is in `SOUL.md`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PersonalityFile {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "only editors read it")]
    pub(crate) schema: Option<String>,
    /// The tools it may use, as globs; all of them if left out.
    #[schemars(extend("format" = "globs"))]
    pub(crate) tools: Option<Vec<String>>,
    /// The plugins that fire for it; none if left out.
    pub(crate) plugins: Option<Vec<String>>,
}

/// Which tools exist for an agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSelection {
    /// Globs of tools that exist; all of them if left out.
    #[schemars(extend("format" = "globs"))]
    pub allow: Option<Vec<String>>,
    /// Globs of tools that do not, even if allowed.
    #[serde(default)]
    #[schemars(extend("format" = "globs"))]
    pub deny: Vec<String>,
}

/// How strict the floor is.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Security {
    /// What runs by itself, what asks, what never runs. Default: the operator's.
    pub level: Option<Level>,
    /// The folder the agent works in, inside the profile's. Default: where the program was started.
    #[schemars(extend("format" = "inside-folder"))]
    pub workspace: Option<String>,
    /// Who may answer approvals: some of the operator's list. Default: all of it.
    #[schemars(length(min = 1))]
    pub approvers: Option<Vec<String>>,
    /// How long an approval waits for an answer, in milliseconds. Default: 30 minutes.
    #[schemars(range(min = 1))]
    pub approval_timeout_ms: Option<u64>,
}

/// Limits that end a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// The most model rounds.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// The most money, in US dollars.
    #[schemars(range(min = 0))]
    pub max_cost_usd: Option<f64>,
    /// The most time, in seconds.
    #[schemars(range(min = 1))]
    pub max_seconds: Option<u64>,
    /// The most tokens of a model request; above it, older messages are summarised. Default: the model's window.
    #[schemars(range(min = 1000))]
    pub context_tokens: Option<u64>,
}

/// An MCP server: a program to start (`command`) or an address to talk to (`url`).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["command"], "properties": { "url": false } },
    { "required": ["url"], "properties": { "command": false, "args": false, "env": false, "zone": false } }
]))]
pub struct McpServer {
    /// The program to start; it speaks over its standard input and output.
    #[schemars(extend("format" = "non-empty"))]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment, added to the allowlist. A value `${NAME}` is that of pintle's own variable NAME.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What its process may do: `safe` reads the workspace, `workspace` writes it, `build` writes caches too, `network` (the
    /// default) reaches hosts too, `machine` runs without a sandbox.
    #[serde(default = "network")]
    #[schemars(schema_with = "of_servers")]
    pub zone: Zone,
    /// The address to talk to instead.
    #[schemars(extend("format" = "http-url"))]
    pub url: Option<String>,
}

fn network() -> Zone {
    Zone::Network
}

/// One guard (R11.1).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["allow"], "properties": { "allow": { "minItems": 1 } } },
    { "required": ["deny"], "properties": { "deny": { "minItems": 1 } } }
], "if" = { "properties": { "kind": { "const": "json" } } }, "then" = {
    "properties": { "allow": { "items": { "pattern": "^/" } }, "deny": { "items": { "pattern": "^/" } } }
}))]
pub(crate) struct Policy {
    /// Which tools it judges, as a glob.
    #[schemars(extend("format" = "glob"))]
    pub(crate) tool: String,
    /// How it looks at the input.
    pub(crate) kind: GuardKind,
    /// If there are any, everything must match one of these.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// Nothing may match one of these.
    #[serde(default)]
    pub(crate) deny: Vec<String>,
    /// Whether it is only tried: what it would refuse is recorded, and runs.
    #[serde(default)]
    pub(crate) shadow: bool,
}
