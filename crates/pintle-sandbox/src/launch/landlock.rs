//! Landlock: the list of what is allowed. It holds with and without namespaces, also where a mount falls off because the
//! host replaced the file under it.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use crate::{
    plan::{Plan, is_below},
    policy::Network,
};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What every program may use of `/dev`.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The folders of the view that are the process's own.
const OWN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The first version that keeps a process from signalling others and from their sockets without a path.
pub(super) const SCOPES: u8 = 6;

/// The first version that keeps a process from the sockets of others that have a path.
pub(crate) const SOCKETS: u8 = 9;

/// The version of Landlock that this kernel speaks, as far as it matters here; 0 without Landlock. It is found by
/// making rulesets: the crate keeps the number to itself.
pub(crate) fn abi() -> u8 {
    static FOUND: OnceLock<u8> = OnceLock::new();
    let versions = [
        (9, ABI::V9),
        (6, ABI::V6),
        (5, ABI::V5),
        (4, ABI::V4),
        (3, ABI::V3),
        (2, ABI::V2),
        (1, ABI::V1),
    ];
    *FOUND.get_or_init(|| {
        versions.into_iter().find(|(_, abi)| takes(*abi)).map_or(0, |(number, _)| number)
    })
}

fn takes(abi: ABI) -> bool {
    let make = || -> Result<(), Error> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))?;
        if abi >= ABI::V4 {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
        }
        if abi >= ABI::V6 {
            ruleset = ruleset.scope(Scope::from_all(abi))?;
        }
        ruleset.create()?;
        Ok(())
    };
    make().is_ok()
}

/// Restricts this process to what the plan grants.
pub(super) fn restrict(plan: &Plan, namespaces: bool) -> Result<(), Error> {
    let abi = ABI::from(i32::from(abi()));
    if abi == ABI::Unsupported {
        return Err("this kernel has no Landlock".into());
    }
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    // No device nodes, and no ioctl on devices: no build needs them. No sockets but its own, which need no rule.
    let refused =
        AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::ResolveUnix;
    let write = all & !refused;
    let device =
        (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate) & all;

    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::Signal)?.scope(Scope::AbstractUnixSocket)?;
    }
    // With a network namespace the kernel itself says that the network is unreachable, in words that everyone knows.
    if !namespaces && plan.network != Network::Direct && abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut rules = Rules { created: ruleset.create()?, abi };

    for tree in plan
        .read
        .iter()
        .map(PathBuf::as_path)
        .chain([Path::new("/proc"), Path::new("/sys/devices/system")])
    {
        if plan.hide.iter().any(|path| is_below(path, tree)) {
            rules = rules.add_around(tree, &plan.hide, read)?;
        } else {
            rules = rules.add(tree, read)?;
        }
    }
    for tree in plan.writable().chain(plan.caches.iter().map(|cache| &cache.tree)) {
        rules = rules.add(tree, write)?;
    }
    for path in DEVICES {
        rules = rules.add(Path::new(path), device)?;
    }
    if namespaces {
        // The view holds only what is granted, so its folders may be listed.
        rules = rules.add(Path::new("/"), AccessFs::ReadDir.into())?;
        for path in OWN {
            rules = rules.add(Path::new(path), write)?;
        }
        rules = rules.add(Path::new("/dev/pts"), device | AccessFs::ReadDir)?;
    } else if let Some(tmp) = &plan.tmp {
        rules = rules.add(tmp, write)?;
    }
    match rules.created.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        status => Err(format!("the kernel took the rules only in part: {status:?}").into()),
    }
}

struct Rules {
    created: RulesetCreated,
    abi: ABI,
}

impl Rules {
    /// Adds a rule for what is there, by a descriptor that follows no last symlink.
    fn add(self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<Self> {
        let Ok((fd, kind)) = open(path) else { return Ok(self) };
        let access = match kind {
            FileType::Directory => access,
            _ => access & AccessFs::from_file(self.abi),
        };
        if access.is_empty() || kind == FileType::Symlink {
            return Ok(self);
        }
        self.grant(fd, access)
    }

    fn grant(self, fd: OwnedFd, access: BitFlags<AccessFs>) -> io::Result<Self> {
        let created =
            self.created.add_rule(PathBeneath::new(fd, access)).map_err(io::Error::other)?;
        Ok(Self { created, ..self })
    }

    /// Adds rules for a folder without what is hidden in it, in as few parts as possible.
    fn add_around(
        mut self,
        folder: &Path,
        hidden: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> io::Result<Self> {
        let on_files = access & AccessFs::from_file(self.abi);
        // The names in this folder that are hidden, or lead to something hidden.
        let inside = hidden.iter().filter_map(|path| path.strip_prefix(folder).ok());
        let mut names: HashMap<&OsStr, bool> = HashMap::new();
        for path in inside {
            let mut parts = path.iter();
            if let Some(name) = parts.next() {
                *names.entry(name).or_default() |= parts.next().is_none();
            }
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for entry in Dir::read_from(&handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            match names.get(name) {
                _ if name == "." || name == ".." => continue,
                Some(true) => continue,
                Some(false) => {
                    self = self.add_around(&folder.join(name), hidden, access)?;
                    continue;
                }
                None => {}
            }
            let access = match entry.file_type() {
                FileType::Symlink => continue,
                FileType::Directory => access,
                FileType::Unknown => {
                    self = self.add(&folder.join(name), access)?;
                    continue;
                }
                _ => on_files,
            };
            // One that is gone meanwhile needs no rule.
            if let Ok(fd) = openat(&handle, name, flags, Mode::empty()) {
                self = self.grant(fd, access)?;
            }
        }
        Ok(self)
    }
}

fn open(path: &Path) -> io::Result<(OwnedFd, FileType)> {
    let fd =
        rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    Ok((fd, kind))
}
