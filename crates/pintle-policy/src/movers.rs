//! Which commands go to another folder, and which may take one away.

use crate::shell::{Redirect, SimpleCommand, Word, may_be_long};

/// Whether the shell itself may be in another folder after this.
pub(crate) fn is_mover(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("cd" | "chdir" | "pushd" | "popd"))
}

/// Whether no shell can fail to do this, so that the command runs.
pub(crate) fn is_quiet(redirect: &Redirect) -> bool {
    match (redirect.operator.as_str(), redirect.target.literal()) {
        (">" | ">>", Some(file)) => file == "/dev/null",
        (">&", Some(descriptor)) => matches!(descriptor, "1" | "2"),
        _ => false,
    }
}

/// Whether, because of this command, a `cd` anywhere in the line may leave the shell where it is.
pub(crate) fn may_stay_behind(command: &SimpleCommand) -> bool {
    let args = || command.args.iter().map(Word::text);
    // To a shell that does not know `&>` it is `&`, and all that it ends runs apart. And what is closed cannot be written to.
    let apart = |r: &Redirect| {
        r.operator.starts_with("&>")
            || (r.operator.ends_with('&') && r.target.literal().is_none_or(|to| to.ends_with('-')))
    };
    let is_short =
        |arg: &str| arg.starts_with(['-', '+']) && !arg.starts_with("--") && arg.contains('r');
    let restricts =
        |arg: &str| is_short(arg) || arg.contains("restricted") || may_be_long(arg, "restricted");
    let closes = match command.program() {
        Some("rbash" | "rksh" | "rzsh") => true,
        Some("ash" | "bash" | "dash" | "ksh" | "sh" | "zsh" | "set") => args().any(restricts),
        Some("declare" | "local" | "readonly" | "typeset") => args().any(|arg| arg.contains("PWD")),
        _ => false,
    };
    closes || command.redirects.iter().any(apart)
}

/// Whether `cd NAME` may lead to what a variable holds after this.
pub(crate) fn names_variables(command: &SimpleCommand) -> bool {
    command.args.iter().any(|arg| arg.text().contains("cdable_vars"))
}

/// Whether a file pattern that finds nothing may be no word at all after this.
pub(crate) fn drops_patterns(command: &SimpleCommand) -> bool {
    let mut words = command.args.iter().chain(&command.assignments);
    words.any(|word| ["nullglob", "NULL_GLOB"].iter().any(|it| word.text().contains(it)))
}

/// Whether the command may make a file with a name that is an option: `mkdir ./-P`, `mkdir -- -P`.
pub(crate) fn makes_dashes(command: &SimpleCommand) -> bool {
    let ends = command.args.iter().skip_while(|word| word.text() != "--").skip(1);
    ends.into_iter().any(|word| word.text().starts_with('-'))
        || command.args.iter().any(|word| word.text().contains("/-"))
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
    // `cargo clean`, `tar --remove-files`
    let says = |arg: &Word| {
        ["clean", "delete", "--remov", "--mov"].iter().any(|word| arg.text().contains(word))
    };
    let is_short = |arg: &Word| arg.text().starts_with('-') && arg.text().contains('m');
    if command.args.iter().any(says) {
        return true;
    }
    match command.program() {
        Some("zip") => command.args.iter().any(is_short),
        Some("git") => command.args.iter().any(|arg| VERBS.contains(&arg.text())),
        program => program.is_none_or(|program| REMOVERS.contains(&program)),
    }
}
