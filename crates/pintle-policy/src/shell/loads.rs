//! Which commands surely run nothing but themselves, whatever lies in the folder they run in.

use super::wrappers::{is_shell, wrapper};
use super::{SimpleCommand, Word};
use crate::contents::is_of_the_system;
use std::path::Path;

/// Programs and words of the shell that load no file which they are not told to read, and run none. One that is missing here
/// costs a profile breadth of trust, never safety.
pub(super) const LOAD_NOTHING: &[&str] = &[
    "",
    ":",
    "[",
    "[[",
    "afplay",
    "aplay",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "beep",
    "break",
    "bzcat",
    "canberra-gtk-play",
    "cat",
    "cd",
    "chmod",
    "cksum",
    "clear",
    "cmp",
    "column",
    "comm",
    "continue",
    "cp",
    "csplit",
    "curl",
    "cut",
    "date",
    "dd",
    "declare",
    "df",
    "diff",
    "dig",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "export",
    "expr",
    "factor",
    "false",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "free",
    "getconf",
    "getopts",
    "gofmt",
    "grep",
    "groups",
    "growlnotify",
    "gunzip",
    "gzip",
    "head",
    "hexdump",
    "host",
    "hostname",
    "iconv",
    "id",
    "join",
    "kill",
    "let",
    "ln",
    "local",
    "locale",
    "logger",
    "ls",
    "lsof",
    "mail",
    "mailx",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "netstat",
    "nl",
    "notify-send",
    "nproc",
    "nslookup",
    "numfmt",
    "od",
    "paplay",
    "paste",
    "pbcopy",
    "pbpaste",
    "pgrep",
    "ping",
    "popd",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pw-play",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "reset",
    "return",
    "rev",
    "rm",
    "rmdir",
    "say",
    "seq",
    "set",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shellcheck",
    "shift",
    "shuf",
    "sleep",
    "ss",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "terminal-notifier",
    "test",
    "times",
    "touch",
    "tput",
    "tr",
    "true",
    "truncate",
    "tsort",
    "tty",
    "type",
    "ulimit",
    "umask",
    "uname",
    "unexpand",
    "uniq",
    "unset",
    "uptime",
    "users",
    "wait",
    "wall",
    "wc",
    "which",
    "who",
    "whoami",
    "wl-copy",
    "wl-paste",
    "xclip",
    "xsel",
    "xxd",
    "xz",
    "xzcat",
    "yes",
    "zcat",
];

/// Programs whose own business is another command, which is listed beside them.
const RUN_WHAT_IS_LISTED: &[&str] = &["eval", "find", "trap"];

/// What a command may load of the folder it runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loads {
    /// No program. What it runs by way of its arguments is listed on its own.
    Nothing,
    /// What a repository of git says: its settings and its hooks.
    Repository,
    /// Any file.
    Anything,
}

/// What the command may load.
pub(crate) fn loads(command: &SimpleCommand) -> Loads {
    let is_elsewhere = |arg: &Word| {
        let text = arg.text();
        let long = ["--git-dir", "--work-tree", "--exec-path"];
        text == "-C" || long.iter().any(|option| text.starts_with(option))
    };
    match command.name.literal() {
        Some("git") if !command.args.iter().any(is_elsewhere) => Loads::Repository,
        _ if loads_nothing(command) => Loads::Nothing,
        _ => Loads::Anything,
    }
}

/// Whether its own business is another command, which is listed beside it.
pub(crate) fn is_wrapper(program: &str) -> bool {
    RUN_WHAT_IS_LISTED.contains(&program) || wrapper(program).is_some()
}

fn loads_nothing(command: &SimpleCommand) -> bool {
    let Some(name) = command.name.literal() else { return false };
    if name.contains('/') && !is_of_the_system(Path::new(name)) {
        return false;
    }
    let program = command.program().unwrap_or_default();
    let has = |part: &str| command.args.iter().any(|arg| arg.text().contains(part));
    match program {
        "jq" => !command.args.iter().any(brings_modules),
        "sort" => !has("--c"),
        "split" => !has("--f"),
        // `-e 'display notification "done"'`
        "osascript" => {
            command.args.first().is_some_and(|arg| arg.text() == "-e") && !has(" script")
        }
        _ if is_shell(program) => is_given_a_string(&command.args),
        _ => LOAD_NOTHING.contains(&program) || is_wrapper(program),
    }
}

fn is_given_a_string(args: &[Word]) -> bool {
    let options = args.iter().map(Word::text).take_while(|text| text.starts_with(['-', '+']));
    options.filter(|text| !text.starts_with("--")).any(|text| text.contains('c'))
}

fn brings_modules(arg: &Word) -> bool {
    let text = arg.text();
    let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['f', 'L']);
    short || text == "--from-file" || text.contains("import") || text.contains("include")
}
