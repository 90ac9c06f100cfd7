//! What a profile needs from its surroundings before it can run.

use super::document::Node;
use super::report::place;
use super::{AGENT_FILE, Profile, Warning, channels, served, written_at};
use std::path::Path;

impl Profile {
    /// What is not there yet where the profile is read, and may be where it runs: the folder it works in, and variables that
    /// hold keys. `is_set` knows of each variable.
    #[must_use]
    pub fn unready(&self, is_set: impl Fn(&str) -> bool) -> Vec<Warning> {
        let mut warnings: Vec<_> =
            no_folder(&self.document, &self.source, &self.dir).into_iter().collect();
        let mut tell = |at: usize, message: String| {
            let source = format!("{AGENT_FILE}:{}", place(&self.source, at).0);
            warnings.push(Warning { source, message });
        };
        for variable in self.hooks.iter().filter_map(|hook| hook.uses.variable.as_ref()) {
            if !is_set(&variable.value) {
                let why = "an agent with this profile starts only when it is";
                tell(variable.span.start, format!("{} is not set: {why}", variable.value));
            }
        }
        for server in self.document.table("mcpServers") {
            for node in served::variables(server) {
                let name = node.text().and_then(served::variable_of);
                if let Some(name) = name.filter(|name| !is_set(name)) {
                    let why = format!("the MCP server `{}` starts only when it is", server.key);
                    tell(node.span.start, format!("{name} is not set: {why}"));
                }
            }
        }
        for (channel, node) in channels::secrets(&self.document) {
            let name = node.text().and_then(served::variable_of);
            if let Some(name) = name.filter(|name| !is_set(name)) {
                let why =
                    format!("`pintle serve` serves the channel `{}` only when it is", channel.key);
                tell(node.span.start, format!("{name} is not set: {why}"));
            }
        }
        warnings
    }
}

/// The folder it works in, if it is not there.
pub(super) fn no_folder(document: &Node, source: &str, dir: &Path) -> Option<Warning> {
    let node = document.get("security")?.get("workspace")?;
    let folder = node.text().filter(|it| !dir.join(it).is_dir())?;
    let message = format!("there is no folder `{folder}` to work in: make it, or correct the path");
    Some(Warning { source: written_at(source, node), message })
}
