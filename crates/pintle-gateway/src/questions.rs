//! Questions to approvers: their text, their recipients and their buttons.

use std::sync::Arc;

use pintle_agent::{
    Attachment, Button,
    store::{Approval, NewOutgoing, OutgoingFilter, OutgoingKind, QueuedMessage, StoreError},
};
use serde_json::Value;

use crate::{
    clock::random_token,
    gateway::{Gateway, lane_key},
};

/// A question in the words that every surface uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionText {
    /// `Run this command?`
    pub title: String,
    /// The size of the change: `+4 -1`, or `12 lines, 340 B`. Empty for other calls.
    pub size: String,
    /// Everything that would run or change.
    pub lines: Vec<QuestionLine>,
    /// The reason for the question.
    pub reason: String,
    /// The folder of the call.
    pub folder: String,
}

/// A line of a command or a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionLine {
    /// The kind of line.
    pub kind: LineKind,
    /// Its number in the file.
    pub number: Option<usize>,
    /// The line.
    pub text: String,
}

/// The kind of a line in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Of a command or a task.
    Plain,
    /// A line that is added to a file.
    Added,
    /// A line that is removed from a file.
    Removed,
    /// An unchanged line of a file.
    Kept,
    /// A note: an argument, or how many lines are left out.
    Note,
}

impl QuestionLine {
    /// A line without a number.
    pub fn new(kind: LineKind, text: impl Into<String>) -> Self {
        Self { kind, number: None, text: text.into() }
    }

    pub(crate) fn class(&self) -> &'static str {
        match self.kind {
            LineKind::Plain => "plain",
            LineKind::Added => "add",
            LineKind::Removed => "del",
            LineKind::Kept => "same",
            LineKind::Note => "note",
        }
    }

    pub(crate) fn sign(&self) -> &'static str {
        match self.kind {
            LineKind::Added => "+",
            LineKind::Removed => "−",
            _ => "",
        }
    }
}

impl QuestionText {
    /// Whether the lines are those of a file.
    pub(crate) fn is_change(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.kind, LineKind::Added | LineKind::Removed))
    }
}

/// Puts a stored question into words.
pub type InWords = Arc<dyn Fn(&Approval) -> QuestionText + Send + Sync>;

