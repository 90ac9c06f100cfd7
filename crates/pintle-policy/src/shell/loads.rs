//! Which commands surely run nothing but themselves, whatever lies in the folder they run in.

use super::wrappers::{is_shell, wrapper};
use super::{SimpleCommand, Word};
use crate::contents::is_of_the_system;
use std::path::Path;

/// Programs and words of the shell that load no file which they are not told to read, and run none. One that is missing here
/// costs a profile breadth of trust, never safety.
const LOAD_NOTHING: &[&str] = &[
    "",
    ":",
    "[",
    "basename",
    "break",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "comm",
    "continue",
    "cp",
    "curl",
    "cut",
    "date",
    "declare",
    "diff",
    "dirname",
    "echo",
    "egrep",
    "exit",
    "export",
    "expr",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "hostname",
    "id",
    "kill",
    "let",
    "ln",
    "local",
    "logger",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "od",
    "paste",
    "printf",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rm",
    "rmdir",
    "seq",
    "set",
    "sha256sum",
    "shift",
    "sleep",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "times",
    "touch",
    "tr",
    "true",
    "type",
    "ulimit",
    "umask",
    "uname",
    "uniq",
    "unset",
    "wait",
    "wc",
    "whoami",
];

/// Programs whose own business is another command, which is listed beside them.
const RUN_WHAT_IS_LISTED: &[&str] = &["eval", "find", "trap"];

/// Whether the command loads no program of its folder. What it runs by way of its arguments is listed on its own.
pub(crate) fn loads_nothing(command: &SimpleCommand) -> bool {
    let Some(name) = command.name.literal() else { return false };
    if name.contains('/') && !is_of_the_system(Path::new(name)) {
        return false;
    }
    let program = command.program().unwrap_or_default();
    match program {
        "jq" => !command.args.iter().any(brings_modules),
        _ if is_shell(program) => is_given_a_string(&command.args),
        _ => {
            LOAD_NOTHING.contains(&program)
                || RUN_WHAT_IS_LISTED.contains(&program)
                || wrapper(program).is_some()
        }
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
