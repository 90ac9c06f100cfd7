//! The view of the file system: a new root that holds what the plan grants and nothing else.
//!
//! Trees are opened before anything is mounted and attached by descriptor, so that a workspace under `/tmp` or a link
//! that is swapped meanwhile changes nothing.

use std::{
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    unistd::pivot_root,
};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2},
    mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree},
};

use super::{Refusal, Step};
use crate::plan::{Cache, Plan, is_below};

/// Where the new root is built. Every system has this folder.
const ROOT: &str = "/tmp";

const NONE: Option<&str> = None;

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What every process needs of `/sys`: how many processors there are.
const SYSTEM_FACTS: &str = "/sys/devices/system";

/// What covers hidden files and folders, in the new root until it is entered.
const BLANK_FILE: &str = ".hidden-file";
const BLANK_FOLDER: &str = ".hidden-folder";

/// The folders that a process may write whatever its plan says.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"];

/// Moves this process, which is process 1 of its namespace, into the view.
pub(super) fn enter(plan: &Plan) -> Result<(), Refusal> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).step("private mounts")?;
    let mounts = sources(plan)?;
    let root = NewRoot::mount()?;
    for (link, target) in &plan.links {
        root.link(link, target).step(link.display())?;
    }
    root.folder(Path::new("/run")).step("/run")?;
    let mut pinned: Vec<&Path> = Vec::new();
    for (path, source) in &mounts {
        // A folder between a tree and the writable place it lies in, such as `/tmp`: a later process would follow what
        // this one has put in its place.
        for above in plan.writable_above(path) {
            if !pinned.contains(&above) {
                pin(&root.folder(above).step(above.display())?, above)?;
                pinned.push(above);
            }
        }
        match source {
            Source::Cover => cover(path, plan, &root)?,
            _ => source.mount(path, &root)?,
        }
    }
    close_hidden(plan, &root)?;
    root.enter()?;
    read_only(plan)?;
    rustix::process::chdir(&plan.cwd)
        .step(format_args!("the working folder {}", plan.cwd.display()))
}

/// Bounds the processes of this namespace. Needs a kernel that counts per namespace, which takes no smaller number.
pub(super) fn limit_processes(most: u64) -> io::Result<()> {
    const SMALLEST: u64 = 301;
    fs::write("/proc/sys/kernel/pid_max", most.max(SMALLEST).to_string())
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

/// What is mounted where, opened before the new root covers it. Parents come first, whatever kind they are: a writable tree
/// may lie in a readable one, in a cache, or in what is otherwise hidden. Of two for one path the later covers the earlier:
/// what may only be read does not cover the process's own folders, and these do not cover what it may write.
fn sources(plan: &Plan) -> Result<Vec<(&Path, Source)>, Refusal> {
    let mut mounts: Vec<(&Path, Source)> = Vec::new();
    let tree = |path| clone(path).map(|tree| (path, Source::Tree(tree)));
    let facts = Some(Path::new(SYSTEM_FACTS)).filter(|path| path.exists());
    for path in plan.read.iter().map(PathBuf::as_path).chain(facts).chain(DEVICES.map(Path::new)) {
        mounts.push(tree(path)?);
    }
    for path in ["/tmp", "/var/tmp"].map(Path::new) {
        let source = match &plan.tmp {
            Some(tmp) => Source::Tree(clone(tmp)?),
            None => Source::Memory,
        };
        mounts.push((path, source));
    }
    mounts.push((Path::new("/dev/shm"), Source::Memory));
    mounts.push((Path::new("/dev/pts"), Source::Terminals));
    mounts.push((Path::new("/proc"), Source::Processes));
    for cache in &plan.caches {
        mounts.push((&cache.tree, Source::Cache(CacheHandles::open(cache)?)));
    }
    for path in plan.writable() {
        mounts.push(tree(path)?);
    }
    for path in plan.pins.iter().chain(&plan.protect) {
        mounts.push((path, Source::Itself));
    }
    for path in &plan.hide {
        mounts.push((path, Source::Cover));
    }
    mounts.sort_by_key(|(path, _)| path.components().count());
    Ok(mounts)
}

enum Source {
    Tree(OwnedFd),
    Cache(CacheHandles),
    /// An empty folder that ends with the process.
    Memory,
    Terminals,
    Processes,
    /// What is there already: a mount point cannot be renamed or removed, and can be made read-only.
    Itself,
    /// Nothing, in place of what must not be read.
    Cover,
}

impl Source {
    fn mount(&self, path: &Path, root: &NewRoot) -> Result<(), Refusal> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let new = |kind: &str, flags: MsFlags, options: Option<&str>| {
            let point = root.folder(path).step(path.display())?;
            mount(Some(kind), &by_handle(&point), Some(kind), flags, options).step(path.display())
        };
        match self {
            Self::Tree(tree) => {
                let kind = kind_of(tree).step(path.display())?;
                let point = if kind.is_dir() { root.folder(path) } else { root.file(path) };
                attach(tree, &point.step(path.display())?, path)
            }
            Self::Itself => pin(&root.find(path).step(path.display())?, path),
            Self::Cover => Ok(()),
            Self::Cache(cache) => new("overlay", flags, Some(&cache.options())),
            Self::Memory => new("tmpfs", flags, Some("mode=1777")),
            Self::Processes => new("proc", flags | MsFlags::MS_NOEXEC, None),
            Self::Terminals => {
                let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
                new("devpts", flags, Some("newinstance,ptmxmode=0666,mode=620"))?;
                for (link, target) in [
                    ("/dev/ptmx", "pts/ptmx"),
                    ("/dev/fd", "/proc/self/fd"),
                    ("/dev/stdin", "/proc/self/fd/0"),
                    ("/dev/stdout", "/proc/self/fd/1"),
                    ("/dev/stderr", "/proc/self/fd/2"),
                ] {
                    root.link(Path::new(link), Path::new(target)).step(link)?;
                }
                Ok(())
            }
        }
    }
}

