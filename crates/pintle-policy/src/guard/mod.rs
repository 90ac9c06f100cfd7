//! Guards: input rejected by pattern before anything runs (R11.1).
//!
//! A guard states intent: it refuses what a call plainly says. What a process may do whatever its line says is held by its
//! [zone](crate::Zone).
//!
//! A guard names tools by glob and judges their input in one of three ways. A `deny` rule that matches refuses the call.
//! If there are `allow` rules, everything the call names must match one of them. A command that cannot be parsed, and one whose
//! program is decided at run time (`$X y`), is refused.
//!
//! - **shell**: the field `command`, parsed; its rules are described below.
//! - **path**: the fields that the tool declares as paths, with links and `..` resolved. A command without a `cwd` runs in
//!   the workspace, so that is its path. A rule is a glob relative to the workspace, or absolute; `*` stays inside one folder,
//!   `**` does not. A rule that matches a folder covers what is in it, and `src/**` covers `src` too.
//!   Of a tool that declares none (an MCP server's, say) the fields `path`, `file_path`, `filePath` and `cwd` are looked at; guard
//!   its other fields by a json rule.
//! - **json**: a rule is `/pointer` (the field is there) or `/pointer=glob` (its text matches). In a list, a deny rule
//!   looks for one matching element, an allow rule wants all to match.
//!
//! A guard ignores a tool that declares no `command`, or no path: `tool: "*"` means wherever there is one. Of
//! a tool that declares nothing the guard for `*` looks at what is there; one that names it (`mcp__files__*`) refuses a call in
//! which it finds nothing to judge.
//!
//! A glob has `*` (any text), `**` (in paths, any folders), `?` (one character), `[ab]` (one of them) and `[!ab]` (any other one);
//! `[*]` is the star itself. What means something to other readers of globs and nothing here (`{a,b}`, `!a`, `a, b`,
//! `[^a]`, `@(a|b)`, `$HOME`, `git push:*`) does not load.
//!
//! # Rules for commands
//!
//! A rule is words, each a glob, separated by blanks. The first names the program. It is compared with every simple command of the line:
//! in lists, pipes, substitutions, here-documents, `sh -c` and `eval` texts, and behind the wrappers `env`, `sudo`, `nohup`, `nice`, `time`,
//! `timeout`, `xargs`, `find -exec`, `command` and `exec`. Variables are not followed, and what other programs do with their arguments is
//! not known.
//!
//! - `rm` is any `rm`, whatever its arguments; `git push` is any `git push`; a last `*` says the same and may be left out.
//! - As **deny**, a rule also matches through a folder (`/bin/rm`), past options (`git -C x push`), and letters of options in any
//!   order or grouping, long and abbreviated too (`rm -rf` also stops `rm -f -r`, `rm --recursive --force` and `rm --rec --fo`). An argument
//!   that is decided at run time may be anything. Of programs with subcommands the first word says what they do: `git log push` is not
//!   `git push`, `make all deploy` is `make deploy` as well. A word may be a file, in every spelling and also behind `<`: `cat .env` also stops
//!   `cat ./.env` and `cat < .env`.
//! - As **allow**, a rule matches word by word from the first one, and only words that are known. Variables set in front
//!   (`A=1 ls`) are words too, and a program given by its folder is another program.
//! - `> glob` is about the files that a command names behind `>`, by where they are in the workspace, or by the whole path. With `allow`
//!   rules and none of these, only `/dev/null` may be written to.
//! - A wrapper or a shell (`sudo`, `env`, `sh -c`) must be allowed, and so must what it runs.

mod advice;
mod globs;
mod json;
mod operands;
mod path;
mod shell;
mod standing;

use glob::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

use crate::{Reach, ToolSpec};
use globs::glob;
pub use globs::{glob_of_names, name_meant};
pub use standing::rule_for_line;

/// How a guard looks at a call's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    /// The parsed `command`.
    Shell,
    /// The resolved paths.
    Path,
    /// The fields as they are.
    Json,
}

/// Why a guard refused a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// In words, for the model and the person.
    pub reason: String,
    /// The rule that decided, as written; none when the input could not be read.
    pub rule: Option<String>,
    /// Where the rule that decided is written, like `agent.json:14`; where the guard is, when no single rule did.
    pub source: String,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatternError {
    /// What is wrong and what would be right.
    pub message: String,
}

#[derive(Debug, Clone)]
enum Rules {
    Shell(shell::Rules),
    Path(path::Rules),
    Json(json::Rules),
}

/// One guard, ready to judge.
#[derive(Debug, Clone)]
pub struct Guard {
    tool: Pattern,
    rules: Rules,
    source: String,
    deny_sources: BTreeMap<String, String>,
    shadow: bool,
}

impl Guard {
    /// Checks that a rule can be used with a kind, without building a guard.
    ///
    /// # Errors
    /// With what is wrong with the pattern.
    pub fn check_rule(kind: GuardKind, rule: &str) -> Result<(), PatternError> {
        let rule = [rule.to_owned()];
        Self::new("*", kind, &rule, &[], "").map(|_| ())
    }

