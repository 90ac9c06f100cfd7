//! Holds what a profile says of tools against the tools there are: a rule that can never apply guards nothing.

use super::document::Node;
use super::json::parse;
use super::read::read_text;
use super::report::{Problem, ProfileErrors, place};
use super::{AGENT_FILE, Profile, guard_lints, written_at};
use pintle::points::PersonalityConfig;
use pintle::similar::{edits, nearest};
use pintle_policy::{ToolSpec, tool_meant};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Something in a profile that may be meant, and may be a slip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where, like `agent.json:14`.
    pub source: String,
    /// What is odd about it, and what to do.
    pub message: String,
}

/// How the names of servers' tools begin.
const OF_A_SERVER: &str = "mcp__";

impl Profile {
    /// Holds every glob by which the profile speaks of tools (in hooks, guards, personalities and its own selection)
    /// against the tools there are. Of a profile with servers, what could be about their tools is left alone unless they are
    /// among them. A glob that fits none may be for tools of another day: it is returned as a warning.
    ///
    /// # Errors
    /// With each glob that fits no tool and nearly names one, and each rule about a field that no such tool has: slips
    /// of the pen that would guard nothing.
    pub fn check_tools(&self, tools: &[ToolSpec]) -> Result<Vec<Warning>, ProfileErrors> {
        let mut errors = ProfileErrors::default();
        let tools = Tools::new(tools, &self.document);
        let mut idle = Vec::new();
        let slips = slips(&self.document, &tools, |node| {
            idle.push(tools.fits_none(node, &self.source));
        });
        errors.add(AGENT_FILE, &self.source, slips);
        let of = (&self.personalities, &self.document, self.dir.as_path());
        of_folders(of, &tools, &mut errors, &mut idle);
        if errors.is_empty() { Ok(idle) } else { Err(errors) }
    }

    /// What its guards do that their author may not expect: calls they refuse whatever is in them, and what they do not see.
    #[must_use]
    pub fn surprises(&self, tools: &[ToolSpec]) -> Vec<Warning> {
        let tools = Tools::new(tools, &self.document);
        of_guards(&self.document, &self.source, &tools, |_| true)
    }
}

/// The same for those guards that `loads` picks.
pub(super) fn of_guards(
    document: &Node,
    source: &str,
    tools: &Tools<'_>,
    loads: impl Fn(&Node) -> bool,
) -> Vec<Warning> {
    let policies = document.list("policies");
    let told = |policy: &Node| {
        let source = written_at(source, policy);
        let warn = move |message| Warning { source: source.clone(), message };
        guard_lints::of_guard(policy, tools).into_iter().map(warn).collect::<Vec<_>>()
    };
    policies.iter().filter(|policy| loads(policy)).flat_map(told).collect()
}

/// The tools that a profile can speak of.
pub(super) struct Tools<'t> {
    known: &'t [ToolSpec],
    /// Whether there are servers whose tools are not among them: which they bring is known only when they run.
    pub(super) more_to_come: bool,
}

impl<'t> Tools<'t> {
    pub(super) fn new(known: &'t [ToolSpec], document: &Node) -> Self {
        let servers = document.get("mcpServers").is_some_and(|it| !it.fields().is_empty());
        let asked = known.iter().any(|tool| tool.name.starts_with(OF_A_SERVER));
        Self { known, more_to_come: servers && !asked }
    }

