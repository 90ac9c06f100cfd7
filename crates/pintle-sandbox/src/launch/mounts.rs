//! The view of the file system: a new root that holds what the plan grants and nothing else.
//!
//! Trees are opened before anything is mounted and attached by descriptor, so that a workspace under `/tmp` or a link
//! that is swapped meanwhile changes nothing.

use std::{
    env, fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::pivot_root,
};
use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree},
};

use super::{Refusal, Step};
use crate::plan::{Cache, Plan};

/// Where the new root is built. Every system has this folder.
const ROOT: &str = "/tmp";

const NONE: Option<&str> = None;

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What every process needs of `/sys`: how many processors there are.
const SYSTEM_FACTS: &str = "/sys/devices/system";

/// The folders that a process may write whatever its plan says.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"];

/// Moves this process, which is process 1 of its namespace, into the view.
pub(super) fn enter(plan: &Plan) -> Result<(), Refusal> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).step("private mounts")?;
    let trees = open_all(plan)?;
    let caches: Vec<CacheHandles<'_>> =
        plan.caches.iter().map(CacheHandles::open).collect::<Result<_, _>>()?;
    let tmp =
        plan.tmp.as_deref().map(|tmp| Ok::<_, Refusal>([clone(tmp)?, clone(tmp)?])).transpose()?;
    let devices: Vec<(&str, OwnedFd)> = DEVICES
        .into_iter()
        .map(|path| Ok((path, clone(Path::new(path))?)))
        .collect::<Result<_, Refusal>>()?;

    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), ROOT, Some("tmpfs"), flags, Some("mode=755,size=64m"))
        .step("the new root")?;
    for (link, target) in &plan.links {
        make_link(link, target).step(link.display())?;
    }
    attach_own(tmp.as_ref())?;
    attach_devices(&devices)?;
    // Parents come first, whatever kind they are: what lies deeper decides.
    let mut mounts: Vec<(&Path, Source<'_>)> =
        trees.iter().map(|(path, tree)| (*path, Source::Tree(tree))).collect();
    mounts.extend(caches.iter().map(|cache| (cache.tree, Source::Cache(cache))));
    mounts
        .extend(plan.pins.iter().chain(&plan.protect).map(|path| (path.as_path(), Source::Itself)));
    mounts.extend(plan.hide.iter().map(|path| (path.as_path(), Source::Hidden)));
    mounts.sort_by_key(|(path, _)| path.components().count());
    for (path, source) in mounts {
        source.attach(path)?;
    }
    close_hidden(plan)?;

    fs::create_dir_all(inside("/proc")).step("/proc")?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &inside("/proc"), Some("proc"), flags, NONE).step("/proc")?;
    env::set_current_dir(ROOT).step("the new root")?;
    pivot_root(".", ".").step("pivot_root")?;
    umount2(".", MntFlags::MNT_DETACH).step("the old root")?;
    env::set_current_dir("/").step("the new root")?;
    read_only(plan)?;
    env::set_current_dir(&plan.cwd).step(format_args!("the working folder {}", plan.cwd.display()))
}

/// Bounds the processes of this namespace. Needs a kernel that counts per namespace.
pub(super) fn limit_processes(most: u64) -> io::Result<()> {
    fs::write("/proc/sys/kernel/pid_max", most.to_string())
}

/// Nothing in `/proc` is for the command to write.
pub(super) fn close_proc() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(
        NONE,
        "/proc",
        NONE,
        flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY,
        NONE,
    )
}

/// Every tree that is attached as it is.
fn open_all(plan: &Plan) -> Result<Vec<(&Path, OwnedFd)>, Refusal> {
    let mut trees = Vec::new();
    for path in plan.read.iter().chain(&plan.write) {
        trees.push((path.as_path(), clone(path)?));
    }
    if Path::new(SYSTEM_FACTS).exists() {
        trees.push((Path::new(SYSTEM_FACTS), clone(Path::new(SYSTEM_FACTS))?));
    }
    Ok(trees)
}

enum Source<'a> {
    Tree(&'a OwnedFd),
    Cache(&'a CacheHandles<'a>),
    /// The path itself: a mount of its own can be made read-only, and cannot be renamed away.
    Itself,
    /// Something empty.
    Hidden,
}

impl Source<'_> {
    fn attach(&self, path: &Path) -> Result<(), Refusal> {
        match self {
            Self::Tree(tree) => {
                let stat = rustix::fs::fstat(tree).step(path.display())?;
                let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
                make_mount_point(path, is_folder).step(path.display())?;
                attach(tree, path)
            }
            Self::Cache(cache) => cache.mount(),
            Self::Itself => attach(&clone(&inside(path))?, path),
            Self::Hidden => hide(path),
        }
    }
}

/// A cache, its store and its work folder, opened before the new root covers them.
struct CacheHandles<'a> {
    tree: &'a Path,
    lower: OwnedFd,
    upper: OwnedFd,
    work: OwnedFd,
}

impl<'a> CacheHandles<'a> {
    fn open(cache: &'a Cache) -> Result<Self, Refusal> {
        let open = |path: &Path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).step(path.display())
        };
        Ok(Self {
            tree: &cache.tree,
            lower: open(&cache.tree)?,
            upper: open(&cache.upper)?,
            work: open(&cache.work)?,
        })
    }

    fn mount(&self) -> Result<(), Refusal> {
        make_mount_point(self.tree, true).step(self.tree.display())?;
        // By descriptor: a path with a comma or a colon would be read as several options.
        let at = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
        let (lower, upper, work) = (at(&self.lower), at(&self.upper), at(&self.work));
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("overlay"), &inside(self.tree), Some("overlay"), flags, Some(options.as_str()))
            .step(format_args!("a copy on write of {}", self.tree.display()))
    }
}

