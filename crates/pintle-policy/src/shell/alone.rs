//! What a program may do with the words it is given, besides reading them: nobody knows that of a program nobody knows, so it may
//! run them. Those that are known to leave them alone are listed here; one that is missing costs a line that names a denied program.

use super::loads::{LOAD_NOTHING, is_wrapper};
use super::runners::{runs_by_option, usual_name};
use super::scripts;
use super::subcommands::{behind_a_verb, has_subcommands};
use super::verbs;
use super::wrappers::{is_opaque, is_shell};
use super::{SimpleCommand, Word};
use crate::paths::is_of_the_system;
use std::path::Path;

/// What a program may do with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It runs none, or what it runs is listed beside it.
    Alone,
    /// From this argument on they may be a command; texts in them are of another language.
    Words(usize),
    /// From this argument on they may be a command, and texts may be lines for a shell.
    Lines(usize),
}

/// Programs that run none of their words, besides those that load nothing. What some of them run by an option is looked at elsewhere.
const PLAIN: &[&str] = &[
    "7z",
    "7za",
    "7zr",
    "ack",
    "ag",
    "alias",
    "ansible-lint",
    "apropos",
    "ar",
    "ast-grep",
    "bc",
    "bg",
    "bind",
    "biome",
    "black",
    "bmake",
    "bunzip2",
    "bzip2",
    "c++",
    "cal",
    "caller",
    "cc",
    "chattr",
    "chgrp",
    "chown",
    "clang",
    "clang++",
    "clang-format",
    "clang-tidy",
    "cloc",
    "colordiff",
    "comby",
    "compgen",
    "complete",
    "cpio",
    "cpp",
    "createdb",
    "ctest",
    "dbus-send",
    "dirs",
    "disown",
    "dmesg",
    "dos2unix",
    "dropdb",
    "ed",
    "enable",
    "envsubst",
    "eslint",
    "ex",
    "fc",
    "ffprobe",
    "fg",
    "flake8",
    "fuser",
    "g++",
    "gcc",
    "getfacl",
    "gmake",
    "gron",
    "gsed",
    "gtar",
    "hadolint",
    "hash",
    "help",
    "history",
    "htop",
    "http",
    "ifconfig",
    "iftop",
    "info",
    "install",
    "isort",
    "jar",
    "javac",
    "jest",
    "jobs",
    "journalctl",
    "jq",
    "killall",
    "kotlinc",
    "last",
    "link",
    "ln",
    "logout",
    "ls",
    "lsattr",
    "lsblk",
    "lsusb",
    "lz4",
    "make",
    "man",
    "mariadb",
    "markdownlint",
    "mocha",
    "more",
    "mypy",
    "mysql",
    "ncal",
    "ninja",
    "nm",
    "nvim",
    "objdump",
    "passwd",
    "patch",
    "pg_dump",
    "pg_restore",
    "pkill",
    "prettier",
    "protoc",
    "psql",
    "pstree",
    "py.test",
    "pylint",
    "pytest",
    "readelf",
    "red",
    "redis-cli",
    "rg",
    "rsync",
    "ruff",
    "rustfmt",
    "scc",
    "scp",
    "semgrep",
    "setfacl",
    "shfmt",
    "shopt",
    "sleep",
    "sort",
    "split",
    "sponge",
    "sqlite3",
    "stylelint",
    "sum",
    "suspend",
    "tar",
    "tldr",
    "tokei",
    "top",
    "traceroute",
    "tree",
    "tsc",
    "umount",
    "unalias",
    "unix2dos",
    "unlink",
    "unset",
    "unzip",
    "unzstd",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "vitest",
    "wget",
    "whatis",
    "xmllint",
    "yamllint",
    "yq",
    "zgrep",
    "zip",
    "zipinfo",
    "zstd",
];

/// Programs among those that load nothing that can be told to run something.
const TELLABLE: &[&str] = &["mail", "mailx", "terminal-notifier"];

/// Programs whose texts are in a language of their own; what follows a script of theirs may be a command all the same.
const LANGUAGES: &[&str] = &[
    "R",
    "Rscript",
    "elixir",
    "emacs",
    "erl",
    "ghci",
    "groovy",
    "guile",
    "iex",
    "ipython",
    "ipython3",
    "irb",
    "java",
    "jshell",
    "julia",
    "lua",
    "luajit",
    "mongosh",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "racket",
    "ruby",
    "runghc",
    "sbcl",
    "scala",
    "swift",
    "ts-node",
    "tsx",
];

