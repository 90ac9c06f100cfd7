//! The text of a question for `pintle chat`, `pintle approvals show` and the web page: what would run, the reason for the
//! question, and the keys that answer it (R11.4, R11.7).

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

use pintle_actions::Scrubber;
use pintle_agent::{ApprovalRequest, ApprovalRule, store::Approval};
use pintle_gateway::{LineKind, QuestionLine, QuestionText};
use pintle_policy::Zone;
use pintle_profile::{OPERATOR_FILE, visible};
use pintle_sandbox::Grant;
use serde_json::Value;
use similar::ChangeTag;

use crate::{
    shown::{Show, Shown, bold, dim, green, json, text},
    term::{Diff, DiffPart, Glyph, columns, command_lines, left, plural, size, wrap},
};

/// More lines of a command or a file are cut in the middle until `d` shows them.
const MOST_LINES: usize = 20;
/// A longer file is not compared.
const LONGEST_FILE: u64 = 1024 * 1024;
/// In a narrower terminal, the id is below the title.
const NARROW: usize = 60;

/// A question, from a run that asks or from the store.
pub(crate) struct Question<'q> {
    id: &'q str,
    tool: &'q str,
    args: Value,
    args_hash: &'q str,
    reason: String,
    pub(super) rule: Option<&'q ApprovalRule>,
    expires_at: u64,
    zone: Option<Zone>,
    workspace: &'q Path,
}

