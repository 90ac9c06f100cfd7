//! Where installers of modules put them, and who loads from there.

use crate::paths::{is_inside, normal};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 3] = ["node_modules", "site-packages", ".venv"];
const STARTS_NODE: [&str; 9] =
    ["bun", "deno", "node", "nodejs", "npm", "npx", "pnpm", "tsx", "yarn"];
const OF_NODE: [&str; 8] = ["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];

/// The outermost such folder that a place is in, by its name: what lies in one loads the others there.
pub(super) fn around(place: &Path) -> Option<PathBuf> {
    let is_one = |folder: &&Path| FOLDERS.iter().any(|name| folder.ends_with(name));
    place.ancestors().filter(is_one).last().map(Path::to_owned)
}

/// The same, also of an environment of Python that is called otherwise.
pub(super) fn around_existing(profile: &Path, place: &Path) -> Option<PathBuf> {
    let is_environment = |folder: &&Path| {
        !folder.as_os_str().is_empty() && profile.join(folder).join("pyvenv.cfg").is_file()
    };
    around(place).or_else(|| place.ancestors().find(is_environment).map(Path::to_owned))
}

/// `.venv/bin/python`: the link of an environment to an interpreter that lies elsewhere, by its path in the profile.
pub(super) fn interpreter(profile: &Path, place: &Path) -> Option<String> {
    let inner = place.strip_prefix(profile).unwrap_or(place);
    let inner = PathBuf::from(normal(&inner.to_string_lossy()));
    let path = profile.join(&inner);
    let is_one = inner.is_relative()
        && !place.iter().any(|part| part == "..")
        && path.is_symlink()
        && path.is_file()
        && inner.parent().is_some_and(|it| it.ends_with("bin") && is_inside(profile, profile, it))
        && around_existing(profile, &inner).is_some();
    is_one.then(|| inner.to_string_lossy().into_owned())
}

/// Whether it is one, or lies in one, or in what git keeps.
pub(crate) fn holds(place: &Path) -> bool {
    place.iter().any(|part| part == ".git" || FOLDERS.iter().any(|name| part == *name))
}

/// Whether a script is run by Node, or runs something with it.
pub(super) fn is_of_node(script: &Path, words: &HashSet<String>) -> bool {
    let kind = script.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    OF_NODE.contains(&kind) || STARTS_NODE.iter().any(|name| words.contains(*name))
}

/// Whether a command is Node, or something that starts it.
pub(super) fn starts_node(program: &str) -> bool {
    STARTS_NODE.contains(&program.rsplit('/').next().unwrap_or(program))
}

/// What git keeps and rewrites with every commit: nothing of it is run. The rest of a repository is: git runs its `hooks`, and
/// what its `config` says, whenever a script calls it.
const DATA_OF_GIT: [&str; 16] = [
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "gc.log",
    "index",
    "lfs",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

/// Whether a file or folder is such data, by where it lies in a `.git`, also of a module or another tree of the same repository.
pub(super) fn is_data_of_git(place: &Path) -> bool {
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    let Some(at) = parts.iter().position(|part| *part == ".git") else { return false };
    match parts.get(at.saturating_add(1)..).unwrap_or_default() {
        [name] | ["modules" | "worktrees", _, name] => {
            DATA_OF_GIT.contains(&name.strip_suffix(".lock").unwrap_or(name))
        }
        _ => false,
    }
}
