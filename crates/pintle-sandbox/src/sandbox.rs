//! What this machine can hold: tried, never inferred.

use std::{
    fmt, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Policy,
    held::Held,
    plan::{Plan, PlanError},
    policy::Network,
};

/// The program that becomes the launcher when it is started again.
///
/// [`init`] gives the one for this program.
#[derive(Debug, Clone)]
pub struct Launcher {
    pub(crate) program: PathBuf,
}

impl Launcher {
    /// Another program that calls [`init`] first, such as `pintle` or `pintle-sandbox-launcher`.
    #[must_use]
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    fn identity(&self) -> Option<Identity> {
        let found = self.program.metadata().ok()?;
        Some((found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    }
}

/// Call this first in `main`, before threads, arguments or a runtime.
///
/// A confined process is started by starting this program again. In that second process the call does not return: it
/// restricts itself and starts the command. In the first process it gives the [`Launcher`], without which there is no
/// sandbox.
///
/// ```no_run
/// let launcher = pintle_sandbox::init();
/// let sandbox = pintle_sandbox::Sandbox::probe(&launcher, std::time::Duration::from_secs(5));
/// println!("{sandbox}");
/// ```
pub fn init() -> Launcher {
    #[cfg(target_os = "linux")]
    crate::launch::run_if_asked();
    #[cfg(target_os = "linux")]
    let program = crate::launch::THIS_PROGRAM.into();
    #[cfg(not(target_os = "linux"))]
    let program = PathBuf::new();
    Launcher { program }
}

/// How well this machine holds a process (R17.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces, Landlock and seccomp.
    Full,
    /// Namespaces and seccomp: this kernel has no Landlock.
    View,
    /// Landlock and seccomp: user namespaces are refused. Protected paths are compared afterwards and put right, and the
    /// network cannot be filtered.
    Floor,
    /// Nothing.
    None,
}

impl Tier {
    /// Its name, as shown to people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::View => "view",
            Self::Floor => "floor",
            Self::None => "none",
        }
    }

    pub(crate) fn has_namespaces(self) -> bool {
        matches!(self, Self::Full | Self::View)
    }

    pub(crate) fn has_landlock(self) -> bool {
        matches!(self, Self::Full | Self::Floor)
    }
}

/// How long the trial of a copy on write may take.
const COPY_TRIAL: Duration = Duration::from_secs(5);

/// What this machine can hold. A clone is another handle to the same findings.
#[derive(Debug, Clone)]
pub struct Sandbox {
    findings: Arc<LazyLock<Findings, Box<dyn FnOnce() -> Findings + Send>>>,
}

/// What tells one file from another that was put in its place.
type Identity = (u64, u64, u64, i64, i64);

#[derive(Debug)]
struct Findings {
    launcher: Launcher,
    /// Of the launcher that was tried.
    identity: Option<Identity>,
    tier: Tier,
    landlock_abi: u8,
    /// Why caches cannot be copied on write, if so. Tried when the first process with caches starts.
    no_copies: OnceLock<Option<String>>,
    why_not: Option<String>,
}

impl Findings {
    fn new(launcher: Launcher, tier: Tier, landlock_abi: u8, why_not: Option<String>) -> Self {
        let (identity, no_copies) = (launcher.identity(), OnceLock::new());
        Self { launcher, identity, tier, landlock_abi, no_copies, why_not }
    }

    #[cfg(target_os = "linux")]
    fn probe(launcher: Launcher, deadline: Duration) -> Self {
        let identity = launcher.identity();
        let tried = crate::held::Trial::new(&launcher, deadline);
        let landlock_abi = crate::launch::landlock_abi();
        let with_namespaces = if landlock_abi > 0 { Tier::Full } else { Tier::View };
        let (tier, why_not) = match tried.run(with_namespaces) {
            Ok(()) => (with_namespaces, None),
            Err(why) if landlock_abi == 0 => (Tier::None, Some(why)),
            Err(why) => match (tried.run(Tier::Floor), tried.run(Tier::View)) {
                (Ok(()), _) => (Tier::Floor, Some(why)),
                (Err(_), Ok(())) => (Tier::View, Some(why)),
                (Err(without), Err(_)) => {
                    (Tier::None, Some(format!("{why}; without namespaces: {without}")))
                }
            },
        };
        let why_not = match why_not {
            why_not if landlock_abi > 0 => why_not,
            Some(why) => Some(format!("{why}; this kernel has no Landlock")),
            None => Some("this kernel has no Landlock".to_owned()),
        };
        Self { identity, ..Self::new(launcher, tier, landlock_abi, why_not) }
    }

    #[cfg(not(target_os = "linux"))]
    fn probe(launcher: Launcher, _: Duration) -> Self {
        Self::new(launcher, Tier::None, 0, Some("there is no sandbox for this system yet".into()))
    }
}

impl Sandbox {
    /// Starts to try what this machine can hold, in processes of their own, within this time. The first question to the
    /// sandbox waits for the answer, which takes some milliseconds.
    #[must_use]
    pub fn probe(launcher: &Launcher, deadline: Duration) -> Self {
        let launcher = launcher.clone();
        let probed = Self::lazy(move || Findings::probe(launcher, deadline));
        let findings = Arc::clone(&probed.findings);
        // Without a thread, the first question makes the trial.
        let _ = thread::Builder::new().spawn(move || LazyLock::force(&findings).tier);
        probed
    }

    fn lazy(find: impl FnOnce() -> Findings + Send + 'static) -> Self {
        Self { findings: Arc::new(LazyLock::new(Box::new(find))) }
    }

