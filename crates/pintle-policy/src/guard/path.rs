//! Guards on resolved paths.

use super::{PatternError, Refusal, glob};
use crate::judge::PATH_FIELDS;
use crate::paths::resolve;
use glob::{MatchOptions, Pattern};
use serde_json::Value;
use std::path::{Path, PathBuf};

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
            glob(rule)?;
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

    pub(crate) fn judge(&self, input: &Value, workspace: &Path) -> Option<Refusal> {
        let Some(workspace) = resolve(workspace, Path::new("")) else {
            return Some(Refusal::unreadable("the workspace cannot be resolved"));
        };
        let mut named = false;
        for field in PATH_FIELDS {
            let Some(value) = input.get(field) else { continue };
            let Some(written) = value.as_str() else {
                return Some(Refusal::unreadable(format!(
                    "`{field}` is not a text, so the path guard cannot judge it"
                )));
            };
            named = true;
            let Some(path) = resolve(&workspace, Path::new(written)) else {
                return Some(Refusal::unreadable(format!(
                    "`{written}` cannot be resolved, so the path guard cannot judge it"
                )));
            };
            let shown = format!("`{}`", path.display());
            if let Some(rule) = self.deny.iter().find(|rule| covers(rule, &path, &workspace)) {
                return Some(Refusal::denied(&shown, rule));
            }
            if !self.allow.is_empty()
                && !self.allow.iter().any(|rule| covers(rule, &path, &workspace))
            {
                return Some(Refusal::not_allowed(&shown));
            }
        }
        (!named && !self.allow.is_empty()).then(|| {
            Refusal::unreadable("the call names no path, so the path guard cannot allow it")
        })
    }
}

/// Whether the rule matches the path or a folder above it.
fn covers(rule: &str, path: &Path, workspace: &Path) -> bool {
    let Some(pattern) = absolute(rule, workspace) else { return false };
    path.ancestors().any(|part| pattern.matches_path_with(part, OPTIONS))
}

/// The rule as a pattern on resolved paths: the folders before its first glob are resolved like any path.
fn absolute(rule: &str, workspace: &Path) -> Option<Pattern> {
    let mut fixed = PathBuf::new();
    let mut rest: Vec<&str> = Vec::new();
    for part in rule.trim_end_matches('/').split('/') {
        if rest.is_empty() && !part.contains(['*', '?', '[']) {
            fixed.push(if part.is_empty() { "/" } else { part });
        } else {
            rest.push(part);
        }
    }
    let fixed = resolve(workspace, &fixed)?;
    let mut text = Pattern::escape(fixed.to_str()?);
    for part in rest {
        if !text.ends_with('/') {
            text.push('/');
        }
        text.push_str(part);
    }
    Pattern::new(&text).ok()
}