/// The subject of a call.
enum Subject<'q> {
    Command(&'q str),
    /// `before` is `None` for a new file; `first` is the number of the first line.
    Change {
        before: Option<String>,
        after: &'q str,
        first: usize,
    },
    Task(&'q str),
    /// The title contains the path; other arguments follow.
    Path,
    Arguments,
}

/// The text above the keys.
pub(crate) struct Text {
    pub(crate) lines: Vec<Shown>,
    /// Whether something is left out. `y` is then offered only after `d` has shown all of it.
    pub(crate) is_cut: bool,
}

impl<'q> Question<'q> {
    pub(crate) fn of_request(
        request: &'q ApprovalRequest,
        workspace: &'q Path,
        scrubber: &Scrubber,
    ) -> Self {
        Self {
            id: &request.approval_id,
            tool: &request.tool_name,
            args: scrubbed(&request.args, scrubber),
            args_hash: &request.args_hash,
            reason: scrubber.scrub(&request.reason).into_owned(),
            rule: request.rule.as_ref(),
            expires_at: request.expires_at,
            zone: Some(request.zone),
            workspace,
        }
    }

    pub(crate) fn of_stored(
        approval: &'q Approval,
        workspace: &'q Path,
        scrubber: &Scrubber,
    ) -> Self {
        Self {
            id: &approval.id,
            tool: &approval.tool,
            args: scrubbed(&approval.args, scrubber),
            args_hash: &approval.args_hash,
            reason: scrubber.scrub(&approval.reason).into_owned(),
            rule: approval.rule.as_ref(),
            expires_at: approval.expires_at,
            zone: None,
            workspace,
        }
    }

    /// The call on one line and the reason for the question, for a list.
    pub(super) fn row(&self) -> (Shown, Shown) {
        (crate::term::call(self.tool, &self.args), self.reason.shown())
    }

    /// Whether a row shows all of it, so that one answer to several calls may cover it.
    pub(super) fn fits_a_row(&self) -> bool {
        let is_line = match self.tool {
            "terminal" => {
                let command = self.word("command").unwrap_or_default();
                command.trim_end().lines().count() == 1 && self.other_args(&["command"]).is_none()
            }
            "read_file" | "list_dir" => true,
            _ => false,
        };
        is_line && self.zone.is_some_and(|zone| zone < Zone::Machine)
    }

    pub(super) fn short_id(&self) -> String {
        short(self.id)
    }

    fn word(&self, key: &str) -> Option<&str> {
        self.args.get(key).and_then(Value::as_str)
    }

    /// The title, the call and the reason for the question; uncut with `whole`.
    pub(crate) fn text(&self, now: u64, width: usize, whole: bool) -> Text {
        let (title, body, is_cut) = self.body(width, whole);
        let title = text!("{} {}", Glyph::Ask, title);
        let time = text!(
            "{} · {} left",
            short(self.id),
            left((self.expires_at + 999).saturating_sub(now))
        );
        let gap = width.saturating_sub(columns(&title) + columns(&time));
        let mut lines = match width >= NARROW && gap > 1 {
            true => vec![text!("{}{}{}", title, " ".repeat(gap), dim(time))],
            false => wrapped(&title, width, 2).chain([text!("  {}", dim(time))]).collect(),
        };
        let why: Vec<Shown> = wrapped(&text!("  {}", sentence(&self.reason)), width, 2).collect();
        match self.tool {
            // The reason speaks of a file: the change comes last, next to the keys.
            "edit_file" | "write_file" => lines.extend(why.into_iter().chain(body)),
            _ => lines.extend(body.into_iter().chain(why)),
        }
        Text { lines, is_cut }
    }

    /// The title and the subject of the question. The terminal and the page both draw these.
    fn subject(&self) -> (String, Subject<'_>) {
        let granted: Vec<Grant> = self
            .args
            .get("grants")
            .and_then(|grants| serde_json::from_value(grants.clone()).ok())
            .unwrap_or_default();
        let granted: Vec<String> = granted.iter().map(ToString::to_string).collect();
        let text = |key: &str| self.word(key).unwrap_or_default();
        match (self.tool, self.word("path")) {
            ("terminal", _) => {
                let title = match (granted.is_empty(), text("command").trim_end().lines().count()) {
                    (false, _) => format!("Run it again, allowed to {}?", granted.join(" and to ")),
                    (true, 0..=1) => "Run this command?".to_owned(),
                    (true, _) => "Run this script?".to_owned(),
                };
                (title, Subject::Command(text("command")))
            }
            ("edit_file", Some(path)) => {
                let (old, new) = (text("old"), text("new"));
                let first =
                    self.current(path).and_then(|text| first_line_of(&text, old)).unwrap_or(1);
                let before = Some(old.to_owned());
                (format!("Edit {path}?"), Subject::Change { before, after: new, first })
            }
            ("write_file", Some(path)) => {
                let before = self.current(path);
                let title = match &before {
                    Some(_) => format!("Overwrite {path}?"),
                    None => format!("Write a new file, {path}?"),
                };
                (title, Subject::Change { before, after: text("content"), first: 1 })
            }
            ("delegate", _) => {
                ("Start a sub-agent with this task?".to_owned(), Subject::Task(text("task")))
            }
            ("read_file", Some(path)) => (format!("Read {path}?"), Subject::Path),
            ("list_dir", Some(path)) => (format!("List {path}?"), Subject::Path),
            (tool, _) => {
                let name = tool.strip_prefix("mcp__").unwrap_or(tool).replacen("__", ".", 1);
                (format!("Call {name}?"), Subject::Arguments)
            }
        }
    }

    fn body(&self, width: usize, whole: bool) -> (Shown, Vec<Shown>, bool) {
        let (title, subject) = self.subject();
        let title = bold(title);
        match subject {
            Subject::Command(command) => {
                let (mut lines, is_cut) = block(command_lines(command), "$ ", width, whole);
                lines.extend(self.other_args(&["command", "grants"]).map(|it| indented_dim(&it)));
                (title, lines, is_cut)
            }
            Subject::Change { before, after, first } => {
                let diff = Diff::between(before.as_deref().unwrap_or_default(), after);
                let size = match &before {
                    Some(_) => diff.counts(),
                    None => size_of(after).shown(),
                };
                let (lines, is_cut) = cut(diff.lines(1, first, width.saturating_sub(2)), whole);
                (text!("{}  {}", title, size), indented(lines), is_cut)
            }
            Subject::Task(task) => {
                let (lines, is_cut) = block(bold_lines(task), "", width, whole);
                (title, lines, is_cut)
            }
            Subject::Path => (
                title,
                self.other_args(&["path"]).map(|it| indented_dim(&it)).into_iter().collect(),
                false,
            ),
            Subject::Arguments => {
                let lines = self.args.as_object().into_iter().flatten();
                let lines = lines.flat_map(|(key, value)| argument(key, value, width));
                let (lines, is_cut) = cut(lines.collect(), whole);
                (title, lines, is_cut)
            }
        }
    }

    /// The question for the web page: the same text, complete and without hidden characters.
    pub(crate) fn in_words(&self) -> QuestionText {
        let (title, subject) = self.subject();
        let plain = |text: &str| -> Vec<QuestionLine> {
            text.trim_end().lines().map(|line| QuestionLine::new(LineKind::Plain, line)).collect()
        };
        let note = |text: String| QuestionLine::new(LineKind::Note, text);
        let (mut lines, size) = match subject {
            Subject::Command(command) => {
                let rest = self.other_args(&["command", "grants"]).map(note);
                (plain(&format!("$ {command}")).into_iter().chain(rest).collect(), String::new())
            }
            Subject::Change { before, after, first } => {
                let diff = Diff::between(before.as_deref().unwrap_or_default(), after);
                let (added, removed) = diff.changed();
                let size = match &before {
                    Some(_) => format!("+{added} -{removed}"),
                    None => size_of(after),
                };
                (diff.parts(1, first).into_iter().map(line_of).collect(), size)
            }
            Subject::Task(task) => (plain(task), String::new()),
            Subject::Path => {
                (self.other_args(&["path"]).map(note).into_iter().collect(), String::new())
            }
            Subject::Arguments => {
                let mut lines = Vec::new();
                for (key, value) in self.args.as_object().into_iter().flatten() {
                    match value.as_str() {
                        Some(text) if text.contains('\n') => {
                            lines.push(note(format!("{key}:")));
                            lines.extend(plain(text));
                        }
                        Some(text) => lines.extend(plain(&format!("{key}: {text}"))),
                        None => lines.extend(plain(&format!("{key}: {value}"))),
                    }
                }
                (lines, String::new())
            }
        };
        for line in &mut lines {
            line.text = visible(&line.text).into_owned();
        }
        QuestionText {
            title: visible(&title).into_owned(),
            size,
            lines,
            reason: sentence(&self.reason).as_str().to_owned(),
            folder: visible(&self.workspace.to_string_lossy()).into_owned(),
        }
    }

    /// The file as it is now, for comparing; a device or a pipe is not read.
    fn current(&self, path: &str) -> Option<String> {
        let path = self.workspace.join(path);
        let is_file = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= LONGEST_FILE);
        let mut text = String::new();
        File::open(path)
            .ok()
            .filter(|_| is_file)?
            .take(LONGEST_FILE)
            .read_to_string(&mut text)
            .ok()?;
        Some(text)
    }

    /// The arguments that are not shown elsewhere.
    fn other_args(&self, shown: &[&str]) -> Option<String> {
        let rest = self.args.as_object().into_iter().flatten();
        let rest = rest.filter(|(key, value)| !shown.contains(&key.as_str()) && !value.is_null());
        let rest: Vec<String> = rest.map(|(key, value)| format!("{key}: {value}")).collect();
        (!rest.is_empty()).then(|| rest.join(" · "))
    }

    /// For `d`: all stored facts.
    pub(crate) fn details(&self, width: usize) -> Vec<Shown> {
        let args = json(&self.args).unwrap_or_else(|_| self.args.shown());
        let facts = [
            ("zone", self.zone.map(|zone| zone.name().shown())),
            ("args", Some(args)),
            ("folder", Some(self.workspace.shown())),
            ("hash", Some(self.args_hash.shown())),
            ("id", Some(self.id.shown())),
        ];
        let known = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?)));
        known
            .flat_map(|(name, fact)| {
                wrapped(&text!("  {:<9} {}", name, fact), width, 12).map(dim).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The line that a rule for good adds to the operator's file.
    pub(super) fn written_rule(&self, rule: &ApprovalRule) -> Shown {
        let allow = rule.allow.as_deref().unwrap_or("*");
        let folder = self.workspace.shown();
        green(text!(
            "+ │ [[approvals]] tool = \"{}\", allow = \"{}\", zone = \"{}\", workspace = \"{}\"",
            rule.tool,
            allow,
            rule.zone.name(),
            folder
        ))
    }

    /// Why the question offers no rule.
    pub(super) fn no_rule(&self) -> &'static str {
        match () {
            () if self.args.get("grants").is_some() => {
                "what the kernel refused is granted once only"
            }
            () if self.reason.contains("hook `") => "a rule never answers for a hook",
            () => "none would be narrow enough",
        }
    }
}