/// Its own `/tmp` and shared memory.
fn attach_own(tmp: Option<&[OwnedFd; 2]>) -> Result<(), Refusal> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let fresh = |path: &str| {
        fs::create_dir_all(inside(path)).step(path)?;
        mount(Some("tmpfs"), &inside(path), Some("tmpfs"), flags, Some("mode=1777")).step(path)
    };
    for (index, path) in ["/tmp", "/var/tmp"].into_iter().enumerate() {
        match tmp.and_then(|trees| trees.get(index)) {
            Some(tree) => {
                fs::create_dir_all(inside(path)).step(path)?;
                attach(tree, Path::new(path))?;
            }
            None => fresh(path)?,
        }
    }
    fs::create_dir_all(inside("/run")).step("/run")?;
    fresh("/dev/shm")
}

fn attach_devices(devices: &[(&str, OwnedFd)]) -> Result<(), Refusal> {
    for (path, tree) in devices {
        make_mount_point(Path::new(path), false).step(path)?;
        attach(tree, Path::new(path))?;
    }
    let terminals = inside("/dev/pts");
    fs::create_dir_all(&terminals).step("/dev/pts")?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=620");
    mount(Some("devpts"), &terminals, Some("devpts"), flags, options).step("/dev/pts")?;
    for (link, target) in [
        ("/dev/ptmx", "pts/ptmx"),
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, inside(link)).step(link)?;
    }
    Ok(())
}

/// What lies over hidden files.
const BLANK: &str = "/.hidden";

/// Covers what must not be read. The cover lies in the new root: a folder that outlives the call could hold a link to
/// the very secret in its place.
fn hide(path: &Path) -> Result<(), Refusal> {
    let covered = inside(path);
    if !covered.exists() {
        return Ok(());
    }
    if covered.is_dir() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        return mount(Some("tmpfs"), &covered, Some("tmpfs"), flags, Some("mode=700,size=64k"))
            .step(path.display());
    }
    let blank = inside(BLANK);
    if !blank.exists() {
        fs::write(&blank, "").step("a hidden file")?;
        fs::set_permissions(&blank, fs::Permissions::from_mode(0o000)).step("a hidden file")?;
    }
    attach(&clone(&blank)?, path)
}

/// Hidden folders can be passed through to what is granted below them, and not listed.
fn close_hidden(plan: &Plan) -> Result<(), Refusal> {
    for path in plan.hide.iter().map(inside).filter(|path| path.is_dir()) {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o111)).step(path.display())?;
    }
    let blank = inside(BLANK);
    if blank.exists() {
        fs::remove_file(&blank).step("a hidden file")?;
    }
    Ok(())
}

/// Makes every mount read-only that the process may not write. A mount keeps the flags that it has: the kernel refuses
/// a remount that would clear one of them.
fn read_only(plan: &Plan) -> Result<(), Refusal> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").step("mountinfo")?;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else { continue };
        let point = PathBuf::from(unescape(point));
        if may_write(plan, &point) {
            continue;
        }
        let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        for option in options.split(',') {
            flags |= match option {
                "nosuid" => MsFlags::MS_NOSUID,
                "nodev" => MsFlags::MS_NODEV,
                "noexec" => MsFlags::MS_NOEXEC,
                "noatime" => MsFlags::MS_NOATIME,
                "nodiratime" => MsFlags::MS_NODIRATIME,
                "relatime" => MsFlags::MS_RELATIME,
                _ => MsFlags::empty(),
            };
        }
        mount(NONE, &point, NONE, flags, NONE)
            .step(format_args!("read-only {}", point.display()))?;
    }
    Ok(())
}

fn may_write(plan: &Plan, point: &Path) -> bool {
    let is_own = |path: &str| point == Path::new(path);
    // `/proc` is closed later: a limit is written to it first. Devices can be written through a read-only mount; it
    // keeps a root user from changing their mode.
    if is_own("/proc") || OWN.into_iter().any(is_own) {
        return true;
    }
    // Mounts that the host has inside a writable tree go with it.
    let granted = plan.write.iter().chain(plan.caches.iter().map(|cache| &cache.tree));
    let depth = |path: &PathBuf| point.starts_with(path).then(|| path.components().count());
    let granted = granted.filter_map(depth).max();
    let closed = plan.protect.iter().chain(&plan.hide).filter_map(depth).max();
    granted > closed
}

/// A detached copy of a tree of mounts.
fn clone(path: &Path) -> Result<OwnedFd, Refusal> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags | OpenTreeFlags::AT_SYMLINK_NOFOLLOW).step(path.display())
}

fn attach(tree: &OwnedFd, at: &Path) -> Result<(), Refusal> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let to = rustix::fs::open(inside(at), flags, Mode::empty()).step(at.display())?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", &to, "", flags).step(format_args!("mount {}", at.display()))
}

/// Where a path of the view is while the new root is built.
fn inside(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

fn make_mount_point(path: &Path, is_folder: bool) -> io::Result<()> {
    let point = inside(path);
    if point.exists() {
        return Ok(());
    }
    if is_folder {
        return fs::create_dir_all(point);
    }
    if let Some(parent) = point.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create(point).map(drop)
}

fn make_link(link: &Path, target: &Path) -> io::Result<()> {
    let link = inside(link);
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)?;
    }
    match symlink(target, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}