const A_DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Gateway {
    /// The text of the question. Without a function of the program, it shows the arguments.
    pub(crate) fn question_text(&self, approval: &Approval) -> QuestionText {
        if let Some(in_words) = &self.inner.in_words {
            return in_words(approval);
        }
        let shown = readable(&approval.tool, &approval.args);
        let lines = shown.lines().map(|line| QuestionLine::new(LineKind::Plain, line)).collect();
        QuestionText {
            title: format!("May `{}` run?", approval.tool),
            lines,
            reason: approval.reason.clone(),
            ..QuestionText::default()
        }
    }

    /// Asks about a call of a run that is not parked.
    pub(crate) async fn ask_approvers(&self, approval: &Approval) -> Result<(), StoreError> {
        // A run that continues after a restart asks the same question.
        if self.was_asked(&approval.id).await {
            return Ok(());
        }
        let questions = self.to_approvers(approval).await;
        self.enqueue(questions).await
    }

    /// Sends the question to each approver that a channel reaches, and a notice to the chat of the run.
    pub(crate) async fn questions(
        &self,
        approval_id: &str,
        message: &QueuedMessage,
    ) -> Vec<NewOutgoing> {
        let Ok(Some(approval)) = self.inner.store.approval(approval_id).await else {
            return Vec::new();
        };
        let mut out = match self.was_asked(approval_id).await {
            true => return Vec::new(),
            false => self.to_approvers(&approval).await,
        };
        let said = &message.message;
        let who = approval.approvers.join(", ");
        let mut notice = NewOutgoing {
            lane: message.lane.clone(),
            run_id: message.run_id.clone(),
            session_id: Some(message.session_id.clone()),
            platform: said.platform.clone(),
            chat_id: said.chat_id.clone(),
            thread_id: said.thread_id.clone(),
            reply_to: Some(said.id.clone()),
            text: format!(
                "I am waiting for {who} to approve `{}`. This is question {}; `/stop` withdraws it.",
                approval.tool, approval.id
            ),
            kind: OutgoingKind::Notice,
        };
        if self.inner.config.questions_in_group {
            (notice.text, notice.kind) = self.question(&approval, &said.platform).await;
        }
        out.push(notice);
        out
    }

    async fn was_asked(&self, approval_id: &str) -> bool {
        let filter = OutgoingFilter {
            approval_id: Some(approval_id.to_string()),
            ..OutgoingFilter::default()
        };
        self.inner.queues.outgoing(filter).await.is_ok_and(|asked| !asked.is_empty())
    }

    async fn to_approvers(&self, approval: &Approval) -> Vec<NewOutgoing> {
        let mut out = Vec::new();
        for approver in &approval.approvers {
            let Some((platform, person)) = approver.split_once(':') else { continue };
            let channel = self.inner.channels.get(platform);
            if !channel.is_some_and(|channel| channel.features().private_chat_is_sender) {
                continue;
            }
            let (text, kind) = self.question(approval, platform).await;
            out.push(NewOutgoing {
                lane: lane_key(platform, None, person, None),
                run_id: approval.run_id.clone(),
                session_id: Some(approval.session_id.clone()),
                platform: platform.to_string(),
                chat_id: person.to_string(),
                thread_id: None,
                reply_to: None,
                text,
                kind,
            });
        }
        out
    }

    /// The text of the question. Arguments that are too long for the platform are in a file.
    async fn question(&self, approval: &Approval, platform: &str) -> (String, OutgoingKind) {
        let channel = self.inner.channels.get(platform);
        let features = channel.map(|channel| channel.features()).unwrap_or_default();
        let shown = readable(&approval.tool, &approval.args);
        let (who, why, id) = (&approval.requested_by, &approval.reason, &approval.id);
        let around = |shown: &str| {
            format!(
                "May `{}` run?\n\n{shown}\n\nAsked for by {who}. Why you are asked: {why}.\nAnswer with the buttons, `yes` or \
                 `no`, or `/approve {id}`, `/deny {id} why`.",
                approval.tool
            )
        };
        let until = approval.expires_at.saturating_add(A_DAY_MS);
        let _ = self.inner.queues.put_value(&question_key(id), "", until).await;
        let mut text = around(&shown);
        let mut attachment = None;
        if features.max_text.is_some_and(|max| text.chars().count() > max) {
            text = around("The exact arguments are in the file.");
            attachment =
                Some(Attachment { name: format!("{}.txt", approval.tool), content: shown });
        }
        let buttons = match features.buttons {
            true => self.buttons(approval).await,
            false => Vec::new(),
        };
        (text, OutgoingKind::Question { approval_id: id.clone(), buttons, attachment })
    }

    /// Two buttons with random tokens. None if the system's random generator fails.
    async fn buttons(&self, approval: &Approval) -> Vec<Button> {
        let mut buttons = Vec::new();
        for (label, word) in [("Approve", "approve"), ("Deny", "deny")] {
            let Some(token) = random_token() else { return Vec::new() };
            let meant = format!("{word} {}", approval.id);
            let kept =
                self.inner.queues.put_value(&button_key(&token), &meant, approval.expires_at);
            if kept.await.is_err() {
                return Vec::new();
            }
            buttons.push(Button { label: label.into(), token });
        }
        buttons
    }
}

/// The key of the value that marks a question as open in the chats.
pub(crate) fn question_key(approval_id: &str) -> String {
    format!("question:{approval_id}")
}

pub(crate) fn button_key(token: &str) -> String {
    format!("button:{token}")
}

/// Arguments in a readable form: a command as a command, an edit as a diff.
pub(crate) fn readable(tool: &str, args: &Value) -> String {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    let lines = |sign: &str, text: &str| -> String {
        text.lines().map(|line| format!("{sign} {line}\n")).collect()
    };
    let (shown, told): (String, &[&str]) = match (text("command"), text("path")) {
        (Some(command), _) => (format!("$ {command}"), &["command"]),
        (None, Some(path)) if tool == "edit_file" => {
            let (old, new) = (text("old").unwrap_or_default(), text("new").unwrap_or_default());
            (format!("{path}\n{}{}", lines("-", old), lines("+", new)), &["path", "old", "new"])
        }
        (None, Some(path)) if tool == "write_file" => {
            let content = text("content").unwrap_or_default();
            (format!("{path}\n{}", lines("+", content)), &["path", "content"])
        }
        _ => (String::new(), &[]),
    };
    let rest: serde_json::Map<String, Value> = match args {
        Value::Object(fields) => {
            let is_left = |(key, _): &(&String, &Value)| !told.contains(&key.as_str());
            fields.iter().filter(is_left).map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        _ => return serde_json::to_string_pretty(args).unwrap_or_default(),
    };
    match rest.is_empty() {
        true => shown,
        false => {
            let rest = serde_json::to_string_pretty(&rest).unwrap_or_default();
            format!("{shown}\n{rest}").trim_start().to_string()
        }
    }
}
