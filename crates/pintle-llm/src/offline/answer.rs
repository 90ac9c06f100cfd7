//! What the offline model says in words.

use pintle_agent::{ToolResult, unfenced};

use super::command::{self, Command};

/// How much of a result is quoted.
const QUOTED_CHARS: usize = 2_000;

pub(super) const HELP: &str = "\
I am the offline model: a set of rules that needs no key. I understand:

- run COMMAND
- read FILE
- write FILE: TEXT
- list DIR
- delegate: TASK

Join steps with \"then\". For a conversation, choose a provider's model, as in anthropic/claude-sonnet-4-5.";

/// What came of the steps; why it ended early, if it did.
pub(super) fn report(commands: &[Command], results: &[&ToolResult]) -> String {
    let done = commands.iter().zip(results);
    let mut parts: Vec<String> = done.map(|(command, result)| outcome(command, result)).collect();
    parts.extend(left_undone(commands.get(results.len()..).unwrap_or_default()));
    parts.join("\n\n")
}

/// The next step needs a tool that this agent does not have.
pub(super) fn no_such_tool(
    command: &Command,
    commands: &[Command],
    results: &[&ToolResult],
) -> String {
    let done = commands.iter().zip(results);
    let mut parts: Vec<String> = done.map(|(command, result)| outcome(command, result)).collect();
    parts.push(format!("I cannot {}: I have no tool `{}` here.", attempt(command), command.tool()));
    parts.join("\n\n")
}

fn outcome(command: &Command, result: &ToolResult) -> String {
    let said = command::without_reminders(&unfenced(&result.content));
    let said = said.trim();
    if result.is_error {
        let happened = if looks_blocked(said) { "That was blocked" } else { "That failed" };
        let reason = said.strip_prefix("Blocked: ").unwrap_or(said);
        return format!(
            "I could not {}. {happened}: {}",
            attempt(command),
            quoted(reason, "no reason was given")
        );
    }
    match command {
        Command::Run { command } if said.is_empty() => {
            format!("I ran `{command}`. It said nothing.")
        }
        Command::Run { command } => format!("I ran `{command}`. It said:\n\n{}", quoted(said, "")),
        Command::Read { path } => {
            format!("`{path}` says:\n\n{}", quoted(said, "(nothing: it is empty)"))
        }
        Command::Write { path, .. } => format!("I wrote `{path}`."),
        Command::List { path } => format!("In `{path}` there is:\n\n{}", quoted(said, "(nothing)")),
        Command::Delegate { .. } => {
            format!("The sub-agent answered:\n\n{}", quoted(said, "(nothing)"))
        }
    }
}

fn left_undone(commands: &[Command]) -> Option<String> {
    let steps: Vec<String> = commands.iter().map(attempt).collect();
    (!steps.is_empty()).then(|| format!("So I did not go on to {}.", steps.join(", nor to ")))
}

fn attempt(command: &Command) -> String {
    match command {
        Command::Run { command } => format!("run `{command}`"),
        Command::Read { path } => format!("read `{path}`"),
        Command::Write { path, .. } => format!("write `{path}`"),
        Command::List { path } => format!("list `{path}`"),
        Command::Delegate { task } => format!("delegate `{task}`"),
    }
}

/// A result has no field for "not allowed" as against "went wrong", so this goes by the words.
fn looks_blocked(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    [
        "block",
        "denied",
        "deny",
        "reject",
        "not allowed",
        "not permitted",
        "forbid",
        "refus",
        "approv",
        "off limits",
    ]
    .iter()
    .any(|word| reason.contains(word))
}

fn quoted(said: &str, if_nothing: &str) -> String {
    if said.is_empty() {
        return if_nothing.to_owned();
    }
    let mut chars = said.chars();
    let shown: String = chars.by_ref().take(QUOTED_CHARS).collect();
    match chars.count() {
        0 => shown,
        more => format!("{shown}\n… ({more} more characters)"),
    }
}
