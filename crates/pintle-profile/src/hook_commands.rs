//! The programs that a profile starts, and the files of the profile that they are started with (R10.9).

use super::document::Node;
use super::{AGENT_FILE, Profile, Uses};
use pintle_policy::shell::{SimpleCommand, commands_of_words, simple_commands};
use pintle_policy::{normal, resolve};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// A line for `/bin/sh -c`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl Run {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => of_line(line),
            Self::Argv(argv) => of_argv(argv.clone()),
        }
    }
}

/// Every word of the commands that hooks and MCP servers run.
pub(super) fn words<'u>(file: &Node, uses: impl IntoIterator<Item = &'u Uses>) -> BTreeSet<String> {
    let programs = uses.into_iter().filter_map(|uses| uses.program.as_ref());
    let mut words: BTreeSet<String> = programs.flat_map(|program| program.value.words()).collect();
    for server in file.table("mcpServers") {
        let args = server.value.list("args").iter().filter_map(Node::text);
        let argv = server.value.str("command").into_iter().chain(args).map(str::to_owned);
        words.extend(of_argv(argv.collect()));
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

    /// Whether it brings programs, or servers to talk to: then a person has to trust it.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        self.hooks.iter().any(|hook| hook.uses.program.is_some()) || !self.mcp_servers.is_empty()
    }
}