/// A cache, its store and its work folder.
struct CacheHandles {
    lower: OwnedFd,
    upper: OwnedFd,
    work: OwnedFd,
}

impl CacheHandles {
    fn open(cache: &Cache) -> Result<Self, Refusal> {
        let open = |path: &Path| open_plain(path).step(path.display());
        let (lower, upper, work) = (open(&cache.tree)?, open(&cache.upper)?, open(&cache.work)?);
        Ok(Self { lower, upper, work })
    }

    /// By descriptor: a path with a comma or a colon would be read as several options.
    fn options(&self) -> String {
        let [lower, upper, work] = [&self.lower, &self.upper, &self.work].map(by_handle);
        let [lower, upper, work] = [lower.display(), upper.display(), work.display()];
        format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr")
    }
}

/// The root of the view while it is built. Nothing in it is reached through a symlink: an earlier process may have left one
/// in a folder that it could write, and the target would be the host's.
struct NewRoot(OwnedFd);

impl NewRoot {
    fn mount() -> Result<Self, Refusal> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), ROOT, Some("tmpfs"), flags, Some("mode=755,size=64m"))
            .step("the new root")?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(ROOT, flags, Mode::empty()).map(Self).step("the new root")
    }

    /// What is at a path.
    fn find(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        let path = path.strip_prefix("/").unwrap_or(path);
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        openat2(&self.0, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    /// The folder at a path, made with those above it if it is missing.
    fn folder(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        match self.find(path) {
            Err(rustix::io::Errno::NOENT) => {}
            found => return found,
        }
        let (parent, name) = self.parent(path)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            // Another process of the session, with the same `/tmp`, has made it meanwhile.
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.find(path),
            Err(error) => Err(error),
        }
    }

    /// The file at a path, made empty if it is missing.
    fn file(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        match self.find(path) {
            Err(rustix::io::Errno::NOENT) => {}
            found => return found,
        }
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(&parent, name, flags, Mode::from_raw_mode(0o644)) {
            Err(rustix::io::Errno::EXIST) => self.find(path),
            made => made,
        }
    }

    fn link(&self, path: &Path, target: &Path) -> rustix::io::Result<()> {
        let (parent, name) = self.parent(path)?;
        match rustix::fs::symlinkat(target, &parent, name) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            made => made,
        }
    }

    fn parent<'a>(&self, path: &'a Path) -> rustix::io::Result<(OwnedFd, &'a Path)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(rustix::io::Errno::INVAL);
        };
        Ok((self.folder(parent)?, Path::new(name)))
    }

    /// What covers hidden files or folders, made when it is needed first. It lies in the new root: a folder that outlives
    /// the call could hold a link to the very secret in its place.
    fn blank(&self, is_folder: bool) -> rustix::io::Result<OwnedFd> {
        let path = Path::new(if is_folder { BLANK_FOLDER } else { BLANK_FILE });
        if let Ok(found) = self.find(path) {
            return clone_of(&found);
        }
        let made = if is_folder { self.folder(path) } else { self.file(path) }?;
        rustix::fs::chmod(by_handle(&made), Mode::empty())?;
        clone_of(&made)
    }

    /// Makes it the root of this process.
    fn enter(&self) -> Result<(), Refusal> {
        rustix::process::fchdir(&self.0).step("the new root")?;
        pivot_root(".", ".").step("pivot_root")?;
        umount2(".", MntFlags::MNT_DETACH).step("the old root")?;
        rustix::process::chdir("/").step("the new root")
    }
}

