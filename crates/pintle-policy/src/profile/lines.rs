//! The lines that a profile runs, and the files it saves to.

use super::document::Node;
use super::foreign::Foreign;
use super::looked_at::LookedAt;
use crate::paths::normal;
use crate::shell::{SimpleCommand, commands_of_words, simple_commands};
use std::collections::BTreeMap;
use std::path::Path;

/// One line, as far as it can be read.
pub(super) enum Line {
    Read(Vec<SimpleCommand>, LookedAt),
    Foreign(Foreign),
    Unreadable(String),
}

/// Every line that the profile runs: of its command hooks, and of the servers it starts.
pub(super) fn lines(file: &Node, folder: &Path, hook_env: &BTreeMap<String, String>) -> Vec<Line> {
    let texts = |nodes: &[Node]| nodes.iter().filter_map(Node::text).map(str::to_owned).collect();
    let items =
        |node: &Node, key: &str| node.get(key).map(Node::items).unwrap_or_default().to_vec();
    let of_words = |words: Vec<String>, line: &str| match commands_of_words(&words) {
        Ok(commands) => {
            let looked_at = LookedAt::of(&commands, line);
            Line::Read(commands, looked_at)
        }
        Err(_) => Line::Unreadable(words.join(" ")),
    };
    let mut lines = Vec::new();
    let mut given = hook_env.iter().map(|(name, value)| format!("{name}={value}")).peekable();
    if given.peek().is_some()
        && actions(file).any(|it| it.get("argv").or(it.get("command")).is_some())
    {
        lines.push(of_words(std::iter::once("env".to_owned()).chain(given).collect(), ""));
    }
    for action in actions(file) {
        if let Some(line) = action.get("command").and_then(Node::text) {
            lines.push(match simple_commands(line) {
                Ok(commands) => {
                    let looked_at = LookedAt::of(&commands, line);
                    Line::Read(commands, looked_at)
                }
                Err(_) => Line::Unreadable(line.to_owned()),
            });
        }
        let words: Vec<String> = texts(&items(action, "argv"));
        let line = words.join(" ");
        lines.push(of_words(words, &line));
    }
    for server in file.get("mcpServers").map(Node::fields).unwrap_or_default() {
        let Some(program) = server.value.get("command").and_then(Node::text) else { continue };
        // `env` says what it says in a line: which variables the program gets.
        let mut words = vec!["env".to_owned()];
        for variable in server.value.get("env").map(Node::fields).unwrap_or_default() {
            words.push(format!("{}={}", variable.key, variable.value.text().unwrap_or_default()));
        }
        let args: Vec<String> = texts(&items(&server.value, "args"));
        match Foreign::of(folder, program, &args) {
            Some(foreign) => lines.push(Line::Foreign(foreign)),
            None => words.extend([program.to_owned()].into_iter().chain(args)),
        }
        // What a server is given is data of its own.
        lines.push(of_words(words, ""));
    }
    lines
}

fn actions(file: &Node) -> impl Iterator<Item = &Node> {
    let buckets = file.get("hooks").map(Node::fields).unwrap_or_default();
    buckets.iter().flat_map(|bucket| bucket.value.items())
}

/// What hooks save to changes with every event; no program is made of it.
pub(super) fn saved_files(file: &Node) -> impl Iterator<Item = String> {
    let saves = |action: &&Node| action.get("action").and_then(Node::text) == Some("save_json");
    let path = |action: &Node| action.get("path").and_then(Node::text).map(normal);
    actions(file).filter(saves).filter_map(path)
}
