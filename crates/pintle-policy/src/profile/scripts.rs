//! Which files of a profile its command hooks run: what trust is about (R10.9) and what no event may be saved to (R10.6).
//!
//! A command names files; what those load is not known. So their company counts too: all that is in the folder of a
//! script, or in one that the command names. In the profile's own folder, where the agent may work, it is the files of
//! the same kind.

use super::document::Node;
use crate::paths::{is_inside, normal};
use crate::shell::{Word, simple_commands};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// More files than anybody looks at: a folder with more of them is not trusted.
const MOST_FILES: usize = 2000;

/// What others install, too much to look at: these folders are not followed.
const INSTALLED: [&str; 4] = ["node_modules", ".git", ".venv", "__pycache__"];

/// The files, relative to the folder, that the words of a command name, and their company.
pub(crate) fn of_words<'w>(
    words: impl Iterator<Item = &'w str>,
    folder: &Path,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in words.map(|word| word.rsplit('=').next().unwrap_or(word)) {
        // Most words name nothing at all: that is the cheaper question.
        let exists = !word.is_empty() && folder.join(word).exists();
        if !exists || !is_inside(folder, folder, Path::new(word)) {
            continue;
        }
        let named = match Path::new(word).strip_prefix(folder) {
            Ok(inner) => normal(&inner.to_string_lossy()),
            Err(_) => normal(word),
        };
        if folder.join(&named).is_dir() {
            if !matches!(named.as_str(), "" | ".") {
                below(folder, Path::new(&named), &mut found);
            }
            continue;
        }
        company(folder, Path::new(&named), &mut found);
        found.insert(named);
    }
    found
}

fn company(folder: &Path, script: &Path, found: &mut BTreeSet<String>) {
    match script.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => below(folder, parent, found),
        None => found.extend(
            entries(folder, Path::new(""))
                .filter(|(file, is_folder)| !is_folder && file.extension().is_some())
                .filter(|(file, _)| file.extension() == script.extension())
                .map(|(file, _)| file.to_string_lossy().into_owned()),
        ),
    }
}

fn below(folder: &Path, start: &Path, found: &mut BTreeSet<String>) {
    let mut pending = vec![start.to_owned()];
    let mut seen = 0;
    while let Some(place) = pending.pop() {
        for (file, is_folder) in entries(folder, &place) {
            seen += 1;
            if seen > MOST_FILES {
                // It stands for all that was not looked at. A folder cannot be hashed, so nobody can trust it.
                found.insert(start.to_string_lossy().into_owned());
                return;
            }
            let installed = file.file_name().is_some_and(|n| INSTALLED.iter().any(|i| n == *i));
            if is_folder && !installed {
                pending.push(file);
            } else if !is_folder {
                found.insert(file.to_string_lossy().into_owned());
            }
        }
    }
}

/// What is in a folder of the profile, by its path in the profile, and whether it is a folder itself. No link is followed.
fn entries(folder: &Path, place: &Path) -> impl Iterator<Item = (PathBuf, bool)> {
    let place = place.to_owned();
    let listed = folder.join(&place).read_dir().into_iter().flatten().flatten();
    listed.map(move |entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        (place.join(entry.file_name()), is_folder)
    })
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
        // `sh -c` and its like: a word of several words is a line.
        let lines = argv.iter().filter_map(Node::text).filter(|word| word.contains(' '));
        found.extend(lines.flat_map(|line| of_line(line, folder)));
    }
    let servers = file.get("mcpServers").map(Node::fields).unwrap_or_default();
    for server in servers.iter().map(|field| &field.value) {
        let args = server.get("args").map(Node::items).unwrap_or_default();
        let words = server.get("command").into_iter().chain(args).filter_map(Node::text);
        found.extend(of_words(words, folder));
    }
    found
}
