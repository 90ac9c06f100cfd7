//! What a person approved beyond one call (R11.7).

use std::{fmt, path::Path};

use pintle_policy::{
    Guard, GuardKind, Reach, ToolSpec, Zone,
    guard::{judge_all, rule_for_line},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::FinalCall;

/// Calls that run without a question, because a person said so about all that fit.
///
/// It answers the zone's question alone: what a hook asks, and what a second attempt would be granted, is asked as ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// The tool's name.
    pub tool: String,
    /// What its calls must fit: an allow rule of a guard for commands or paths. A tool that takes neither has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// How `allow` is written, where that is known: it is shown by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<GuardKind>,
    /// The widest zone in which it holds.
    pub zone: Zone,
}

impl ApprovalRule {
    /// Whether it covers a call that reaches this far: every command of a line fits it, and so does every path.
    pub(crate) fn covers(
        &self,
        tool: &ToolSpec,
        call: &FinalCall,
        reach: &Reach,
        zone: Zone,
    ) -> bool {
        let fits = |guards: Vec<Guard>| judge_all(&guards, tool, call.args(), reach).is_none();
        self.tool == tool.name && zone <= self.zone && self.guards(tool).is_some_and(fits)
    }

    fn guards(&self, tool: &ToolSpec) -> Option<Vec<Guard>> {
        let allow = |kind, rule: &str| Guard::new("*", kind, &[rule.to_owned()], &[], "").ok();
        match (tool.rule_kind(), &self.allow) {
            // A command is approved for the workspace: elsewhere the same words mean something else.
            (Some(GuardKind::Shell), Some(rule)) => {
                Some(vec![allow(GuardKind::Shell, rule)?, allow(GuardKind::Path, "**")?])
            }
            (Some(kind), Some(rule)) => Some(vec![allow(kind, rule)?]),
            (None, None) => Some(Vec::new()),
            (Some(_), None) | (None, Some(_)) => None,
        }
    }

    /// The rule to offer with the question about a call; none where a rule would say too little about what runs.
    pub(crate) fn offered(
        tool: &ToolSpec,
        call: &FinalCall,
        reach: &Reach,
        zone: Zone,
    ) -> Option<Self> {
        let kind = tool.rule_kind();
        let allow = match kind {
            Some(GuardKind::Shell) => {
                Some(rule_for_line(call.args().get("command").and_then(Value::as_str)?)?)
            }
            Some(_) => Some(rule_for_path(tool, reach, zone)?),
            // Its name does not say where on this machine it would reach.
            None if zone > Zone::External => return None,
            None => None,
        };
        let rule = Self { tool: tool.name.clone(), allow, kind, zone };
        rule.covers(tool, call, reach, zone).then_some(rule)
    }
}

/// The folder of a file in the workspace; of a file elsewhere, the file.
fn rule_for_path(tool: &ToolSpec, reach: &Reach, zone: Zone) -> Option<String> {
    // One rule cannot speak of two paths.
    let [field] = tool.paths.as_deref()? else { return None };
    let real = reach.path(field)?.ok()?;
    let inside = real.strip_prefix(reach.workspace().ok()?).ok();
    let folder = inside.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let rule = match folder.filter(|_| zone < Zone::Machine) {
        Some(folder) => format!("{}/**", folder.to_str()?),
        None => inside.unwrap_or(real).to_str()?.to_owned(),
    };
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+=@%, ".contains(c);
    rule.trim_end_matches("/**").chars().all(is_plain).then_some(rule)
}

/// As it is shown: `git push *`, `edit_file src/**`, `mcp__tracker__close`.
impl fmt::Display for ApprovalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.allow, self.kind) {
            (Some(allow), Some(GuardKind::Shell)) => f.write_str(allow),
            (Some(allow), _) => write!(f, "{} {allow}", self.tool),
            (None, _) => f.write_str(&self.tool),
        }
    }
}

/// A rule that stands, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRule {
    /// The rule.
    pub rule: ApprovalRule,
    /// Where it is written, like `pintle.toml:12`; `None` when it ends with the session.
    pub written: Option<String>,
}

impl fmt::Display for StandingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(at) => write!(f, "the rule `{}` (always, {at})", self.rule),
            None => write!(f, "the rule `{}` (this session)", self.rule),
        }
    }
}

#[cfg(test)]
mod tests;
