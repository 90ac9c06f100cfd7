//! Where a profile says what: for showing which rule decided, and for finding rules that can never apply.

use super::document::Node;
use super::{Profile, scripts, written_at};
use std::collections::BTreeSet;

/// A glob of tools, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGlob {
    /// The glob.
    pub glob: String,
    /// Where, like `agent.json:14`.
    pub source: String,
}

impl Profile {
    /// Where a field of agent.json is written, like `agent.json:14`; `None` when it is left out.
    #[must_use]
    pub fn written(&self, field: &[&str]) -> Option<String> {
        let node = field.iter().try_fold(&self.document, |node, key| node.get(key))?;
        Some(written_at(&self.source, node))
    }

    /// Every glob by which the profile speaks of tools: in hooks, guards, personalities and its own selection.
    #[must_use]
    pub fn tool_globs(&self) -> Vec<ToolGlob> {
        let fields = |key: &str| self.document.get(key).map(Node::fields).unwrap_or_default();
        let items = |node: Option<&Node>| node.map(Node::items).unwrap_or_default().to_vec();
        let mut nodes = Vec::new();
        for action in fields("hooks").iter().flat_map(|bucket| bucket.value.items()) {
            nodes.extend(items(action.get("tools")));
        }
        let policies = items(self.document.get("policies"));
        nodes.extend(policies.iter().filter_map(|policy| policy.get("tool").cloned()));
        for personality in fields("personalities") {
            nodes.extend(items(personality.value.get("tools")));
        }
        nodes.extend(fields("tools").iter().flat_map(|list| list.value.items().to_vec()));
        let mut globs: Vec<ToolGlob> = nodes
            .iter()
            .filter_map(|node| {
                let source = written_at(&self.source, node);
                Some(ToolGlob { glob: node.text()?.to_owned(), source })
            })
            .collect();
        let inline: BTreeSet<&str> =
            fields("personalities").iter().map(|field| field.key.as_str()).collect();
        for (name, personality) in &self.personalities {
            if !inline.contains(name.as_str()) {
                let source = format!("personalities/{name}/config.json");
                let of_folder = personality.tools.iter().flatten();
                globs.extend(
                    of_folder.map(|glob| ToolGlob { glob: glob.clone(), source: source.clone() }),
                );
            }
        }
        globs
    }

    /// The files that the profile's programs are made of, as they are on the disk now. A script may come to be after the
    /// profile was read.
    #[must_use]
    pub fn scripts_now(&self) -> BTreeSet<String> {
        scripts::of_document(&self.document, &self.dir)
    }
}
