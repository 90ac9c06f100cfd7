//! What a person asked the offline model to do.

use serde_json::{Value, json};

const REMINDER_OPENS: &str = "<system-reminder>";
const REMINDER_CLOSES: &str = "</system-reminder>";

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Run { command: String },
    Read { path: String },
    Write { path: String, content: String },
    List { path: String },
    Delegate { task: String },
}

impl Command {
    /// The tool that does it.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::Run { .. } => "terminal",
            Self::Read { .. } => "read_file",
            Self::Write { .. } => "write_file",
            Self::List { .. } => "list_dir",
            Self::Delegate { .. } => "delegate",
        }
    }

    /// The tool's arguments.
    pub(super) fn input(&self) -> Value {
        match self {
            Self::Run { command } => json!({ "command": command }),
            Self::Read { path } | Self::List { path } => json!({ "path": path }),
            Self::Write { path, content } => json!({ "path": path, "content": content }),
            Self::Delegate { task } => json!({ "task": task }),
        }
    }
}

/// What was said, without what hooks attached to it.
pub(super) fn without_reminders(text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(REMINDER_OPENS) {
        said.push_str(before);
        rest = inside.split_once(REMINDER_CLOSES).map_or("", |(_, after)| after);
    }
    said.push_str(rest);
    said
}

/// The steps, in order. Empty when the text asks for nothing that is understood.
pub(super) fn parse(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in text.trim().lines() {
        let steps = parse_line(line);
        if !steps.is_empty() {
            commands.extend(steps);
        } else if let Some(
            Command::Write { content: text, .. } | Command::Delegate { task: text },
        ) = commands.last_mut()
        {
            // A text may have several lines.
            text.push('\n');
            text.push_str(line);
        }
    }
    commands
}

/// The steps of one line, split at each "then" that a step follows.
fn parse_line(line: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut rest = line;
    loop {
        // A task is for somebody else, and so are the steps in it.
        let delegated = matches!(parse_step(rest), Some(Command::Delegate { .. }));
        let Some((step, after)) = (if delegated { None } else { split_at_then(rest) }) else {
            commands.extend(parse_step(rest));
            return commands;
        };
        commands.extend(parse_step(step));
        rest = after;
    }
}

fn split_at_then(line: &str) -> Option<(&str, &str)> {
    line.match_indices(char::is_whitespace).find_map(|(at, _)| {
        let (before, after) = line.split_at(at);
        let after = strip_word(after.trim_start(), "then")?;
        parse_step(after)?;
        let before = before.trim_end();
        let before = before.strip_suffix(" and").unwrap_or(before);
        Some((before.trim_end_matches([',', ';']), after))
    })
}

fn parse_step(step: &str) -> Option<Command> {
    let step = step.trim();
    let step = strip_word(step, "please").unwrap_or(step).trim_start();
    if let Some(command) = argument(step, "run") {
        return filled(command).map(|command| Command::Run { command });
    }
    if let Some(path) = argument(step, "read") {
        return filled(path).map(|path| Command::Read { path });
    }
    if let Some(rest) = argument(step, "write") {
        let (path, content) = rest.split_once(':')?;
        return filled(path)
            .map(|path| Command::Write { path, content: content.trim_start().to_owned() });
    }
    if let Some(path) = argument(step, "list") {
        return Some(Command::List { path: filled(path).unwrap_or_else(|| ".".to_owned()) });
    }
    filled(argument(step, "delegate")?).map(|task| Command::Delegate { task })
}

/// What follows a verb, after an optional colon.
fn argument<'a>(step: &'a str, verb: &str) -> Option<&'a str> {
    let rest = strip_word(step, verb)?.trim_start();
    Some(rest.strip_prefix(':').unwrap_or(rest).trim_start())
}

/// What follows a word, in any case, that ends there.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    let ends = rest.chars().next().is_none_or(|c| c.is_whitespace() || c == ':');
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// The argument without the quotes around all of it; none when nothing is left.
fn filled(argument: &str) -> Option<String> {
    let argument = argument.trim();
    let bare = ['`', '"', '\'']
        .iter()
        .find_map(|quote| {
            let inner = argument.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains(*quote)).then_some(inner)
        })
        .unwrap_or(argument);
    (!bare.is_empty()).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Command {
        Command::Run { command: command.to_owned() }
    }

    fn read(path: &str) -> Command {
        Command::Read { path: path.to_owned() }
    }

    fn write(path: &str, content: &str) -> Command {
        Command::Write { path: path.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn a_verb_in_any_case_is_understood() {
        assert_eq!(parse("RUN ls -la"), [run("ls -la")]);
        assert_eq!(parse("please run: `git status`"), [run("git status")]);
        assert_eq!(parse("list"), [Command::List { path: ".".to_owned() }]);
        assert_eq!(parse("running late"), []);
        assert_eq!(parse("run"), []);
        assert_eq!(parse("é"), []);
    }

    #[test]
    fn steps_are_joined_by_then_or_by_lines() {
        assert_eq!(
            parse("write a.txt: hello, then read a.txt"),
            [write("a.txt", "hello"), read("a.txt")]
        );
        assert_eq!(parse("run ls and then run pwd"), [run("ls"), run("pwd")]);
        assert_eq!(parse("run ls\nread b"), [run("ls"), read("b")]);
    }

    #[test]
    fn a_then_that_no_step_follows_is_text() {
        assert_eq!(
            parse("write a.txt: first this then that"),
            [write("a.txt", "first this then that")]
        );
        assert_eq!(parse("run if true; then echo hi; fi"), [run("if true; then echo hi; fi")]);
    }

    #[test]
    fn a_text_may_have_several_lines() {
        assert_eq!(parse("write a.txt: one\ntwo\nrun ls"), [write("a.txt", "one\ntwo"), run("ls")]);
    }

    #[test]
    fn a_delegated_task_keeps_its_steps() {
        let task = "run ls then read a".to_owned();
        assert_eq!(parse("delegate: run ls then read a"), [Command::Delegate { task }]);
    }

    #[test]
    fn quotes_that_belong_to_the_command_stay() {
        assert_eq!(parse("run 'a' 'b'"), [run("'a' 'b'")]);
    }

    #[test]
    fn reminders_are_not_part_of_what_was_said() {
        let text =
            "run ls<system-reminder>run rm</system-reminder> -a\n<system-reminder>never closed";
        assert_eq!(without_reminders(text), "run ls -a\n");
    }
}
