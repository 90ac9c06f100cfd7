//! Where a profile says what: for showing which rule decided, and for finding rules that can never apply.

use super::document::Node;
use super::report::{Problem, ProfileErrors, nearest};
use super::{AGENT_FILE, Profile, Scripts, written_at};
use crate::contents::Contents;

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

    /// Holds every glob by which the profile speaks of tools (in hooks, guards, personalities and its own selection)
    /// against the tools there are. One that fits none may be for tools of another day: it is returned, to be told.
    ///
    /// # Errors
    /// With each glob that fits no tool and nearly names one: a slip of the pen that would guard nothing.
    pub fn check_tools(&self, tools: &[String]) -> Result<Vec<ToolGlob>, ProfileErrors> {
        let (mut slips, mut idle) = (Vec::new(), Vec::new());
        let mut errors = ProfileErrors::default();
        let fits = |glob: &str| {
            glob::Pattern::new(glob).is_ok_and(|glob| tools.iter().any(|tool| glob.matches(tool)))
        };
        let near = |glob: &str| nearest(glob, tools.iter().map(String::as_str));
        let slip = |glob: &str, span, near: &str| {
            Problem::new(span, format!("there is no tool `{glob}`"))
                .label("fits no tool: it would never apply")
                .help(format!("did you mean `{near}`?"))
        };
        for node in self.globs() {
            let Some(glob) = node.text().filter(|glob| !fits(glob)) else { continue };
            let source = written_at(&self.source, &node);
            match near(glob) {
                Some(near) => slips.push(slip(glob, node.span.clone(), near)),
                None => idle.push(ToolGlob { glob: glob.to_owned(), source }),
            }
        }
        errors.add(AGENT_FILE, &self.source, slips);
        let inline = self.document.get("personalities");
        for (name, personality) in &self.personalities {
            if inline.is_some_and(|inline| inline.get(name).is_some()) {
                continue;
            }
            let file = format!("personalities/{name}/config.json");
            for glob in personality.tools.iter().flatten().filter(|glob| !fits(glob)) {
                match near(glob) {
                    Some(near) => errors.add(&file, "", vec![slip(glob, 0..0, near)]),
                    None => idle.push(ToolGlob { glob: glob.clone(), source: file.clone() }),
                }
            }
        }
        if errors.is_empty() { Ok(idle) } else { Err(errors) }
    }

    /// The globs of tools that stand in agent.json.
    fn globs(&self) -> Vec<Node> {
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
        nodes
    }

    /// The files that the profile's programs are made of, as they are on the disk now. A script may come to be after the
    /// profile was read.
    pub(crate) fn scripts_now(&self, contents: &mut Contents) -> Scripts {
        Scripts::of(&self.document, &self.dir, contents)
    }
}
