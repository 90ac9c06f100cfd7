//! What a program may do with the words it is given, besides reading them: nobody knows that of a program nobody knows, so it may
//! run them. Those that are known to leave them alone are listed here; one that is missing costs a line that names a denied program.

use super::loads::{LOAD_NOTHING, is_wrapper};
use super::runners::{runs_by_option, usual_name};
use super::scripts;
use super::verbs;
use super::wrappers::{is_opaque, is_shell};
use super::{SimpleCommand, Word};
use crate::contents::is_of_the_system;
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
    "bat",
    "bc",
    "bd",
    "beads",
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
    "delta",
    "dirs",
    "disown",
    "dmesg",
    "dos2unix",
    "dpkg",
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
    "grunt",
    "gsed",
    "gtar",
    "gulp",
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
    "linear",
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
    "nano",
    "ncal",
    "ninja",
    "nm",
    "nvim",
    "nx",
    "objdump",
    "open",
    "pacman",
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
    "rake",
    "readelf",
    "red",
    "redis-cli",
    "rg",
    "rpm",
    "rsync",
    "ruff",
    "rustc",
    "rustfmt",
    "scc",
    "scp",
    "semgrep",
    "setfacl",
    "sftp",
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
    "task",
    "tldr",
    "tokei",
    "top",
    "traceroute",
    "tree",
    "tsc",
    "turbo",
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
    "xdg-open",
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

/// Programs whose first word that is no option says what they do.
const HAVE_SUBCOMMANDS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "buildah",
    "bun",
    "bundle",
    "cargo",
    "cdk",
    "composer",
    "conda",
    "deno",
    "dnf",
    "docker",
    "docker-compose",
    "doctl",
    "dotnet",
    "firebase",
    "fly",
    "flyctl",
    "gcloud",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "helm",
    "heroku",
    "hg",
    "jj",
    "kubectl",
    "minikube",
    "netlify",
    "nix",
    "npm",
    "oc",
    "pip",
    "pip3",
    "pipenv",
    "pixi",
    "pnpm",
    "podman",
    "poetry",
    "pulumi",
    "rustup",
    "snap",
    "supabase",
    "svn",
    "systemctl",
    "terraform",
    "tofu",
    "uv",
    "vault",
    "vercel",
    "wrangler",
    "yarn",
    "yum",
    "zypper",
];

/// Words of these behind which a command may stand: `docker exec db rm x`, `cargo run -- rm x`.
const RUN_WHAT_FOLLOWS: &[&str] = &[
    "--command",
    "--exec",
    "-c",
    "-x",
    "cmd",
    "console",
    "debug",
    "dlx",
    "do",
    "eval",
    "exec",
    "foreach",
    "invoke",
    "rsh",
    "run",
    "run-script",
    "send-command",
    "shell",
    "spawn",
    "ssh",
    "x",
];

/// Programs that are opaque to who must know what runs, as they take it from somewhere else than their words.
const RUN_THEIR_INPUT: &[&str] =
    &["at", "batch", "compgen", "expect", "fc", "parallel", "run-parts", "sem", "socat"];

/// Whether its first word that is no option says what the program does.
pub(crate) fn has_subcommands(program: &str) -> bool {
    HAVE_SUBCOMMANDS.contains(&program)
}

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
        let makes = |arg: &Word| {
            arg.text() == "create" && matches!(program, "buildah" | "docker" | "podman")
        };
        let at = args.iter().position(|arg| RUN_WHAT_FOLLOWS.contains(&arg.text()) || makes(arg));
        return at.map_or(Use::Alone, |at| Use::Lines(at.saturating_add(1)));
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
