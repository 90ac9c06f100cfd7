//! What a profile says about the sandbox: how far its hooks and servers reach, and what it keeps from everything that runs.

use super::Profile;
use super::document::Node;
use super::hook::Action;
use super::report::Problem;
use pintle_policy::{Guard, GuardKind, Zone};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Component, Path};

/// What a command hook is held to (R8.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookSandbox {
    /// Writes the workspace.
    Workspace,
    /// Writes the workspace and caches.
    #[default]
    Build,
    /// Reaches the network too.
    Network,
    /// Runs without a sandbox.
    None,
}

impl HookSandbox {
    /// The zone that the kernel holds it to.
    #[must_use]
    pub fn zone(self) -> Zone {
        match self {
            Self::Workspace => Zone::Workspace,
            Self::Build => Zone::Build,
            Self::Network => Zone::Network,
            Self::None => Zone::Machine,
        }
    }

    /// What it may do that other hooks may not, in words.
    #[must_use]
    pub fn widened(self) -> Option<&'static str> {
        match self {
            Self::Workspace | Self::Build => None,
            Self::Network => Some("may reach the network"),
            Self::None => Some(NO_SANDBOX),
        }
    }
}

const NO_SANDBOX: &str = "runs without a sandbox";

/// What an MCP server that is started is held to (R8.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerZone {
    /// Reads the workspace.
    Safe,
    /// Writes the workspace.
    Workspace,
    /// Writes the workspace and caches.
    Build,
    /// Reaches the network too.
    #[default]
    Network,
    /// Runs without a sandbox.
    Machine,
}

impl ServerZone {
    /// The zone that the kernel holds it to.
    #[must_use]
    pub fn zone(self) -> Zone {
        match self {
            Self::Safe => Zone::Safe,
            Self::Workspace => Zone::Workspace,
            Self::Build => Zone::Build,
            Self::Network => Zone::Network,
            Self::Machine => Zone::Machine,
        }
    }

    /// What it may do that other servers may not, in words.
    #[must_use]
    pub fn widened(self) -> Option<&'static str> {
        (self == Self::Machine).then_some(NO_SANDBOX)
    }
}

/// What the profile keeps from every process that the sandbox holds. It only tightens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SandboxRules {
    /// Files and folders of the workspace that cannot be written.
    #[schemars(inner(regex(pattern = r"^(?![/~])(?!(.*/)?\.\.(/|$))[^*?\[]+$")))]
    pub protect: Vec<String>,
    /// Files of the workspace that cannot be read, as globs.
    #[schemars(inner(regex(pattern = r"^(?![/~])(?!(.*/)?\.\.(/|$)).+$")))]
    pub secrets: Vec<String>,
}

impl Profile {
    /// Each hook and server that is held to less than others are, and what it may do.
    #[must_use]
    pub fn widened(&self) -> Vec<(String, &'static str)> {
        let hooks = self.hooks.iter().filter_map(|hook| match &hook.action {
            Action::Command { sandbox, .. } => {
                Some((format!("the hook `{}`", hook.name), sandbox.widened()?))
            }
            _ => None,
        });
        let servers = self.mcp_servers.iter().filter_map(|(name, server)| {
            Some((format!("the MCP server `{name}`"), server.zone.widened()?))
        });
        hooks.chain(servers).collect()
    }
}

/// Paths and globs that are not of the workspace, or cannot be read.
pub(super) fn check(file: &Node) -> Vec<Problem> {
    let listed = |key| {
        let rules = file.get("sandbox").and_then(|rules| rules.get(key));
        rules.map(Node::items).unwrap_or_default().iter()
    };
    let protected = listed("protect").filter_map(|node| {
        let text = node.text()?;
        let is_glob =
            || text.contains(['*', '?', '[']).then(|| "a file or folder, not a glob".to_owned());
        Some((node, text, outside(text).or_else(is_glob)?))
    });
    let secrets = listed("secrets").filter_map(|node| {
        let text = node.text()?;
        let bad_glob = || Guard::check_rule(GuardKind::Path, text).err().map(|error| error.message);
        Some((node, text, outside(text).or_else(bad_glob)?))
    });
    let told = |(node, text, why): (&Node, &str, String)| {
        Problem::new(node.span.clone(), format!("`{text}` cannot be kept from what runs"))
            .label(why)
            .help("write a path of the workspace, like `infra`, or under `secrets` a glob like `**/.env`")
    };
    protected.chain(secrets).map(told).collect()
}

fn outside(text: &str) -> Option<String> {
    let path = Path::new(text);
    let leaves = path.is_absolute()
        || text.starts_with('~')
        || path.components().any(|part| part == Component::ParentDir);
    if text.trim().is_empty() {
        return Some("empty".to_owned());
    }
    leaves.then(|| "not inside the workspace".to_owned())
}
