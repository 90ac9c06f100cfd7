//! How a tool call is written for a person.

use serde_json::Value;

use super::{Diff, plural};
use crate::shown::{Show, Shown, text};

/// A call on one line: `$ cargo test`, `edit src/a.rs +2 -1`, `github.create_issue title=…`.
pub(crate) fn call(tool: &str, args: &Value) -> Shown {
    let word = |key: &str| args.get(key).and_then(Value::as_str);
    match (tool, word("path")) {
        ("terminal", _) => {
            word("command").map_or_else(|| tool.shown(), |it| text!("$ {}", first_line(it)))
        }
        ("delegate", _) => text!("delegate: {}", first_line(word("task").unwrap_or_default())),
        ("read_file", Some(path)) => text!("read {}", path),
        ("list_dir", Some(path)) => text!("list {}", path),
        ("write_file", Some(path)) => {
            let lines = word("content").unwrap_or_default().lines().count();
            text!("write {} {}", path, plural(lines as u64, "line"))
        }
        ("edit_file", Some(path)) => {
            let sides = word("old").zip(word("new")).unwrap_or_default();
            text!("edit {} {}", path, Diff::between(sides.0, sides.1).counts())
        }
        _ => named(tool, args),
    }
}

/// A tool of a server or a plugin, by its name and its arguments.
fn named(tool: &str, args: &Value) -> Shown {
    let name = tool.strip_prefix("mcp__").unwrap_or(tool).replacen("__", ".", 1);
    let plain = |value: &Value| match value.as_str() {
        Some(text) => first_line(text),
        None => value.shown(),
    };
    let pairs = args.as_object().into_iter().flatten();
    pairs.fold(name.shown(), |line, (key, value)| text!("{} {}={}", line, key, plain(value)))
}

/// The first line, and whether there are more.
fn first_line(text: &str) -> Shown {
    let mut lines = text.trim_end().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { text!("{} …", first) } else { first.shown() }
}
