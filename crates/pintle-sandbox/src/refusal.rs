//! What the sandbox refused, found from what a failed command printed.
//!
//! The words of an error name a candidate; the policy and the user's own rights outside confirm it. A path is taken only if the policy keeps the
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
    in_output(held.policy(), folder, output, report)
}

fn in_output(policy: &Policy, folder: &Path, output: &str, report: &Report) -> Vec<Refused> {
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
        if matches!(policy.network, Network::None | Network::Loopback)
            && let Some(refused) = network(line, &lower)
        {
            add(refused);
        }
        let at = |words: &[&str]| words.iter().filter_map(|word| lower.find(word)).min();
        let denied = at(&[
            "permission denied",
            "operation not permitted",
            "eacces",
            "eperm",
            "read-only file system",
            "erofs",
            "device or resource busy",
        ]);
        let missing =
            at(&["no such file or directory", "directory nonexistent", "enoent", "cannot access"]);
        let Some(words) = denied.or(missing) else { continue };
        // The path stands next to the words: "cp: a: Read-only file system", or "EROFS: read-only file system, open 'a'".
        let (before, after) = line.split_at_checked(words).unwrap_or((line, ""));
        let mut paths =
            paths(after, folder).into_iter().chain(paths(before, folder).into_iter().rev());
        if let Some(refused) = paths.find_map(|path| refusal(policy, &path, denied.is_some())) {
            add(refused);
        }
    }
    found
}

/// What the policy refuses of a path that the user could use.
fn refusal(policy: &Policy, path: &Path, denied: bool) -> Option<Refused> {
    if policy.hide.iter().any(|secret| path.starts_with(secret)) {
        return path.exists().then(|| Refused::Secret(path.to_owned()));
    }
    let is_hidden = !may_read(policy, path);
    // A file that the host has not either, in a folder that is not in the view: it was to be made.
    let was_to_be_made = is_hidden
        && path.symlink_metadata().is_err()
        && path.parent().is_some_and(|parent| parent.is_dir() && !may_read(policy, parent));
    if (denied || was_to_be_made)
        && may_not_write(policy, path)
        && let Some(at) = writable_outside(path)
    {
        return Some(match is_narrow(policy, at) {
            true => Refused::Grantable(Grant::Write(at.to_owned())),
            false => Refused::Outside(path.to_owned()),
        });
    }
    let is_readable = is_hidden && access(path, Access::READ_OK).is_ok();
    is_readable.then(|| Refused::Grantable(Grant::Read(path.to_owned())))
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

/// Whether a path is in a folder of the process's own. A folder that the host has there is not meant by that.
fn is_own(policy: &Policy, path: &Path) -> bool {
    let is_granted = policy.write.iter().chain(&policy.read).any(|tree| path.starts_with(tree));
    let is_in = |own: &&str| {
        let is_of_the_host = |at: &Path| at != Path::new(own) && at.is_dir();
        path.starts_with(own) && !path.parent().is_some_and(is_of_the_host)
    };
    !is_granted && ["/tmp", "/var/tmp", "/dev", "/proc"].iter().any(is_in)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A home with a workspace, a secret and another folder.
    fn home() -> (tempfile::TempDir, PathBuf, Policy) {
        // Not in `/tmp`, which a confined process has for itself.
        let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
        let folder = tempfile::tempdir_in(target).unwrap();
        let home = folder.path().canonicalize().unwrap();
        for made in ["work/.git", "bin", ".ssh"] {
            fs::create_dir_all(home.join(made)).unwrap();
        }
        fs::write(home.join("work/.git/config"), "").unwrap();
        fs::write(home.join("notes.txt"), "").unwrap();
        let policy = Policy {
            read: vec!["/usr".into(), home.join("work")],
            write: vec![home.join("work")],
            protect: vec![home.join("work/.git/config")],
            hide: vec![home.join(".ssh")],
            ..Policy::default()
        };
        (folder, home, policy)
    }

    fn found(policy: &Policy, home: &Path, line: &str) -> Vec<Refused> {
        in_output(
            policy,
            &home.join("work"),
            &line.replace('~', &home.to_string_lossy()),
            &Report::default(),
        )
    }

    // R11.8
    #[test]
    fn the_path_next_to_the_words_is_named() {
        let (_folder, home, policy) = home();
        let write = |path: &str| vec![Refused::Grantable(Grant::Write(home.join(path)))];
        let read = |path: &str| vec![Refused::Grantable(Grant::Read(home.join(path)))];
        for (line, expected) in [
            ("cp: cannot create regular file '~/bin/x': Read-only file system", write("bin")),
            ("mv: cannot move 'a' to '~/bin/b': Permission denied", write("bin")),
            ("sh: 1: cannot create ~/bin/x: Read-only file system", write("bin")),
            ("PermissionError: [Errno 13] Permission denied: '~/bin/x'", write("bin")),
            ("Error: EROFS: read-only file system, open '~/bin/x'", write("bin")),
            (
                "error: could not write config file .git/config: Device or resource busy",
                write("work/.git/config"),
            ),
            ("cat: ~/notes.txt: No such file or directory", read("notes.txt")),
            ("sh: 1: cannot create ~/bin/x: Directory nonexistent", write("bin")),
            ("cp: cannot create regular file '~/bin/x': No such file or directory", write("bin")),
            ("ls: cannot access '~/bin': No such file or directory", read("bin")),
            ("cat: ~/.ssh/: No such file or directory", vec![Refused::Secret(home.join(".ssh"))]),
            (
                "touch: cannot touch '~/new.txt': Read-only file system",
                vec![Refused::Outside(home.join("new.txt"))],
            ),
        ] {
            assert_eq!(found(&policy, &home, line), expected, "{line}");
        }
    }

    #[test]
    fn a_host_is_named_where_the_message_names_it() {
        let (_folder, home, policy) = home();
        let host = |name: &str| vec![Refused::Grantable(Grant::Host(name.into()))];
        for (line, expected) in [
            ("curl: (6) Could not resolve host: example.org", host("example.org:443")),
            (
                "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
                host("github.com:443"),
            ),
            (
                "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
                host("registry.npmjs.org:443"),
            ),
            ("ping: connect: Network is unreachable", vec![Refused::Network]),
        ] {
            assert_eq!(found(&policy, &home, line), expected, "{line}");
        }
    }

    #[test]
    fn an_ordinary_failure_is_not_blamed_on_the_sandbox() {
        let (_folder, home, policy) = home();
        fs::write(home.join("work/a.txt"), "").unwrap();
        for line in [
            "cat: missing.txt: No such file or directory",
            "sh: 1: ./a.txt: Permission denied",
            "cat: /usr/share/none: No such file or directory",
            "mkdir: cannot create directory ‘/tmp/a/b’: No such file or directory",
            "error: test failed, to rerun pass `--lib`",
            "make: *** No rule to make target 'all'.  Stop.",
            "fatal: not a git repository (or any of the parent directories): .git",
            "ModuleNotFoundError: No module named 'requests'",
            "bash: foo: command not found",
            "the docs say: permission denied means EACCES",
        ] {
            assert_eq!(found(&policy, &home, line), [], "{line}");
        }
    }
}
