//! The programs that a profile starts, and the files of the profile that they are started with (R10.9).

use super::document::Node;
use super::{AGENT_FILE, Profile};
use pintle_policy::shell::{SimpleCommand, commands_of_words, simple_commands};
use pintle_policy::{normal, resolve};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// Every word of the commands that hooks and MCP servers run.
pub(super) fn words(file: &Node) -> BTreeSet<String> {
    let texts = |node: &Node, key: &str| -> Vec<String> {
        let items = node.get(key).map(Node::items).unwrap_or_default();
        items.iter().filter_map(Node::text).map(str::to_owned).collect()
    };
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let buckets = file.get("hooks").map(Node::fields).unwrap_or_default();
    let mut words = BTreeSet::new();
    for action in buckets.iter().flat_map(|bucket| bucket.value.items()) {
        words.extend(of_argv(texts(action, "argv")));
        words.extend(text(action, "command").iter().flat_map(|line| of_line(line)));
    }
    for server in file.get("mcpServers").map(Node::fields).unwrap_or_default() {
        let program = text(&server.value, "command").into_iter();
        words.extend(of_argv(program.chain(texts(&server.value, "args")).collect()));
    }
    words
}

/// `sh -c 'lib/check.sh'` names more than its own words.
fn of_argv(argv: Vec<String>) -> Vec<String> {
    let commands = commands_of_words(&argv).unwrap_or_default();
    argv.into_iter().chain(commands.iter().flat_map(of_command)).collect()
}

fn of_line(line: &str) -> Vec<String> {
    match simple_commands(line) {
        Ok(commands) => commands.iter().flat_map(of_command).collect(),
        Err(_) => line.split_whitespace().map(str::to_owned).collect(),
    }
}

/// A file that the command only writes to is not one of its parts.
fn of_command(command: &SimpleCommand) -> Vec<String> {
    let input = command.redirects.iter().filter(|it| !it.writes()).map(|it| &it.target);
    let words = std::iter::once(&command.name).chain(&command.args).chain(input);
    words.filter_map(|word| word.literal()).map(str::to_owned).collect()
}

/// The path in the profile that a word is, if it is one.
pub(super) fn path_in(folder: &Path, word: &str) -> Option<String> {
    let is_up = |part: &OsStr| part == "..";
    let (folder, path) = match Path::new(word).iter().any(is_up) {
        // A link decides where `..` leads.
        true => (resolve(folder, Path::new("")).ok()?, resolve(folder, Path::new(word)).ok()?),
        false => (folder.to_owned(), folder.join(word)),
    };
    let path = normal(path.strip_prefix(folder).ok()?.to_str()?);
    (!path.is_empty() && path != AGENT_FILE).then_some(path)
}

impl Profile {
    /// The files of the profile that its hooks and MCP servers name, by their paths in its folder, as they are now.
    #[must_use]
    pub fn named_files(&self) -> BTreeSet<String> {
        let paths = self.command_words.iter().filter_map(|word| path_in(&self.dir, word));
        paths.filter(|path| self.dir.join(path).is_file()).collect()
    }
}
