//! What the sandbox refused, found from what a failed command printed.
//!
//! Words make a suspect; the policy and the user's own rights outside convict. A path counts only if the policy keeps the
//! process from it and the user could have used it, so an ordinary "Permission denied" is not blamed on the sandbox.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::{Grant, Held, Policy, Report, policy::Network};

/// How many lines of output are looked at, from the end.
const MOST_LINES: usize = 200;

/// Something that a process wanted and the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// Something that a person could grant.
    Grantable(Grant),
    /// A path that no process may use: a person is never asked about it.
    Secret(PathBuf),
    /// Writing this path, which a grant could only allow together with much more.
    Outside(PathBuf),
    /// The network, without a host that is known.
    Network,
}

impl Refused {
    /// What a person would grant to let it happen, if a person can.
    #[must_use]
    pub fn grant(&self) -> Option<Grant> {
        match self {
            Self::Grantable(grant) => Some(grant.clone()),
            Self::Secret(_) | Self::Outside(_) | Self::Network => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grantable(grant) => grant.fmt(f),
            Self::Secret(path) => {
                write!(f, "use {}, which is closed to every command", path.display())
            }
            Self::Outside(path) => write!(f, "write {}", path.display()),
            Self::Network => f.write_str("reach the network"),
        }
    }
}

/// What a failed command was refused. `output` is what it printed; `folder` is where it ran.
#[must_use]
pub fn find_refusals(held: &Held, folder: &Path, output: &str, report: &Report) -> Vec<Refused> {
    let mut found = Vec::new();
    let mut add = |refused: Refused| {
        if !found.contains(&refused) {
            found.push(refused);
        }
    };
    // The proxy knows exactly.
    for host in report.hosts.iter().filter(|host| !host.allowed) {
        add(Refused::Grantable(Grant::Host(host.host.clone())));
    }
    let lines: Vec<&str> = output.lines().collect();
    for line in lines.iter().skip(lines.len().saturating_sub(MOST_LINES)) {
        let lower = line.to_ascii_lowercase();
        if matches!(held.policy().network, Network::None | Network::Loopback)
            && let Some(refused) = network(line, &lower)
        {
            add(refused);
        }
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let denies = has(&["permission denied", "operation not permitted", "eacces", "eperm"]);
        let is_read_only = has(&["read-only file system", "erofs", "device or resource busy"]);
        let is_missing = has(&["no such file or directory", "enoent", "cannot access"]);
        if !(denies || is_read_only || is_missing) {
            continue;
        }
        for path in paths(line, folder) {
            if held.policy().hide.iter().any(|secret| path.starts_with(secret)) {
                if path.exists() {
                    add(Refused::Secret(path));
                }
            } else if !is_missing
                && may_not_write(held.policy(), &path)
                && let Some(at) = writable_outside(&path)
            {
                add(match is_narrow(held.policy(), at) {
                    true => Refused::Grantable(Grant::Write(at.to_owned())),
                    false => Refused::Outside(path),
                });
            } else if !may_read(held.policy(), &path) && access(&path, Access::READ_OK).is_ok() {
                add(Refused::Grantable(Grant::Read(path)));
            }
        }
    }
    found
}

fn network(line: &str, lower: &str) -> Option<Refused> {
    const WORDS: [&str; 8] = [
        "network is unreachable",
        "could not resolve",
        "couldn't resolve",
        "name resolution",
        "name or service not known",
        "enetunreach",
        "eai_again",
        "failed to lookup address",
    ];
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let host = line.split(|c: char| c.is_whitespace() || "'\"()[],;".contains(c)).find_map(host_of);
    Some(host.map_or(Refused::Network, |host| Refused::Grantable(Grant::Host(host))))
}

/// The host that a word of a message names, with a port.
fn host_of(word: &str) -> Option<String> {
    let (scheme, rest) =
        word.split_once("://").map_or((None, word), |(scheme, rest)| (Some(scheme), rest));
    let authority = rest.split('/').next()?.trim_end_matches([':', '.']);
    let (name, port) = match authority.split_once(':') {
        Some((name, port)) => (name, port.parse::<u16>().ok()?),
        None => (authority, if scheme == Some("http") { 80 } else { 443 }),
    };
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let is_name = labels.len() > 1
        && labels.iter().all(is_label)
        && labels
            .last()
            .is_some_and(|last| last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic()));
    is_name.then(|| format!("{}:{port}", name.to_ascii_lowercase()))
}

/// The paths that a line of output may name, absolute.
fn paths(line: &str, folder: &Path) -> Vec<PathBuf> {
    let quotes = |c: char| matches!(c, '\'' | '"' | '`' | '‘' | '’' | '“' | '”');
    let quoted = line.split(quotes).skip(1).step_by(2);
    let words = line.split(|c: char| {
        c.is_whitespace() || quotes(c) || matches!(c, ',' | '(' | ')' | '[' | ']')
    });
    let mut found: Vec<PathBuf> = Vec::new();
    for word in quoted.chain(words) {
        let word = word.trim_end_matches([':', '.', ';']);
        let looks_like_a_path = word.contains('/') || folder.join(word).symlink_metadata().is_ok();
        if word.is_empty() || !looks_like_a_path || word.contains("://") || word.len() > 4096 {
            continue;
        }
        let path = normal(&folder.join(word));
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Whether a path is part of the process's own view, whatever the host has there.
fn is_own(policy: &Policy, path: &Path) -> bool {
    let is_granted = policy.write.iter().chain(&policy.read).any(|tree| path.starts_with(tree));
    !is_granted && ["/tmp", "/var/tmp", "/dev", "/proc"].iter().any(|own| path.starts_with(own))
}

fn may_not_write(policy: &Policy, path: &Path) -> bool {
    let is_protected = policy.protect.iter().any(|protected| path.starts_with(protected));
    let writable = policy.write.iter().chain(&policy.caches).any(|tree| path.starts_with(tree));
    !is_own(policy, path) && (is_protected || !writable)
}

fn may_read(policy: &Policy, path: &Path) -> bool {
    let readable = policy.read.iter().chain(&policy.write).chain(&policy.caches);
    is_own(policy, path) || readable.into_iter().any(|tree| path.starts_with(tree))
}

/// What the user could write without a sandbox: the file, or the nearest folder that exists.
fn writable_outside(path: &Path) -> Option<&Path> {
    let existing = path.ancestors().find(|at| at.symlink_metadata().is_ok())?;
    access(existing, Access::WRITE_OK).is_ok().then_some(existing)
}

/// Whether a person can be asked to grant it: not a folder that holds a whole home, or the system.
fn is_narrow(policy: &Policy, path: &Path) -> bool {
    let holds_secrets = policy.hide.iter().any(|secret| secret.starts_with(path));
    path.components().count() > 2 && !holds_secrets
}
