//! What a profile says about the sandbox: how far its hooks and servers reach, and what it keeps from everything that runs.

use super::document::Node;
use super::report::Problem;
use super::{Profile, Uses};
use pintle_policy::{Guard, GuardKind, Zone};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::path::{Component, Path};

/// The zones that a server can be given.
pub(crate) fn of_servers(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Zone::ALL
        .into_iter()
        .filter_map(|zone| Zone::declared(zone.name()))
        .map(Zone::name)
        .collect();
    json_schema!({ "type": "string", "enum": names })
}

/// What a program may do in this zone that others of its kind may not.
fn widened(zone: Zone, usual: Zone) -> Option<&'static str> {
    match zone {
        _ if zone <= usual => None,
        Zone::Network => Some("may reach the network"),
        _ => Some("runs without a sandbox"),
    }
}

impl Uses {
    /// What its program may do that other hooks' may not.
    #[must_use]
    pub fn widened(&self) -> Option<&'static str> {
        widened(self.zone.as_ref()?.value, Zone::Build)
    }
}

/// Paths that the profile keeps from every confined process. It only tightens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SandboxRules {
    /// Files and folders of the workspace that cannot be written.
    pub protect: Vec<String>,
    /// Files of the workspace that cannot be read, as globs.
    pub secrets: Vec<String>,
}

impl Profile {
    /// Each hook and server that is held to less than others are, and what it may do.
    #[must_use]
    pub fn widened(&self) -> Vec<(String, &'static str)> {
        let hooks = self
            .hooks
            .iter()
            .filter_map(|hook| Some((format!("the hook `{}`", hook.name), hook.uses.widened()?)));
        let servers = self.mcp_servers.iter().filter_map(|(name, server)| {
            Some((format!("the MCP server `{name}`"), widened(server.zone, Zone::Network)?))
        });
        hooks.chain(servers).collect()
    }
}

/// Paths and globs that are not of the workspace, or cannot be read.
pub(super) fn check(file: &Node) -> Vec<Problem> {
    let listed = |key| file.get("sandbox").map(|rules| rules.list(key)).unwrap_or_default().iter();
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
        let what = format!("`{text}` cannot be protected");
        let help =
            "write a path of the workspace, like `infra`, or under `secrets` a glob like `**/.env`";
        Problem::at(node.span.clone(), what, &why, help)
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
