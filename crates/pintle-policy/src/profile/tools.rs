//! Holds what a profile says of tools against the tools there are: a rule that can never apply guards nothing.

use super::document::Node;
use super::report::{Problem, ProfileErrors, nearest};
use super::{AGENT_FILE, Personality, Profile, written_at};
use crate::reach::PATH_FIELDS;
use std::collections::{BTreeMap, BTreeSet};

/// A tool there is, as far as a profile can speak of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownTool {
    /// Its name.
    pub name: String,
    /// The fields of its arguments; none when it does not say.
    pub fields: BTreeSet<String>,
}

/// A glob of tools, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGlob {
    /// The glob.
    pub glob: String,
    /// Where, like `agent.json:14`.
    pub source: String,
}

impl Profile {
    /// Holds every glob by which the profile speaks of tools (in hooks, guards, personalities and its own selection)
    /// against the tools there are. One that fits none may be for tools of another day: it is returned, to be told.
    ///
    /// # Errors
    /// With each glob that fits no tool and nearly names one, and each rule about a field that no such tool has: slips
    /// of the pen that would guard nothing.
    pub fn check_tools(&self, tools: &[KnownTool]) -> Result<Vec<ToolGlob>, ProfileErrors> {
        let mut errors = ProfileErrors::default();
        let mut idle = Vec::new();
        let slips = slips(&self.document, tools, |node| {
            let glob = node.text().unwrap_or_default().to_owned();
            idle.push(ToolGlob { glob, source: written_at(&self.source, node) });
        });
        errors.add(AGENT_FILE, &self.source, slips);
        of_folders(&self.personalities, &self.document, tools, &mut errors, &mut idle);
        if errors.is_empty() { Ok(idle) } else { Err(errors) }
    }
}

/// What is wrong in agent.json itself; `tell` gets each glob that fits nothing and resembles nothing.
pub(super) fn slips(
    document: &Node,
    tools: &[KnownTool],
    mut tell: impl FnMut(&Node),
) -> Vec<Problem> {
    let mut slips = Vec::new();
    for node in globs(document) {
        let Some(glob) = node.text().filter(|glob| fitting(glob, tools).is_empty()) else {
            continue;
        };
        match nearest(glob, tools.iter().map(|tool| tool.name.as_str())) {
            Some(near) => slips.push(no_such_tool(glob, node.span.clone(), near)),
            None => tell(&node),
        }
    }
    for policy in document.get("policies").map(Node::items).unwrap_or_default() {
        let glob = policy.get("tool").and_then(Node::text).unwrap_or_default();
        rules_without_a_field(policy, &fitting(glob, tools), &mut slips);
    }
    slips
}

pub(super) fn of_folders(
    personalities: &BTreeMap<String, Personality>,
    document: &Node,
    tools: &[KnownTool],
    errors: &mut ProfileErrors,
    idle: &mut Vec<ToolGlob>,
) {
    let inline = document.get("personalities");
    for (name, personality) in personalities {
        if inline.is_some_and(|inline| inline.get(name).is_some()) {
            continue;
        }
        let file = format!("personalities/{name}/config.json");
        for glob in personality.tools.iter().flatten().filter(|glob| fits_none(glob, tools)) {
            match nearest(glob, tools.iter().map(|tool| tool.name.as_str())) {
                Some(near) => errors.add(&file, "", vec![no_such_tool(glob, 0..0, near)]),
                None => idle.push(ToolGlob { glob: glob.clone(), source: file.clone() }),
            }
        }
    }
}

fn fitting<'t>(glob: &str, tools: &'t [KnownTool]) -> Vec<&'t KnownTool> {
    match glob::Pattern::new(glob) {
        Ok(glob) => tools.iter().filter(|tool| glob.matches(&tool.name)).collect(),
        Err(_) => Vec::new(),
    }
}

/// One that is no glob at all is told as that.
fn fits_none(glob: &str, tools: &[KnownTool]) -> bool {
    glob::Pattern::new(glob).is_ok() && fitting(glob, tools).is_empty()
}

fn no_such_tool(glob: &str, span: std::ops::Range<usize>, near: &str) -> Problem {
    Problem::new(span, format!("there is no tool `{glob}`"))
        .label("fits no tool: it would never apply")
        .help(format!("did you mean `{near}`?"))
}

/// A guard looks at fields. One that none of its tools has is never there to be looked at.
fn rules_without_a_field(policy: &Node, tools: &[&KnownTool], slips: &mut Vec<Problem>) {
    if tools.is_empty() || tools.iter().any(|tool| tool.fields.is_empty()) {
        return;
    }
    let fields: BTreeSet<&str> =
        tools.iter().flat_map(|tool| tool.fields.iter().map(String::as_str)).collect();
    let Some(kind) = policy.get("kind") else { return };
    let looks_at = match kind.text() {
        Some("shell") if !fields.contains("command") => "a `command`",
        Some("path") if !PATH_FIELDS.iter().any(|field| fields.contains(field)) => "a path",
        Some("json") => return pointers_to_nothing(policy, &fields, slips),
        _ => return,
    };
    let names: Vec<&str> = fields.into_iter().collect();
    slips.push(
        Problem::new(kind.span.clone(), format!("no tool that this guard is for takes {looks_at}"))
            .label("it would never apply")
            .help(format!("what such a tool takes: {}", names.join(", "))),
    );
}

fn pointers_to_nothing(policy: &Node, fields: &BTreeSet<&str>, slips: &mut Vec<Problem>) {
    let rules = ["allow", "deny"].iter().filter_map(|key| policy.get(key)).flat_map(Node::items);
    for rule in rules {
        let pointer = rule.text().and_then(|text| text.split('=').next()?.strip_prefix('/'));
        let Some(field) = pointer.and_then(|pointer| pointer.split('/').next()) else { continue };
        if !fields.contains(field) {
            let names: Vec<&str> = fields.iter().copied().collect();
            let problem = Problem::new(
                rule.span.clone(),
                format!("no tool that this guard is for takes `{field}`"),
            );
            let mut problem = problem.label("it would never apply");
            problem = problem.nearest(field, names.iter().copied());
            slips.push(problem.help(format!("what such a tool takes: {}", names.join(", "))));
        }
    }
}

/// The globs of tools that stand in agent.json.
fn globs(document: &Node) -> Vec<Node> {
    let fields = |key: &str| document.get(key).map(Node::fields).unwrap_or_default();
    let items = |node: Option<&Node>| node.map(Node::items).unwrap_or_default().to_vec();
    let mut nodes = Vec::new();
    for action in fields("hooks").iter().flat_map(|bucket| bucket.value.items()) {
        nodes.extend(items(action.get("tools")));
    }
    let policies = items(document.get("policies"));
    nodes.extend(policies.iter().filter_map(|policy| policy.get("tool").cloned()));
    for personality in fields("personalities") {
        nodes.extend(items(personality.value.get("tools")));
    }
    nodes.extend(fields("tools").iter().flat_map(|list| list.value.items().to_vec()));
    nodes
}
