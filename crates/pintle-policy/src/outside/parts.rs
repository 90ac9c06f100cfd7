//! The parts of a command's words that could be paths: a program may take a word apart in its own way.

use crate::shell::{SimpleCommand, Word, is_wrapper};

/// `curl` has braces of its own.
pub(super) fn is_file_url(word: &Word) -> bool {
    let text = word.text().to_ascii_lowercase().replace(['{', '}', '[', ']'], "");
    text.contains("file:")
}

/// What stands in `name=(…)`.
pub(super) fn array(text: &str) -> Option<&str> {
    let (name, items) = text.split_once("=(")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_+".contains(c);
    name.chars().all(is_name).then_some(items)
}

/// A short option is a letter or a few, and its value may be glued to them.
const MOST_LETTERS: usize = 8;

/// The parts of a text that could be a path: all of it, what stands between `=`, `,`, `:` or `@`, and what is glued to a short
/// option.
pub(super) fn candidates(text: &str) -> Vec<&str> {
    let mut parts = vec![text];
    // `curl -F name=<file`
    parts.extend(text.split("=<").skip(1));
    for piece in text.split(['=', ',']) {
        parts.push(piece);
        // In a sentence, too, an address is no path.
        if !piece.split_whitespace().any(is_url) {
            parts.extend(piece.split([':', '@']).map(|part| part.trim_matches('"')));
        }
    }
    // `x=-f/etc/y` is one by the time it is used.
    let value = text.split_once('=').map(|(_, value)| value);
    let options = [Some(text), value].into_iter().flatten();
    let options = options.filter_map(|it| it.trim_matches('"').strip_prefix('-'));
    for rest in options.filter(|rest| !rest.starts_with('-')) {
        let glued = rest.char_indices().skip(1).take(MOST_LETTERS);
        parts.extend(glued.filter_map(|(at, _)| rest.get(at..)));
        parts.extend(rest.find(['/', '~']).and_then(|at| rest.get(at..)));
    }
    parts
}

/// Whether it is an address on the network, and no way out of a folder that is named like one.
pub(super) fn is_url(text: &str) -> bool {
    const SCHEMES: &[&str] = &[
        "amqp",
        "docker",
        "ftp",
        "git",
        "git+https",
        "git+ssh",
        "grpc",
        "gs",
        "http",
        "https",
        "ldap",
        "ldaps",
        "mongodb",
        "mongodb+srv",
        "mysql",
        "oci",
        "postgres",
        "postgresql",
        "redis",
        "rediss",
        "s3",
        "sftp",
        "ssh",
        "tcp",
        "ws",
        "wss",
    ];
    let known = |scheme: &str| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    text.split_once("://")
        .is_some_and(|(scheme, rest)| known(scheme) && rest.split('/').all(|part| part != ".."))
}

/// Programs of which the words are patterns, sentences or code, or are another command that is listed by itself. Their files are
/// found all the same: words of their own, and what is glued to an option.
const SPEAK: &[&str] = &[
    "",
    "[",
    "ack",
    "ag",
    "ash",
    "awk",
    "bash",
    "bc",
    "bun",
    "curl",
    "dash",
    "date",
    "deno",
    "dig",
    "docker",
    "echo",
    "egrep",
    "eval",
    "expr",
    "fd",
    "fdfind",
    "fgrep",
    "find",
    "gawk",
    "gfind",
    "gh",
    "git",
    "glab",
    "grep",
    "http",
    "https",
    "jq",
    "kubectl",
    "mawk",
    "mysql",
    "nawk",
    "node",
    "notify-send",
    "perl",
    "php",
    "podman",
    "printf",
    "psql",
    "rg",
    "ruby",
    "say",
    "sed",
    "sh",
    "sqlite3",
    "ssh",
    "test",
    "tr",
    "trap",
    "wget",
    "xh",
    "yq",
];

/// Whether nobody knows how the program takes its words apart.
pub(super) fn is_strange(command: &SimpleCommand) -> bool {
    let Some(name) = command.name.literal() else { return true };
    let program = name.rsplit('/').next().unwrap_or(name);
    let is_python = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python";
    name.contains('/') && !name.starts_with('/')
        || !(SPEAK.contains(&program) || is_wrapper(program) || is_python)
}

/// Where a word of such a program may be cut: `open /etc/x`, `+:e/etc/x`, `f("/etc/x")`.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
    let is_sign = |c: char| "+;|()&[]{}\\%#!^?=:,@$".contains(c);
    let mut found = Vec::new();
    for part in text.split(is_end).filter(|part| part.contains(['/', '~', '.'])) {
        let bare = part.trim_start_matches(is_sign);
        if is_url(bare) || part.split(['=', '@', ',']).any(is_url) {
            continue;
        }
        let cut = part.split(is_sign).filter(|piece| !piece.is_empty() && *piece != part);
        let option = part.trim_start_matches(['-', '+']);
        let at = option.find(['/', '~']).or_else(|| option.find(".."));
        let up = option.find("../").and_then(|at| option.get(at..));
        let glued = at.and_then(|at| option.get(at..)).into_iter().chain(up);
        let is_option = part.starts_with(['-', '+']);
        let whole = (part.len() < text.len()).then_some(part);
        found.extend(cut.chain(whole).chain(glued.filter(|_| is_option)));
    }
    found.retain(|piece| {
        piece.starts_with('/')
            || piece.starts_with("~/")
            || piece.split('/').any(|part| part == "..")
    });
    found
}
