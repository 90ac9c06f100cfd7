//! Which commands go to another folder, and which may take one away.

use crate::shell::{SimpleCommand, may_be_long};

/// Whether the shell itself may be in another folder after this.
pub(crate) fn is_mover(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("cd" | "chdir" | "pushd" | "popd"))
}

/// Programs with an option that has them run in another folder.
const GOERS: &[&str] = &[
    "bmake",
    "bsdtar",
    "bun",
    "cargo",
    "env",
    "git",
    "gmake",
    "go",
    "gradle",
    "gradlew",
    "hg",
    "just",
    "make",
    "meson",
    "ninja",
    "npm",
    "pnpm",
    "poetry",
    "samu",
    "tar",
    "terraform",
    "uv",
    "yarn",
];

/// Whether this argument may be such an option: then any of the others may be the folder.
pub(crate) fn goes_itself(program: &str, at: usize, arg: &str) -> bool {
    const LONG: &[&str] = &[
        "chdir",
        "cwd",
        "dir",
        "directory",
        "prefix",
        "project-dir",
        "work-tree",
        "working-directory",
    ];
    let letters = match program {
        "just" => "d",
        "gradle" | "gradlew" => "p",
        _ => "C",
    };
    let bundled = at == 0 && program.ends_with("tar") && arg.contains('C');
    let short = arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters);
    let long = arg.len() > 4 && LONG.iter().any(|long| may_be_long(arg, long));
    GOERS.contains(&program) && (bundled || short || long || arg.starts_with("-chdir"))
}

/// What may be glued to an option.
pub(crate) fn glued(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, value)| value);
    let after = text.strip_prefix('-').and_then(|rest| rest.split_once('C')).map(|(_, rest)| rest);
    value.into_iter().chain(after).filter(|part| !part.is_empty())
}

/// Whether a folder that is there now may be gone, or closed, after this command.
pub(crate) fn may_remove(command: &SimpleCommand) -> bool {
    const REMOVERS: &[&str] = &[
        "chgrp", "chmod", "chown", "find", "mv", "rename", "rm", "rmdir", "rsync", "setfacl",
        "unlink",
    ];
    const VERBS: &[&str] = &[
        "checkout",
        "clean",
        "merge",
        "mv",
        "pull",
        "rebase",
        "reset",
        "restore",
        "rm",
        "stash",
        "submodule",
        "switch",
        "worktree",
    ];
    match command.program() {
        Some("git") => command.args.iter().any(|arg| VERBS.contains(&arg.text())),
        program => program.is_none_or(|program| REMOVERS.contains(&program)),
    }
}