    fn names(&self) -> impl Iterator<Item = &'t str> {
        self.known.iter().map(|tool| tool.name.as_str())
    }

    pub(super) fn fitting(&self, glob: &str) -> Vec<&'t ToolSpec> {
        match glob::Pattern::new(glob) {
            Ok(glob) => self.known.iter().filter(|tool| glob.matches(&tool.name)).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Whether every tool that the glob fits is known. One that is not a glob is reported as that.
    fn knows_all_of(&self, glob: &str) -> bool {
        glob::Pattern::new(glob).is_ok() && !(self.more_to_come && fits_a_server(glob))
    }

    /// What a glob that fits no tool nearly says: a tool's name, or a glob that fits one.
    fn meant_by(&self, glob: &str) -> Option<String> {
        let name = tool_meant(glob, self.known).map(str::to_owned);
        name.or_else(|| nearest_glob(glob, self.names()))
    }

    /// Each glob that fits no tool and nearly names one; `tell` gets those that resemble none.
    fn slips(&self, globs: &[Node], tell: &mut impl FnMut(&Node)) -> Vec<Problem> {
        let mut slips = Vec::new();
        for node in globs {
            let Some(glob) = node.text().filter(|glob| self.knows_all_of(glob)) else { continue };
            if !self.fitting(glob).is_empty() {
                continue;
            }
            match self.meant_by(glob) {
                Some(near) => slips.push(no_such_tool(glob, node.span.clone(), &near)),
                None => tell(node),
            }
        }
        slips
    }

    pub(super) fn fits_none(&self, glob: &Node, source: &str) -> Warning {
        let (glob, source) = (glob.text().unwrap_or_default(), written_at(source, glob));
        let names: Vec<&str> = self.names().collect();
        let message = format!("`{glob}` fits no tool there is; the tools are {}", names.join(", "));
        Warning { source, message }
    }
}

/// Fewer characters before or after the wildcards resemble too much.
const SHORTEST_PART: usize = 3;
/// One slip in so many characters is one; tools of another day may well begin like those there are.
const PER_SLIP: usize = 6;

/// `write_*` for `writ_*`: the glob with what stands before or after its wildcards spelt as in the name of a tool.
fn nearest_glob<'t>(glob: &str, names: impl Iterator<Item = &'t str>) -> Option<String> {
    let (before, _) = glob.split_once(['*', '?', '['])?;
    let (_, after) = glob.rsplit_once(['*', '?', ']'])?;
    let mut near: Vec<(usize, bool, String)> = Vec::new();
    for name in names {
        for (cut, _) in name.char_indices() {
            let (start, end) = name.split_at(cut);
            let inner = glob.get(before.len()..).unwrap_or_default();
            let outer = glob.get(..glob.len() - after.len()).unwrap_or_default();
            let (joins_before, joins_after) = (
                before.ends_with('_') == start.ends_with('_'),
                after.starts_with('_') == end.starts_with('_'),
            );
            for (written, valid, meant, joins) in [
                (before, start, format!("{start}{inner}"), joins_before),
                (after, end, format!("{outer}{end}"), joins_after),
            ] {
                let slips = edits(&written.to_lowercase(), valid);
                let fits = glob::Pattern::new(&meant).is_ok_and(|meant| meant.matches(name));
                let few = slips <= (written.len() / PER_SLIP).max(1);
                if written.len() >= SHORTEST_PART && few && fits {
                    near.push((slips, !joins, meant));
                }
            }
        }
    }
    near.into_iter().min().map(|(.., meant)| meant)
}

/// Whether a tool of some server could have a name that the glob fits.
pub(super) fn fits_a_server(glob: &str) -> bool {
    match glob.split_once(['*', '?', '[']) {
        None => glob.starts_with(OF_A_SERVER),
        Some((start, _)) => start.starts_with(OF_A_SERVER) || OF_A_SERVER.starts_with(start),
    }
}

/// What is wrong in agent.json itself; `tell` gets each glob that fits nothing and resembles nothing.
pub(super) fn slips(
    document: &Node,
    tools: &Tools<'_>,
    mut tell: impl FnMut(&Node),
) -> Vec<Problem> {
    let mut slips = tools.slips(&globs(document), &mut tell);
    for policy in document.list("policies") {
        let glob = policy.str("tool").unwrap_or_default();
        if tools.knows_all_of(glob) {
            rules_without_a_field(policy, &tools.fitting(glob), &mut slips);
        }
    }
    slips
}