/// Programs that give their words, or their input, to a shell.
const GIVE_TO_A_SHELL: &[&str] = &[
    "autossh",
    "concurrently",
    "entr",
    "hyperfine",
    "mosh",
    "nodemon",
    "parallel",
    "screen",
    "ssh",
    "sshpass",
    "tmux",
    "watchexec",
];

/// Programs that are opaque to who must know what runs, as they take it from somewhere else than their words.
const RUN_THEIR_INPUT: &[&str] =
    &["at", "batch", "compgen", "expect", "fc", "parallel", "run-parts", "sem", "socat"];

/// Whether a text among its words surely goes to a shell.
pub(crate) fn gives_to_a_shell(program: &str) -> bool {
    GIVE_TO_A_SHELL.contains(&program)
}

/// Whether all that the command runs stands in its words, though not in a way that is read exactly: `strace -f make`.
pub(crate) fn runs_only_its_words(command: &SimpleCommand) -> bool {
    let Some(program) = command.program().map(usual_name) else { return false };
    let is_known = !command.args.iter().any(Word::is_dynamic);
    let is_listed = command.args.iter().any(|arg| arg.text() == ":::");
    is_known
        && (is_listed || !RUN_THEIR_INPUT.contains(&program))
        && (is_opaque(program) || runs_by_option(program, &command.args))
}

/// What the command's program may do with its words.
pub(crate) fn use_of_words(command: &SimpleCommand) -> Use {
    let Some(name) = command.name.literal().filter(|name| !name.is_empty()) else {
        return Use::Alone;
    };
    let program = usual_name(command.program().unwrap_or_default());
    let args = command.args.as_slice();
    // Whoever gives a folder may mean a program of the same name that is no such program.
    if name.contains('/') && !is_of_the_system(Path::new(name)) {
        return Use::Lines(0);
    }
    if is_shell(program) {
        let is_string = |arg: &Word| arg.text().starts_with('-') && arg.text().contains('c');
        return if args.iter().any(is_string) { Use::Alone } else { Use::Lines(0) };
    }
    if TELLABLE.contains(&program) || runs_by_option(program, args) || is_opaque(program) {
        return Use::Lines(0);
    }
    if has_subcommands(program) && program != "git" {
        let at = behind_a_verb(program, args);
        return at.map_or(Use::Alone, Use::Lines);
    }
    if LANGUAGES.contains(&program) {
        return Use::Words(0);
    }
    let is_exact = matches!(
        program,
        "cmake" | "fd" | "fdfind" | "flock" | "git" | "runuser" | "script" | "sg" | "su" | "watch"
    ) || program.starts_with("git-")
        || is_wrapper(program)
        || scripts::is_read(program)
        || verbs::after_a_verb(program, &[]).is_some();
    match is_exact || PLAIN.contains(&program) || LOAD_NOTHING.contains(&program) {
        true => Use::Alone,
        false => Use::Lines(0),
    }
}

/// Parts of names that speak of a program: `--pager`, `GH_EDITOR`, `linker`.
const SPEAK_OF_RUNNING: &[&str] = &[
    "browser", "cmd", "command", "compiler", "editor", "exec", "filter", "helper", "hook",
    "invoke", "launcher", "linker", "pager", "plugin", "program", "run", "script", "shell",
    "wrapper",
];

/// Whether an option or a variable of this name may be for a program to run.
pub(crate) fn speaks_of_running(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SPEAK_OF_RUNNING.iter().any(|part| lower.contains(part))
}

/// Whether the command's program, though it leaves its words alone, may be told to run something by an option or a variable.
pub(crate) fn may_be_told(command: &SimpleCommand) -> bool {
    let program = usual_name(command.program().unwrap_or_default());
    match program {
        "export" | "declare" | "typeset" | "readonly" | "" => true,
        "git" | "find" => false,
        _ => {
            !(LOAD_NOTHING.contains(&program)
                || is_wrapper(program)
                || is_shell(program)
                || scripts::is_read(program))
        }
    }
}