/// The calls that the rule covers, in words.
pub(super) fn rule_in_words(rule: &ApprovalRule) -> Shown {
    match rule.tool.as_str() {
        "terminal" => text!("every `{}`", rule.allow.as_deref().unwrap_or_default()),
        "edit_file" => text!("edits of {}", rule.allow.as_deref().unwrap_or_default()),
        "write_file" => text!("writes of {}", rule.allow.as_deref().unwrap_or_default()),
        "read_file" => text!("reads of {}", rule.allow.as_deref().unwrap_or_default()),
        _ => text!("every `{}`", rule.to_string()),
    }
}

/// The file of rules that outlive the program.
pub(super) fn rules_file_name(file: Option<&Path>) -> String {
    file.map_or_else(|| OPERATOR_FILE.to_owned(), |file| file.display().to_string())
}

fn scrubbed(args: &Value, scrubber: &Scrubber) -> Value {
    let mut args = args.clone();
    scrubber.scrub_json(&mut args);
    args
}

pub(crate) use crate::ids::seen as short;

/// A clause as a sentence; the name of a hook keeps its own beginning.
fn sentence(clause: &str) -> Shown {
    let mut chars = clause.chars();
    match chars.next().filter(|_| !clause.starts_with("hook `")) {
        Some(first) => text!("{}{}", first.to_uppercase().to_string(), chars.as_str()),
        None => clause.shown(),
    }
}