    /// The same machine, held no better than this: to try a lower tier.
    #[must_use]
    pub fn at_most(&self, tier: Tier) -> Self {
        let Findings { launcher, landlock_abi, .. } = &**self.findings;
        let lower = match (self.findings.tier, tier) {
            (Tier::Full, lower) => lower,
            (own, Tier::Full) => own,
            (own, lower) if own == lower => own,
            _ => Tier::None,
        };
        let why_not =
            (lower != self.findings.tier).then(|| format!("tier `{}` was asked for", tier.name()));
        let abi = if lower.has_landlock() { *landlock_abi } else { 0 };
        Self::found(launcher.clone(), lower, abi, why_not.or_else(|| self.findings.why_not.clone()))
    }

    /// No sandbox, and the reason for it.
    #[must_use]
    pub fn none(why: impl Into<String>) -> Self {
        Self::found(Launcher::at(""), Tier::None, 0, Some(why.into()))
    }

    fn found(launcher: Launcher, tier: Tier, landlock_abi: u8, why_not: Option<String>) -> Self {
        let findings = Findings::new(launcher, tier, landlock_abi, why_not);
        Self::lazy(move || findings)
    }

    /// How well a process is held here.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.findings.tier
    }

    /// Why it is not held better, if it could be.
    #[must_use]
    pub fn why_not_full(&self) -> Option<&str> {
        self.findings.why_not.as_deref()
    }

    /// A policy that this machine holds, or the first thing of it that it cannot hold. There is no third.
    ///
    /// # Errors
    /// When there is no sandbox, or this tier cannot hold the policy.
    pub fn hold(&self, policy: Policy) -> Result<Held, Gap> {
        // The trial of the sandbox may still run meanwhile.
        let plan = Plan::new(&policy, Path::new("/"), None);
        let tier = self.findings.tier;
        if tier == Tier::None {
            return Err(Gap::NoSandbox(self.findings.why_not.clone().unwrap_or_default()));
        }
        if tier == Tier::Floor && matches!(policy.network, Network::Proxy(_)) {
            return Err(Gap::Hosts);
        }
        #[cfg(target_os = "linux")]
        if tier == Tier::Floor
            && let Some(tree) = policy.write.iter().find(|tree| is_plan9(tree))
        {
            return Err(Gap::Filesystem(tree.clone()));
        }
        match plan {
            Ok(plan) => match plan.hidden_in_writable() {
                Some(path) if tier == Tier::Floor => Err(Gap::Hidden(path.to_owned())),
                _ => Ok(Held::new(self.clone(), policy)),
            },
            Err(PlanError::Symlink(path)) => Err(Gap::Symlink(path)),
            Err(error) => Err(Gap::Path(error.to_string())),
        }
    }

    /// The launcher, if it is still the one that was tried: another program in its place would hold nothing.
    pub(crate) fn launcher(&self) -> io::Result<&Launcher> {
        let Findings { launcher, identity, .. } = &**self.findings;
        match launcher.identity() == *identity {
            true => Ok(launcher),
            false => Err(io::Error::other(format!(
                "{} was replaced since the sandbox was tried: restart this program",
                launcher.program.display()
            ))),
        }
    }

    /// Why the caches of processes are read-only, if a process with caches has been started and they are.
    #[must_use]
    pub fn why_caches_are_read_only(&self) -> Option<&str> {
        self.findings.no_copies.get()?.as_deref()
    }

    /// Whether the caches of this policy can be copied on write: not every file system can be below a copy or above one.
    pub(crate) fn copies_on_write(&self, policy: &Policy) -> bool {
        let (true, false, Some(store)) =
            (self.findings.tier.has_namespaces(), policy.caches.is_empty(), &policy.cache_store)
        else {
            return false;
        };
        let no_copies = self.findings.no_copies.get_or_init(|| {
            let trial = crate::held::Trial::new(&self.findings.launcher, COPY_TRIAL);
            trial.copy(self.findings.tier, &policy.caches, store).err()
        });
        no_copies.is_none()
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { tier, landlock_abi, why_not, .. } = &**self.findings;
        f.write_str(tier.name())?;
        match tier {
            Tier::Full => write!(f, ": namespaces, Landlock {landlock_abi}, seccomp"),
            Tier::View => write!(f, ": namespaces, seccomp"),
            Tier::Floor => write!(f, ": Landlock {landlock_abi}, seccomp"),
            Tier::None => Ok(()),
        }?;
        if let Some(why) = why_not {
            write!(f, " ({why})")?;
        }
        match self.why_caches_are_read_only() {
            Some(why) => write!(f, ", caches are read-only ({why})"),
            None => Ok(()),
        }
    }
}

/// What a machine cannot hold of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Gap {
    /// There is no sandbox.
    #[error("there is no sandbox here: {0}")]
    NoSandbox(String),
    /// Hosts cannot be told apart without a network namespace.
    #[error("without user namespaces the sandbox cannot filter hosts")]
    Hosts,
    /// A protected path behind a symlink that the process could replace.
    #[error("{} is, or lies behind, a symlink inside a writable folder: it cannot be protected", .0.display())]
    Symlink(PathBuf),
    /// A secret in a folder that the process may write: Landlock cannot take one out of the other.
    #[error("without user namespaces {} cannot be hidden: it is in a folder that the command may write", .0.display())]
    Hidden(PathBuf),
    /// Landlock does not hold on this file system.
    #[error("{} is on a 9p file system, where Landlock does not hold", .0.display())]
    Filesystem(PathBuf),
    /// A path of the policy cannot be used.
    #[error("{0}")]
    Path(String),
}

#[cfg(target_os = "linux")]
fn is_plan9(tree: &Path) -> bool {
    const PLAN9: rustix::fs::FsWord = 0x0102_1997;
    rustix::fs::statfs(tree).is_ok_and(|found| found.f_type == PLAN9)
}
