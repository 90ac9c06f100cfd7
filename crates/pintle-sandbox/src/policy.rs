//! What a process may do, as a value. A policy only says; [`Sandbox::hold`](crate::Sandbox::hold) proves that it is held.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::surroundings::SYSTEM;

/// The rights of a process. Whatever is not granted here does not exist for it.
///
/// Paths are absolute. A missing path in `read` or `caches` grants nothing; a missing path in `write` is an error when
/// the process starts, because a policy that grants less than it says is a mistake worth hearing of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Trees and files it may read and execute.
    pub read: Vec<PathBuf>,
    /// Trees it may read and write.
    pub write: Vec<PathBuf>,
    /// Paths inside writable trees that stay read-only.
    pub protect: Vec<PathBuf>,
    /// Paths inside readable trees that it can neither read nor list.
    pub hide: Vec<PathBuf>,
    /// Trees that are copied on write: reads hit the real tree, writes land in [`cache_store`](Self::cache_store).
    pub caches: Vec<PathBuf>,
    /// Where writes to the caches land. Without it the caches are read-only.
    pub cache_store: Option<PathBuf>,
    /// The folder that the process sees as its `/tmp`. Without one it gets an empty `/tmp` that ends with it.
    pub tmp: Option<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
}

/// What a process may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing, not even itself.
    #[default]
    None,
    /// A loopback interface of its own, not the machine's.
    Loopback,
    /// Hosts, through a proxy that checks and records each of them.
    Proxy(Hosts),
    /// The machine's own network, unfiltered.
    Direct,
}

/// Which hosts the proxy lets a process reach. Private, link-local and metadata addresses are never among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hosts {
    /// Every public host.
    #[default]
    Public,
    /// These: `example.org`, `*.example.org`, each with an optional `:port` (80 and 443 without one).
    Only(Vec<String>),
}

/// How much a process and everything it starts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files per process.
    pub open_files: u64,
    /// Bytes of address space per process.
    pub address_space: Option<u64>,
    /// Bytes of private writable memory per process. Shared memory and reserved address space are not part of it.
    pub private_memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 4096, open_files: 65_536, address_space: None, private_memory: None }
    }
}

/// What a person grants on top of a policy, after a command was refused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Reading this path.
    Read(PathBuf),
    /// Writing this path.
    Write(PathBuf),
    /// Reaching this host, with its port.
    Host(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {}", path.display()),
            Self::Write(path) => write!(f, "write {}", path.display()),
            Self::Host(host) => write!(f, "reach {host}"),
        }
    }
}

impl Policy {
    /// The same policy, wider by exactly these grants.
    #[must_use]
    pub fn with(mut self, grants: &[Grant]) -> Self {
        for grant in grants {
            match grant {
                Grant::Read(path) => self.read.push(path.clone()),
                Grant::Write(path) => {
                    // A file that programs replace by a rename must not be a mount: then it is enough to lift its
                    // protection.
                    let is_protected = self.protect.contains(path);
                    self.protect.retain(|protected| protected != path);
                    if !is_protected {
                        self.write.push(path.clone());
                    }
                }
                Grant::Host(host) => self.network.add(host),
            }
        }
        self
    }

    /// The rights in words, for `explain`, for questions and for the model: what it may write, read and reach. Paths
    /// that do not exist are left out.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        self.in_words_with(|path| path.display().to_string())
    }

    /// The same with names of the caller's for paths.
    pub(crate) fn in_words_with(&self, name: impl Fn(&Path) -> String) -> Vec<String> {
        let named = |paths: Vec<&PathBuf>| -> Vec<String> {
            topmost(paths).into_iter().map(|path| name(path)).collect()
        };
        let mut written = named(self.write.iter().collect());
        written.push("its own /tmp".to_owned());
        let mut words = vec![format!("writes {}", joined(&written))];
        let is_writable = |path: &&PathBuf| self.write.iter().any(|tree| path.starts_with(tree));
        let protected = named(self.protect.iter().filter(is_writable).collect());
        if !protected.is_empty() {
            words.push(format!("not {}", joined(&protected)));
        }
        let caches = named(self.caches.iter().collect());
        if !caches.is_empty() && self.cache_store.is_some() {
            words.push(format!("writes copies of {}", joined(&caches)));
        }
        let is_system = |path: &&PathBuf| SYSTEM.iter().any(|tree| path.starts_with(tree));
        let (system, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.read.iter().partition(is_system);
        let mut read = named(others);
        if !system.is_empty() {
            read.insert(0, "the system".to_owned());
        }
        words.push(format!("reads {}", joined(&read)));
        words.push(self.network.in_words());
        words
    }
}

/// The paths that exist, without those that lie in another one.
fn topmost(mut paths: Vec<&PathBuf>) -> Vec<&PathBuf> {
    paths.sort();
    let mut kept: Vec<&PathBuf> = Vec::new();
    for path in paths.into_iter().filter(|path| path.exists()) {
        if !kept.iter().any(|tree| path.starts_with(tree)) {
            kept.push(path);
        }
    }
    kept
}

/// "a, b and c".
fn joined(items: &[String]) -> String {
    match items.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

impl Network {
    /// What can be reached, as the end of a sentence about a process.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::None => "reaches nothing".into(),
            Self::Loopback => "reaches only its own loopback".into(),
            Self::Proxy(Hosts::Public) => "reaches public hosts through the proxy".into(),
            Self::Proxy(Hosts::Only(hosts)) => {
                format!("reaches {} through the proxy", hosts.join(", "))
            }
            Self::Direct => "reaches the network without a filter".into(),
        }
    }

    fn add(&mut self, host: &str) {
        match self {
            Self::None | Self::Loopback => *self = Self::Proxy(Hosts::Only(vec![host.to_owned()])),
            Self::Proxy(Hosts::Only(hosts)) => hosts.push(host.to_owned()),
            Self::Proxy(Hosts::Public) | Self::Direct => {}
        }
    }
}