fn wrapped(text: &Shown, width: usize, indent: usize) -> impl Iterator<Item = Shown> {
    wrap(text, width, indent).split_lines().collect::<Vec<_>>().into_iter()
}

fn indented_dim(text: &str) -> Shown {
    text!("  {}", dim(text))
}

/// How large a new file is.
fn size_of(content: &str) -> String {
    let (lines, bytes) = (content.lines().count() as u64, content.len() as u64);
    format!("{}, {}", plural(lines, "line"), size(bytes))
}

fn line_of(part: DiffPart) -> QuestionLine {
    match part {
        DiffPart::Line { tag, number, text } => {
            let kind = match tag {
                ChangeTag::Equal => LineKind::Kept,
                ChangeTag::Delete => LineKind::Removed,
                ChangeTag::Insert => LineKind::Added,
            };
            QuestionLine { kind, number: Some(number), text }
        }
        DiffPart::LeftOut(lines) => {
            QuestionLine::new(LineKind::Note, format!("… {}", plural(lines as u64, "more line")))
        }
        DiffPart::Note(note) => QuestionLine::new(LineKind::Note, note),
    }
}

fn indented(lines: Vec<Shown>) -> Vec<Shown> {
    lines.into_iter().map(|line| text!("  {}", line)).collect()
}

/// Lines of text: the first behind `mark`, the others behind a bar.
fn block(lines: Vec<Shown>, mark: &str, width: usize, whole: bool) -> (Vec<Shown>, bool) {
    let (lines, is_cut) = cut(lines, whole);
    let drawn = lines.into_iter().enumerate().flat_map(|(at, line)| {
        let before = match (at, mark) {
            (0, mark) if !mark.is_empty() => text!("  {}", mark),
            _ => text!("  {} ", Glyph::Bar),
        };
        wrapped(&text!("{}{}", before, line), width, 6).collect::<Vec<_>>()
    });
    (drawn.collect(), is_cut)
}

fn bold_lines(text: &str) -> Vec<Shown> {
    text.trim_end().lines().map(bold).collect()
}

fn argument(key: &str, value: &Value, width: usize) -> Vec<Shown> {
    match value.as_str() {
        Some(text) if text.contains('\n') => {
            let (lines, _) = block(bold_lines(text), "", width, true);
            [text!("  {}:", dim(key))].into_iter().chain(lines).collect()
        }
        Some(text) => wrapped(&text!("  {} {}", dim(text!("{}:", key)), text), width, 4).collect(),
        None => wrapped(&text!("  {} {}", dim(text!("{}:", key)), value), width, 4).collect(),
    }
}

/// The lines, without those in the middle where there are too many.
fn cut(lines: Vec<Shown>, whole: bool) -> (Vec<Shown>, bool) {
    let over = lines.len().saturating_sub(MOST_LINES);
    if whole || over == 0 {
        return (lines, false);
    }
    let head = MOST_LINES / 2;
    let gone = text!("  {}", dim(text!("… {} · d shows all", plural(over as u64, "more line"))));
    let tail = lines.iter().skip(head + over).cloned();
    (lines.iter().take(head).cloned().chain([gone]).chain(tail).collect(), true)
}

/// The number of the line where a part of a text begins, counted from 1.
fn first_line_of(text: &str, part: &str) -> Option<usize> {
    let at = text.find(part).filter(|_| !part.is_empty())?;
    Some(text.get(..at)?.matches('\n').count() + 1)
}