    /// Builds a guard; `source` says where it is written.
    ///
    /// # Errors
    /// When a glob or a rule cannot be read.
    pub fn new(
        tool: &str,
        kind: GuardKind,
        allow: &[String],
        deny: &[String],
        source: &str,
    ) -> Result<Self, PatternError> {
        let rules = match kind {
            GuardKind::Shell => Rules::Shell(shell::Rules::new(allow, deny)?),
            GuardKind::Path => Rules::Path(path::Rules::new(allow, deny)?),
            GuardKind::Json => Rules::Json(json::Rules::new(allow, deny)?),
        };
        Ok(Self {
            tool: glob_of_names(tool)?,
            rules,
            source: source.to_owned(),
            deny_sources: BTreeMap::new(),
            shadow: false,
        })
    }

    /// Where each of its deny rules is written, for who asks which line refused a call. Of two that are the same the first.
    #[must_use]
    pub fn with_deny_sources(
        mut self,
        sources: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        for (rule, source) in sources {
            self.deny_sources.entry(rule).or_insert(source);
        }
        self
    }

    /// The same in shadow mode: what it would refuse is recorded, and runs.
    #[must_use]
    pub fn in_shadow(self, shadow: bool) -> Self {
        Self { shadow, ..self }
    }

    /// Whether this guard looks at that tool at all.
    #[must_use]
    pub fn covers(&self, tool: &str) -> bool {
        self.tool.matches(tool)
    }

    /// The refusal, if this guard refuses the call, whose input `reach` was made of.
    #[must_use]
    pub fn judge(&self, tool: &ToolSpec, input: &Value, reach: &Reach) -> Option<Denial> {
        if !self.covers(&tool.name) {
            return None;
        }
        let may_be_without = |takes_it: bool| match &tool.paths {
            None => is_for_all(&self.tool),
            Some(_) => !takes_it,
        };
        let refusal = match &self.rules {
            Rules::Shell(_)
                if input.get("command").is_none() && may_be_without(tool.runs_commands) =>
            {
                return None;
            }
            Rules::Shell(rules) => rules.judge(input, reach),
            Rules::Path(rules) => {
                let takes_a_path = tool.paths.as_ref().is_some_and(|paths| !paths.is_empty());
                rules.judge(tool, input, reach, may_be_without(takes_a_path))
            }
            Rules::Json(rules) => rules.judge(input),
        }?;
        // Only a deny rule decides alone: what is not allowed fits none of them all.
        let source = refusal.rule.as_ref().and_then(|rule| self.deny_sources.get(rule));
        let source = source.unwrap_or(&self.source).clone();
        Some(Denial { reason: refusal.reason, rule: refusal.rule, source })
    }
}

/// Whether it names no tool in particular.
fn is_for_all(tools: &Pattern) -> bool {
    tools.as_str().bytes().all(|byte| byte == b'*')
}

/// The first refusal among the guards, in the order written. Those in shadow mode refuse nothing.
#[must_use]
pub fn judge_all(
    guards: &[Guard],
    tool: &ToolSpec,
    input: &Value,
    reach: &Reach,
) -> Option<Denial> {
    guards.iter().filter(|guard| !guard.shadow).find_map(|guard| guard.judge(tool, input, reach))
}

/// What the guards in shadow mode would refuse.
pub fn judge_in_shadow<'a>(
    guards: &'a [Guard],
    tool: &'a ToolSpec,
    input: &'a Value,
    reach: &'a Reach,
) -> impl Iterator<Item = Denial> + 'a {
    guards.iter().filter(|guard| guard.shadow).filter_map(|guard| guard.judge(tool, input, reach))
}

struct Refusal {
    reason: String,
    rule: Option<String>,
}

impl Refusal {
    fn denied(what: &str, rule: &str) -> Self {
        Self {
            reason: format!("{what} is denied by the rule `{rule}`"),
            rule: Some(rule.to_owned()),
        }
    }

    fn not_allowed(what: &str) -> Self {
        Self { reason: format!("{what} is not among what is allowed"), rule: None }
    }

    /// The same, with the rule that would allow it.
    fn not_among(what: &str, rule: Option<&str>) -> Self {
        let mut refusal = Self::not_allowed(what);
        if let Some(rule) = rule {
            refusal.reason.push_str(&format!(": to allow it, write `{rule}` in `allow`"));
        }
        refusal
    }

    fn unreadable(why: impl Into<String>) -> Self {
        Self { reason: why.into(), rule: None }
    }
}

/// Reads each rule of a list as its kind of guard does.
fn each<R>(
    rules: &[String],
    read: impl Fn(&str) -> Result<R, PatternError>,
) -> Result<Vec<R>, PatternError> {
    rules.iter().map(|rule| read(rule)).collect()
}
