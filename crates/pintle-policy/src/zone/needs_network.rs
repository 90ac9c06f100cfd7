//! Commands that plainly need the network, so that a person is asked before one of them fails. A row too few costs a failed
//! command, a row too many a question; neither opens anything.

use crate::shell::{SimpleCommand, Word};

/// A program and the subcommands that need the network; without any, every call of it does.
const TABLE: &[(&str, &[&str])] = &[
    ("apt", &["install", "update", "upgrade", "full-upgrade"]),
    ("apt-get", &["install", "update", "upgrade", "dist-upgrade"]),
    ("apk", &["add", "update", "upgrade"]),
    ("aws", &[]),
    ("az", &[]),
    ("brew", &["install", "update", "upgrade"]),
    ("bun", &["add", "install", "update"]),
    ("bundle", &["install", "update"]),
    ("cargo", &["add", "fetch", "install", "login", "publish", "search", "update"]),
    ("composer", &["install", "require", "update"]),
    ("conda", &["create", "install", "update"]),
    ("curl", &[]),
    ("dig", &[]),
    ("dnf", &["install", "update", "upgrade"]),
    ("docker", &["login", "pull", "push"]),
    ("gcloud", &[]),
    ("gem", &["install", "push", "update"]),
    ("gh", &[]),
    ("git", &["clone", "fetch", "ls-remote", "pull", "push"]),
    ("go", &["get", "install"]),
    ("kubectl", &[]),
    ("npm", &["add", "ci", "i", "install", "outdated", "publish", "update", "view"]),
    ("npx", &[]),
    ("nslookup", &[]),
    ("ping", &[]),
    ("pip", &["download", "install"]),
    ("pip3", &["download", "install"]),
    ("pipx", &["install", "run", "upgrade"]),
    ("pnpm", &["add", "i", "install", "publish", "update"]),
    ("podman", &["login", "pull", "push"]),
    ("poetry", &["add", "install", "publish", "update"]),
    ("rustup", &["install", "update"]),
    ("scp", &[]),
    ("sftp", &[]),
    ("ssh", &[]),
    ("telnet", &[]),
    ("terraform", &["apply", "init", "plan"]),
    ("uv", &["add", "sync"]),
    ("uvx", &[]),
    ("wget", &[]),
    ("yarn", &["add", "install", "publish", "up", "upgrade"]),
];

/// The part of the command that needs the network, as a person is shown it.
pub(super) fn needs_network(command: &SimpleCommand) -> Option<String> {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let (program, args) = match (command.program()?, args.as_slice()) {
        // `python3 -m pip install`
        (python, ["-m", program, rest @ ..]) if python.starts_with("python") => (*program, rest),
        (program, args) => (program, args),
    };
    if program == "rsync" {
        return args.iter().any(|arg| arg.contains(':')).then(|| program.to_owned());
    }
    let (_, subcommands) = TABLE.iter().find(|(name, _)| *name == program)?;
    if subcommands.is_empty() {
        return Some(program.to_owned());
    }
    let subcommand = first_words(args).find(|word| subcommands.contains(word))?;
    Some(format!("{program} {subcommand}"))
}

/// The hosts that the command plainly names: in a URL, or as `user@host:path`.
pub(super) fn hosts(command: &SimpleCommand) -> Vec<String> {
    let mut hosts: Vec<String> = command.args.iter().filter_map(|arg| host(arg.text())).collect();
    hosts.dedup();
    hosts
}

fn host(word: &str) -> Option<String> {
    let authority = match word.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next()?,
        None => word.split_once('@')?.1.split_once(':')?.0,
    };
    let host = authority.rsplit('@').next()?;
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    (!host.is_empty() && host.chars().all(is_plain)).then(|| host.to_ascii_lowercase())
}

/// The first word that is not an option; and the next one, where the first may be an option's value: `git -C dir push`.
fn first_words<'w>(args: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    let is_option = |arg: &str| arg.starts_with(['-', '+']);
    let at = args.iter().position(|arg| !is_option(arg)).unwrap_or(args.len());
    let words = args.iter().copied().skip(at).filter(move |arg| !is_option(arg));
    words.take(if at == 0 { 1 } else { 2 })
}