/// Covers what must not be read.
fn cover(path: &Path, plan: &Plan, root: &NewRoot) -> Result<(), Refusal> {
    use rustix::io::Errno;

    let found = match root.find(path) {
        // Not in the view, or behind a link that an earlier process has put into its copy of a cache.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
        found => found.step(path.display())?,
    };
    let is_folder = kind_of(&found).step(path.display())?.is_dir();
    if is_folder && is_reopened(path, plan) {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let options = Some("mode=700,size=64k");
        return mount(Some("tmpfs"), &by_handle(&found), Some("tmpfs"), flags, options)
            .step(path.display());
    }
    attach(&root.blank(is_folder).step("a cover")?, &found, path)
}

fn is_reopened(path: &Path, plan: &Plan) -> bool {
    plan.reopened.iter().any(|tree| is_below(tree, path))
}

/// Hidden folders with something that is reopened can be passed through to that, and not listed.
fn close_hidden(plan: &Plan, root: &NewRoot) -> Result<(), Refusal> {
    for path in plan.hide.iter().filter(|path| is_reopened(path, plan)) {
        let found = root.find(path).step(path.display())?;
        rustix::fs::chmod(by_handle(&found), Mode::from_raw_mode(0o111)).step(path.display())?;
    }
    let _ = rustix::fs::unlinkat(&root.0, BLANK_FILE, AtFlags::empty());
    let _ = rustix::fs::unlinkat(&root.0, BLANK_FOLDER, AtFlags::REMOVEDIR);
    Ok(())
}

/// Mounts a folder or file onto itself.
fn pin(found: &OwnedFd, path: &Path) -> Result<(), Refusal> {
    attach(&clone_of(found).step(path.display())?, found, path)
}

fn attach(tree: &OwnedFd, to: &OwnedFd, path: &Path) -> Result<(), Refusal> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", to, "", flags).step(format_args!("mount {}", path.display()))
}

/// Makes every mount read-only that the process may not write. A mount keeps the flags that it has: the kernel refuses
/// a remount that would clear one of them.
fn read_only(plan: &Plan) -> Result<(), Refusal> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").step("mountinfo")?;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else { continue };
        let point = PathBuf::from(unescape(point));
        if may_write(plan, &point) || options.split(',').any(|option| option == "ro") {
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
    let is_cache = plan.caches.iter().any(|cache| cache.tree == point);
    // Mounts that the host has inside a writable tree go with it. `/proc` is closed later: a limit is written to it first.
    // Devices can be written through a read-only mount; it keeps a root user from changing their mode.
    plan.may_write(point) || is_cache || is_own("/proc") || OWN.into_iter().any(is_own)
}

/// A detached copy of a tree of mounts of the host.
fn clone(path: &Path) -> Result<OwnedFd, Refusal> {
    open_plain(path).and_then(|found| clone_of(&found)).step(path.display())
}

fn clone_of(tree: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(tree, "", flags)
}

/// The paths of a plan have no symlinks; one that has become a symlink meanwhile is refused.
fn open_plain(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn kind_of(found: &OwnedFd) -> rustix::io::Result<FileType> {
    fstat(found).map(|found| FileType::from_raw_mode(found.st_mode))
}

/// A path that leads to an open file, for calls that take no descriptor.
fn by_handle(found: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", found.as_raw_fd()).into()
}

fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{sync::Barrier, thread};

    use super::*;

    // R17.4: commands of one session share a /tmp, and each makes the folders on the way to a workspace under it.
    #[test]
    fn mount_points_are_made_by_several_processes_at_once() {
        for _ in 0..50 {
            let shared = tempfile::tempdir().unwrap();
            let at_once = Barrier::new(8);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let root = fs::File::open(shared.path()).unwrap();
                        let root = NewRoot(root.into());
                        at_once.wait();
                        root.folder(Path::new("/some/folders/on/the/way")).unwrap();
                        root.file(Path::new("/some/file")).unwrap();
                    });
                }
            });
        }
    }
}
