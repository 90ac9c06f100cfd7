//! Which files of a profile its command hooks run: what trust is about (R10.9) and what no event may be saved to (R10.6).

use super::document::Node;
use crate::paths::{is_inside, normal};
use crate::shell::{Word, simple_commands};
use std::collections::BTreeSet;
use std::path::Path;

/// The files, relative to the folder, that the words of a command name.
pub(crate) fn of_words<'w>(
    words: impl Iterator<Item = &'w str>,
    folder: &Path,
) -> BTreeSet<String> {
    words
        .map(|word| word.rsplit('=').next().unwrap_or(word))
        .filter(|word| {
            // Most words name no file at all: that is the cheaper question.
            !word.is_empty()
                && folder.join(word).is_file()
                && is_inside(folder, folder, Path::new(word))
        })
        .map(|word| match Path::new(word).strip_prefix(folder) {
            Ok(inner) => normal(&inner.to_string_lossy()),
            Err(_) => normal(word),
        })
        .collect()
}

/// The files that a shell line names.
pub(crate) fn of_line(line: &str, folder: &Path) -> BTreeSet<String> {
    let commands = simple_commands(line).unwrap_or_default();
    let words = commands
        .iter()
        .flat_map(|c| std::iter::once(&c.name).chain(&c.args))
        .filter_map(Word::literal);
    of_words(words, folder)
}

/// All of them, from a file that may still be wrong in other places.
pub(crate) fn of_document(file: &Node, folder: &Path) -> BTreeSet<String> {
    let buckets = file.get("hooks").map(Node::fields).unwrap_or_default();
    let mut found = BTreeSet::new();
    for action in buckets.iter().flat_map(|b| b.value.items()) {
        if let Some(line) = action.get("command").and_then(Node::text) {
            found.extend(of_line(line, folder));
        }
        let argv = action.get("argv").map(Node::items).unwrap_or_default();
        found.extend(of_words(argv.iter().filter_map(Node::text), folder));
    }
    let servers = file.get("mcpServers").map(Node::fields).unwrap_or_default();
    for server in servers.iter().map(|field| &field.value) {
        let args = server.get("args").map(Node::items).unwrap_or_default();
        let words = server.get("command").into_iter().chain(args).filter_map(Node::text);
        found.extend(of_words(words, folder));
    }
    found
}