/// The same for the personalities that have a folder.
pub(super) fn of_folders(
    (personalities, document, dir): (&BTreeMap<String, PersonalityConfig>, &Node, &Path),
    tools: &Tools<'_>,
    errors: &mut ProfileErrors,
    idle: &mut Vec<Warning>,
) {
    let inline = document.get("personalities");
    for name in personalities.keys() {
        if inline.is_some_and(|inline| inline.get(name).is_some()) {
            continue;
        }
        let file = format!("personalities/{name}/config.json");
        let Ok(source) = read_text(dir, &file) else { continue };
        let Some(config) = parse(&source).document else { continue };
        let globs = config.list("tools");
        let slips = tools.slips(globs, &mut |node| {
            let line = place(&source, node.span.start).0;
            let warning = tools.fits_none(node, &source);
            idle.push(Warning { source: format!("{file}:{line}"), ..warning });
        });
        errors.add(&file, &source, slips);
    }
}

fn no_such_tool(glob: &str, span: std::ops::Range<usize>, near: &str) -> Problem {
    let (message, help) = (format!("there is no tool `{glob}`"), format!("did you mean `{near}`?"));
    Problem::at(span, message, "fits no tool: it would never apply", help)
}

/// A guard looks at fields. One that none of its tools has is never there to be looked at.
fn rules_without_a_field(policy: &Node, tools: &[&ToolSpec], slips: &mut Vec<Problem>) {
    let known: Option<Vec<_>> = tools.iter().map(|tool| tool.fields()).collect();
    let Some(known) = known.filter(|known| !known.is_empty()) else { return };
    let fields: BTreeSet<&str> = known.into_iter().flatten().collect();
    let Some(kind) = policy.get("kind") else { return };
    // Of a tool that declares no paths, any field may hold one.
    let may_take_a_path = |tool: &&ToolSpec| match &tool.paths {
        Some(paths) => !paths.is_empty(),
        None => tool.fields().is_none_or(|mut fields| fields.next().is_some()),
    };
    let looks_at = match kind.text() {
        Some("shell") if !fields.contains("command") => "a `command`",
        Some("path") if !tools.iter().any(may_take_a_path) => "a path",
        Some("json") => return pointers_to_nothing(policy, &fields, slips),
        _ => return,
    };
    let message = format!("no tool that this guard is for takes {looks_at}");
    let label = "nothing to check";
    slips.push(Problem::at(kind.span.clone(), message, label, taken(&fields)));
}

fn taken(fields: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = fields.iter().copied().collect();
    match names.as_slice() {
        [] => "these tools take no arguments: remove the guard".to_owned(),
        names => {
            format!("these tools take: {}; `kind: \"json\"` guards any field", names.join(", "))
        }
    }
}

fn pointers_to_nothing(policy: &Node, fields: &BTreeSet<&str>, slips: &mut Vec<Problem>) {
    let rules = ["allow", "deny"].iter().filter_map(|key| policy.get(key)).flat_map(Node::items);
    for rule in rules {
        let pointer = rule.text().and_then(|text| text.split('=').next()?.strip_prefix('/'));
        let Some(field) = pointer.and_then(|pointer| pointer.split('/').next()) else { continue };
        if !fields.contains(field) {
            let message = format!("no tool that this guard is for takes `{field}`");
            let mut problem =
                Problem::new(rule.span.clone(), message).label("it would never apply");
            if let Some(near) = nearest(field, fields.iter().copied()) {
                problem = problem.help(format!("did you mean `{near}`?"));
            }
            slips.push(problem.help(taken(fields)));
        }
    }
}

/// The globs of tools that stand in agent.json.
fn globs(document: &Node) -> Vec<Node> {
    let mut nodes = Vec::new();
    for action in document.table("hooks").iter().flat_map(|bucket| bucket.value.items()) {
        nodes.extend_from_slice(action.list("tools"));
    }
    nodes.extend(document.list("policies").iter().filter_map(|policy| policy.get("tool").cloned()));
    for personality in document.table("personalities") {
        nodes.extend_from_slice(personality.value.list("tools"));
    }
    nodes.extend(document.table("tools").iter().flat_map(|list| list.value.items().to_vec()));
    nodes
}
