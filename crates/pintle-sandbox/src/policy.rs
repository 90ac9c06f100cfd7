//! What a process may do, as a value. A policy only says; [`Sandbox::hold`](crate::Sandbox::hold) proves that it is held.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 4096, open_files: 65_536, address_space: None }
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

impl Policy {
    /// The same policy, wider by exactly these grants.
    #[must_use]
    pub fn with(mut self, grants: &[Grant]) -> Self {
        for grant in grants {
            match grant {
                Grant::Read(path) => self.read.push(path.clone()),
                Grant::Write(path) => {
                    self.protect.retain(|protected| !path.starts_with(protected));
                    self.write.push(path.clone());
                }
                Grant::Host(host) => self.network.add(host),
            }
        }
        self
    }

    /// The rights in words, for `explain`, for questions and for the model: what it may write, read and reach.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let list = |paths: &[PathBuf]| -> String {
            let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            shown.join(", ")
        };
        let mut written = vec!["its own /tmp".to_owned()];
        if !self.write.is_empty() {
            written.insert(0, list(&self.write));
        }
        let mut words = vec![format!("writes {}", written.join(" and "))];
        if !self.protect.is_empty() {
            words.push(format!("not {}", list(&self.protect)));
        }
        if !self.caches.is_empty() && self.cache_store.is_some() {
            words.push(format!("copies {} on write", list(&self.caches)));
        }
        words.push(format!("reads {}", list(&self.read)));
        words.push(self.network.in_words());
        words
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
