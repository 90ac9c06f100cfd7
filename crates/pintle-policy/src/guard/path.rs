//! Guards on resolved paths.

use super::{PatternError, Refusal, glob_of_names};
use crate::ToolSpec;
use crate::paths::resolve;
use crate::reach::Reach;
use glob::{MatchOptions, Pattern};
use serde_json::Value;
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Rules {
    pub(crate) fn new(allow: &[String], deny: &[String]) -> Result<Self, PatternError> {
        for rule in allow.iter().chain(deny) {
            glob_of_names(rule)?;
            if rule.starts_with('~') || rule.split('/').any(|part| part == "..") || rule.is_empty()
            {
                let message = format!(
                    "`{rule}` is not a rule for paths: write it relative to the workspace, or absolute, without `..` or `~`"
                );
                return Err(PatternError { message });
            }
        }
        Ok(Self { allow: allow.to_vec(), deny: deny.to_vec() })
    }

    /// `may_name_none`: whether a call without any path is none of this guard's business.
    pub(crate) fn judge(
        &self,
        tool: &ToolSpec,
        input: &Value,
        reach: &Reach,
        may_name_none: bool,
    ) -> Option<Refusal> {
        let workspace = match reach.workspace() {
            Ok(workspace) => workspace,
            Err(why) => return Some(unknown(why)),
        };
        let mut named = false;
        for field in tool.path_fields().filter(|field| input.get(field).is_some()) {
            named = true;
            let refusal = match reach.path(field) {
                Some(Ok(path)) => self.judge_one(path, workspace),
                Some(Err(why)) => Some(unknown(why)),
                None => Some(unknown(&format_args!("`{field}` is not a text"))),
            };
            if refusal.is_some() {
                return refusal;
            }
        }
        if tool.runs_commands && input.get("cwd").is_none() {
            named = true;
            if let Some(refusal) = self.judge_one(workspace, workspace) {
                return Some(refusal);
            }
        }
        // Where a tool may do without a path that it declares, no deny rule means that.
        (!named && !may_name_none && (tool.paths.is_none() || !self.allow.is_empty())).then(|| {
            Refusal::unreadable("the call names no path, so the path guard cannot judge it")
        })
    }

    fn judge_one(&self, path: &Path, workspace: &Path) -> Option<Refusal> {
        let shown = format!("`{}`", path.display());
        if let Some(rule) = self.deny.iter().find(|rule| may_cover(rule, path, workspace)) {
            return Some(Refusal::denied(&shown, rule));
        }
        let allowed = self.allow.is_empty()
            || self.allow.iter().any(|rule| surely_covers(rule, path, workspace));
        (!allowed).then(|| Refusal::not_allowed(&shown))
    }
}

fn unknown(why: &dyn Display) -> Refusal {
    Refusal::unreadable(format!("{why}, so the path guard cannot judge it"))
}

/// Whether the rule could match the path or a folder above it: also if it is not known where the rule leads.
fn may_cover(rule: &str, path: &Path, workspace: &Path) -> bool {
    absolute(rule, workspace).is_none_or(|(pattern, _)| matches(&pattern, path))
}

/// Whether the rule matches the path or a folder above it, letter by letter: two names that are not UTF-8 can look
/// the same.
fn surely_covers(rule: &str, path: &Path, workspace: &Path) -> bool {
    path.to_str().is_some()
        && absolute(rule, workspace)
            .is_some_and(|(pattern, exact)| exact && matches(&pattern, path))
}

fn matches(pattern: &Pattern, path: &Path) -> bool {
    path.ancestors().any(|part| pattern.matches_with(&part.to_string_lossy(), OPTIONS))
}

/// The rule as a pattern on resolved paths: the folders before its first glob are resolved like any path. And whether
/// it could be written down exactly. `src/**` is `src`: a rule covers what is in a folder anyway.
fn absolute(rule: &str, workspace: &Path) -> Option<(Pattern, bool)> {
    let mut fixed = PathBuf::from(if rule.starts_with('/') { "/" } else { "" });
    let mut rest: Vec<&str> = Vec::new();
    for part in rule.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if rest.is_empty() && !part.contains(['*', '?', '[']) {
            fixed.push(part);
        } else {
            rest.push(part);
        }
    }
    while rest.last() == Some(&"**") {
        rest.pop();
    }
    let fixed = resolve(workspace, &fixed).ok()?;
    let mut text = Pattern::escape(&fixed.to_string_lossy());
    for part in rest {
        if !text.ends_with('/') {
            text.push('/');
        }
        text.push_str(part);
    }
    Some((Pattern::new(&text).ok()?, fixed.to_str().is_some()))
}
