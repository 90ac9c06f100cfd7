//! `[[approvals]]` in pintle.toml: what a person approved once and for all (R11.7).

use crate::document::Node;
use crate::report::{Problem, place};
use pintle_policy::{Guard, GuardKind, ToolSpec, Zone, tool_meant};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::ops::Range;
use std::path::PathBuf;

/// A rule of the operator's file: no one is asked about calls that fit it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenRule {
    /// The tool's name.
    pub tool: String,
    /// The rule that its calls must fit, for commands or for paths. A tool that takes neither has none.
    pub allow: Option<String>,
    /// The widest zone in which it holds.
    #[schemars(schema_with = "zones")]
    pub zone: Zone,
    /// The folder in which it holds; everywhere, if it is left out.
    pub workspace: Option<PathBuf>,
    /// Who gave it.
    pub by: Option<String>,
    /// When it was given.
    pub since: Option<String>,
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// Its lines as bytes of the file; empty when it stands in a list in brackets.
    #[serde(skip)]
    pub span: Range<usize>,
}

/// No one is asked about a call in the first zone, and no one can approve one in the last.
fn zones(_: &mut SchemaGenerator) -> Schema {
    let is_asked = |zone: &Zone| !matches!(zone, Zone::Safe | Zone::Never);
    let asked: Vec<&str> = Zone::ALL.into_iter().filter(is_asked).map(Zone::name).collect();
    json_schema!({ "enum": asked })
}

/// Adds where in the file each rule is written.
pub(super) fn place_all(rules: &mut [WrittenRule], file: &Node, text: &str) {
    for (rule, table) in rules.iter_mut().zip(file.list("approvals")) {
        rule.line = place(text, table.span.start).0;
        rule.span = lines(table, text).unwrap_or_default();
    }
}

/// From the `[[approvals]]` of a table, with a blank line before it, to the end of its last line.
fn lines(table: &Node, text: &str) -> Option<Range<usize>> {
    let header = text.get(..table.span.start)?.rfind('\n').map_or(0, |at| at + 1);
    if !text.get(header..)?.trim_start().starts_with("[[") {
        return None;
    }
    let last = table.fields().iter().map(|field| field.value.span.end).max()?;
    let end = text.get(last..)?.find('\n').map_or(text.len(), |at| last + at + 1);
    let start = if text.get(..header)?.ends_with("\n\n") { header - 1 } else { header };
    Some(start..end)
}

/// What no schema can say of the rules.
pub(super) fn check(file: &Node, tools: &[ToolSpec]) -> Vec<Problem> {
    let rules = file.list("approvals");
    rules.iter().flat_map(|rule| check_one(rule, tools)).collect()
}

fn check_one(rule: &Node, tools: &[ToolSpec]) -> Vec<Problem> {
    let Some((tool, named)) = rule.get("tool").and_then(|node| Some((node.text()?, node))) else {
        return Vec::new();
    };
    let allow = rule.get("allow").and_then(|node| Some((node.text()?, node)));
    let mut problems = Vec::new();
    let kind = tools.iter().find(|it| it.name == tool).and_then(ToolSpec::rule_kind);
    match (kind, allow) {
        _ if tools.is_empty() => {}
        (Some(kind), Some((pattern, node))) => {
            let wrong = match Guard::check_rule(kind, pattern) {
                Err(error) => Some(error.message),
                Ok(()) if kind == GuardKind::Shell && pattern.trim().starts_with('>') => {
                    Some(format!("`{pattern}` names no program, so it covers no command"))
                }
                Ok(()) => None,
            };
            let problem = wrong.map(|wrong| Problem::new(node.span.clone(), wrong));
            problems.extend(problem.map(|it| it.label("expected a rule as in `policies`")));
        }
        (Some(kind), None) => {
            let example = if kind == GuardKind::Shell { "git push *" } else { "src/**" };
            let message = format!("a rule for `{tool}` needs `allow`");
            let help = format!("add `allow = \"{example}\"`");
            problems.push(Problem::at(named.span.clone(), message, "", help));
        }
        (None, Some((_, node))) => {
            let message = format!("`allow` has no meaning for `{tool}`");
            let with_rules = tools.iter().filter(|it| it.rule_kind().is_some());
            let help = match tool_meant(tool, with_rules) {
                Some(near) => format!("did you mean the tool `{near}`?"),
                None => "remove it".to_owned(),
            };
            let label = "a rule for it covers every call";
            problems.push(Problem::at(node.span.clone(), message, label, help));
        }
        (None, None) => {}
    }
    if let Some(folder) = rule.get("workspace")
        && folder.text().is_some_and(|path| !path.starts_with('/'))
    {
        let help = "write it from the root, or leave it out: then the rule holds everywhere";
        let what = "`workspace` must be an absolute path";
        problems.push(Problem::at(folder.span.clone(), what, "", help));
    }
    problems
}
