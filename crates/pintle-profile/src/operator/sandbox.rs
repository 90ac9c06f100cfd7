//! `[sandbox]` in pintle.toml: what the operator lets confined processes read, write and reach.

use crate::document::Node;
use crate::report::Problem;
use crate::sandbox::of_servers;
use pintle_policy::Zone;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The operator's settings of the sandbox, as they are written: `~` is not expanded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSettings {
    /// What happens where the machine has no sandbox.
    pub mode: SandboxMode,
    /// More trees that can be read.
    pub read: Vec<String>,
    /// More trees that can be written.
    pub write: Vec<String>,
    /// Trees that are copied on write, in place of the default list.
    pub caches: Option<Vec<String>>,
    /// What zone `network` reaches; all public hosts if it is left out. Compared without regard to case.
    pub hosts: Option<Vec<String>>,
    /// How zone `network` reaches it.
    pub network: SandboxNetwork,
    /// More paths that cannot be read.
    pub secrets: Vec<String>,
    /// Whether a profile's hooks and servers may ask for less than the default sandbox. They may if it is left out.
    pub allow_wider_hooks: Option<bool>,
    /// Settings of one MCP server, by its name.
    pub mcp: BTreeMap<String, SandboxOfServer>,
}

/// What happens where the machine has no sandbox (R17.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Nothing starts.
    Required,
    /// A person is asked.
    #[default]
    Ask,
    /// No sandbox is used.
    Off,
}

/// How zone `network` reaches other machines (R17.7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    /// Through a proxy that holds the hosts and records them.
    #[default]
    Proxy,
    /// Directly, and no host is held.
    Direct,
}

/// The operator's settings of one MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxOfServer {
    /// Its zone, in place of the profile's.
    #[schemars(schema_with = "of_servers")]
    pub zone: Option<Zone>,
    /// What it reaches, in place of `hosts` for all.
    pub hosts: Option<Vec<String>>,
}

/// What is wrong in `[sandbox]` and no schema can say.
pub(super) fn check(file: &Node) -> Vec<Problem> {
    let Some(sandbox) = file.get("sandbox") else { return Vec::new() };
    let items = |of: &'_ Node, key: &str| of.list(key).to_vec();
    let mut problems = Vec::new();
    for path in ["read", "write", "caches", "secrets"].iter().flat_map(|key| items(sandbox, key)) {
        if let Some(text) = path.text().filter(|text| !is_whole_path(text)) {
            let what = format!("`{text}` is not a plain absolute path");
            let help = "write it from the root, or from home with `~/`, and without `..`";
            problems.push(Problem::at(path.span.clone(), what, "expected `/…` or `~/…`", help));
        }
    }
    let direct = sandbox.str("network") == Some("direct");
    let servers = sandbox.table("mcp");
    for of in std::iter::once(sandbox).chain(servers.iter().map(|server| &server.value)) {
        for host in items(of, "hosts") {
            if let Some(help) = host.text().and_then(bad_host) {
                let label = "expected a name like `example.com` or `*.example.com:443`";
                problems.push(Problem::at(host.span.clone(), "this is not a host", label, help));
            }
        }
        let Some(hosts) = of.get("hosts") else { continue };
        let zone = of.str("zone").filter(|zone| *zone != "network");
        let why = match zone {
            Some(zone) => format!("zone `{zone}` cannot limit hosts"),
            None if direct => "`network = \"direct\"` cannot limit hosts".to_owned(),
            None => continue,
        };
        let (label, help) = ("would have no effect", "keep one of the two");
        problems.push(Problem::at(hosts.span.clone(), why, label, help));
    }
    problems
}

fn is_whole_path(text: &str) -> bool {
    let is_rooted = text.starts_with('/') || text == "~" || text.starts_with("~/");
    is_rooted && Path::new(text).components().all(|part| part != Component::ParentDir)
}

/// How to write a host that cannot be used as it is: two readers must not read two hosts in it.
fn bad_host(text: &str) -> Option<&'static str> {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    if text == "*" {
        Some("leave `hosts` out: then all public hosts can be reached")
    } else if text.contains('/') {
        Some("write the host alone, without a scheme and a path")
    } else if name.len() > 253 || !name.split('.').all(is_label) {
        Some("a host is made of ASCII letters, digits, dots and dashes, and may begin with `*.`")
    } else if port.is_some_and(|port| !is_port(port)) {
        Some("a port is a number from 1 to 65535")
    } else {
        None
    }
}
