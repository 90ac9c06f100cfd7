//! Looks at protected paths before and after a process.
//!
//! Folders are held by the kernel in the tiers with namespaces. A protected *file* can lose its mount when the host itself
//! replaces it meanwhile, a path that did not exist could not be mounted on, and without namespaces nothing is held: these
//! are compared, and what changed is put right where its old content is known.
//!
//! Without namespaces, a sweep that begins while another one is under way takes over what that one knows: the disk may have
//! what the other process wrote.

mod folder;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use crate::{Held, plan::Plan};
use folder::{Folder, entries, remove};

/// The most that is kept to put things right: of one file, and together.
const MOST_OF_A_FILE: u64 = 1024 * 1024;
const MOST_TOGETHER: u64 = 8 * 1024 * 1024;

/// A protected path that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedChange {
    /// The path.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ProtectedChangeKind,
}

/// What became of a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedChangeKind {
    /// It did not exist, and does now. It stays: a person may have asked for it.
    Created,
    /// It was changed, or made inside a folder that git or the agent obeys, and is as it was again.
    PutRight,
    /// It was changed and stays so: its old content was not kept.
    Changed,
    /// The host replaced a secret file, whose cover fell off: the process may have read the new one.
    Uncovered,
}

impl fmt::Display for ProtectedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.kind {
            ProtectedChangeKind::Created => {
                write!(f, "{path} is protected and was created: look at it before you use it")
            }
            ProtectedChangeKind::PutRight => {
                write!(f, "{path} is protected: the change was undone")
            }
            ProtectedChangeKind::Changed => write!(f, "{path} is protected and was changed"),
            ProtectedChangeKind::Uncovered => {
                write!(
                    f,
                    "{path} is secret and was replaced meanwhile: the command may have read it"
                )
            }
        }
    }
}

/// What the sweeps know that are under way without namespaces.
static UNDER_WAY: Mutex<Vec<Weak<Before>>> = Mutex::new(Vec::new());

/// Protected paths as they were before a process.
#[derive(Debug, Default)]
pub struct Sweep {
    before: Arc<Before>,
    /// Whether a person may have replaced protected files in the time of the process, which had mounts on them.
    leaves_files: bool,
}

#[derive(Debug, Default)]
struct Before {
    /// The writable trees. Nothing below them is reached through a symlink.
    trees: Vec<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    /// Protected folders that nothing holds, and those in them. A new entry in one is a change.
    folders: BTreeSet<PathBuf>,
    absent: Vec<Absent>,
    /// Secret files that only a cover hides, with their inodes.
    covered: Vec<(PathBuf, u64)>,
}

#[derive(Debug, Clone)]
struct File {
    before: Stat,
    content: Option<Content>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Link(PathBuf),
}

/// A protected path that does not exist.
#[derive(Debug, Clone)]
struct Absent {
    path: PathBuf,
    /// Whether it would be in a folder of git's or the agent's, where no person asks for it.
    is_inside: bool,
}

/// Whether a file was not touched; the change time cannot be set back.
fn is_untouched(before: &Stat, now: &Stat) -> bool {
    let times = |found: &Stat| (found.st_ctime, found.st_ctime_nsec);
    is_same_file(before, now) && before.st_size == now.st_size && times(before) == times(now)
}

fn is_same_file(before: &Stat, now: &Stat) -> bool {
    (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino)
}

impl Sweep {
    /// Looks at what this process must not change.
    #[must_use]
    pub fn before(held: &Held) -> Self {
        // A policy that cannot be made exact starts nothing.
        let Ok(plan) = Plan::new(held.policy(), Path::new("/"), None) else {
            return Self::default();
        };
        let has_namespaces = held.tier().has_namespaces();
        if has_namespaces {
            return Self::of(Before::new(held, plan, &[]));
        }
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|before| before.strong_count() > 0);
        let others: Vec<Arc<Before>> = under_way.iter().filter_map(Weak::upgrade).collect();
        let sweep = Self::of(Before::new(held, plan, &others));
        under_way.push(Arc::downgrade(&sweep.before));
        sweep
    }

    fn of(before: Before) -> Self {
        Self { before: Arc::new(before), leaves_files: false }
    }

    /// For a process that lives for long: a protected file that a person may have changed meanwhile is not put back. Without
    /// namespaces the process may have changed it as well, so it is.
    pub(crate) fn leave_files(&mut self, held: &Held) {
        self.leaves_files = held.tier().has_namespaces();
    }

    /// What changed since, put right as far as possible.
    #[must_use]
    pub fn after(self) -> Vec<ProtectedChange> {
        self.before.compare(self.leaves_files)
    }
}

impl Before {
    fn new(held: &Held, plan: Plan, others: &[Arc<Self>]) -> Self {
        let trees = plan.writable().cloned().collect();
        let mut before = Self { trees, ..Self::default() };
        let has_namespaces = held.tier().has_namespaces();
        let mut room = MOST_TOGETHER;
        for path in plan.protect {
            match (path.is_dir(), has_namespaces) {
                _ if others.iter().any(|other| before.take_over(&path, other)) => {}
                (true, true) => {}
                (true, false) => before.add_folder(path, &mut room),
                (false, _) => before.add_file(path, &mut room),
            }
        }
        for path in plan.absent {
            if others.iter().any(|other| before.take_over(&path, other)) {
                continue;
            }
            let parent = path.parent().filter(|parent| !before.trees.iter().any(|t| t == parent));
            let is_inside = parent.is_some_and(Path::is_dir);
            before.absent.push(Absent { path, is_inside });
        }
        let has_landlock = held.tier().has_landlock();
        // Landlock's rights on a process's own /tmp reach to what is mounted in it.
        let is_in_own = |path: &Path| {
            has_namespaces && ["/tmp", "/var/tmp"].iter().any(|own| path.starts_with(own))
        };
        let is_covered_only =
            |path: &PathBuf| !has_landlock || is_in_own(path) || before.tree_of(path).is_some();
        let hidden = plan.hide.into_iter().filter(is_covered_only);
        let files = hidden.filter_map(|path| Some((path.metadata().ok()?, path)));
        before.covered = files
            .filter(|(found, _)| found.is_file())
            .map(|(found, path)| (path, found.ino()))
            .collect();
        before
    }

    /// Takes what another sweep knows of this path and of what is in it, if it knows the path.
    fn take_over(&mut self, path: &Path, other: &Self) -> bool {
        let absent = other.absent.iter().find(|absent| absent.path == path);
        if absent.is_none() && !other.files.contains_key(path) && !other.folders.contains(path) {
            return false;
        }
        self.absent.extend(absent.cloned());
        let inside = |it: &Path| it.starts_with(path);
        let files = other.files.iter().filter(|(it, _)| inside(it));
        self.files.extend(files.map(|(path, file)| (path.clone(), file.clone())));
        self.folders.extend(other.folders.iter().filter(|it| inside(it)).cloned());
        true
    }

    fn tree_of(&self, path: &Path) -> Option<&Path> {
        let around = self.trees.iter().map(PathBuf::as_path).filter(|tree| path.starts_with(tree));
        around.max_by_key(|tree| tree.components().count())
    }

    fn add_folder(&mut self, folder: PathBuf, room: &mut u64) {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.add_folder(entry.path(), room),
                _ => self.add_file(entry.path(), room),
            }
        }
        self.folders.insert(folder);
    }

    fn add_file(&mut self, path: PathBuf, room: &mut u64) {
        let Ok(before) = rustix::fs::lstat(&path) else { return };
        let kind = FileType::from_raw_mode(before.st_mode);
        let size = before.st_size.unsigned_abs();
        let content = match kind {
            FileType::Symlink => fs::read_link(&path).ok().map(Content::Link),
            FileType::RegularFile if size <= MOST_OF_A_FILE.min(*room) => {
                *room -= size;
                fs::read(&path).ok().map(Content::Bytes)
            }
            _ => None,
        };
        self.files.insert(path, File { before, content });
    }

    fn compare(&self, leaves_files: bool) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        let mut add = |path: &Path, kind| {
            changes.push(ProtectedChange { path: path.to_owned(), kind });
        };
        let put_right = |done: io::Result<()>| match done {
            Ok(()) => ProtectedChangeKind::PutRight,
            Err(_) => ProtectedChangeKind::Changed,
        };
        for (path, file) in &self.files {
            match self.is_as_before(path, file) {
                true => {}
                // A mount holds on a file that is still the same one and has no other name.
                false if leaves_files && self.is_still_there(path, file) => {}
                false if leaves_files => add(path, ProtectedChangeKind::Changed),
                false => add(path, put_right(self.restore(path, file))),
            }
        }
        for path in &self.folders {
            let Ok(folder) = self.folder(path, true) else {
                add(path, ProtectedChangeKind::Changed);
                continue;
            };
            for name in entries(&folder) {
                let entry = path.join(&name);
                if !self.files.contains_key(&entry) && !self.folders.contains(&entry) {
                    add(&entry, put_right(remove(&folder, &name)));
                }
            }
        }
        for Absent { path, is_inside } in &self.absent {
            let Some((folder, name)) = self.locate(path, false) else { continue };
            if folder.look(name).is_ok() {
                let kind = match is_inside {
                    true => put_right(remove(&folder, name)),
                    false => ProtectedChangeKind::Created,
                };
                add(path, kind);
            }
        }
        for (path, inode) in &self.covered {
            if path.metadata().is_ok_and(|found| found.ino() != *inode) {
                add(path, ProtectedChangeKind::Uncovered);
            }
        }
        changes
    }

    /// Whether it was not written, or has the same content again: another sweep may have put it right.
    fn is_as_before(&self, path: &Path, file: &File) -> bool {
        let Some((folder, name)) = self.locate(path, false) else { return false };
        let Ok(found) = folder.look(name) else { return false };
        is_untouched(&file.before, &found)
            || file.before.st_mode == found.st_mode
                && file.before.st_uid == found.st_uid
                && file.before.st_nlink == found.st_nlink
                && file.content.is_some()
                && folder.content(name).ok() == file.content
    }

    fn is_still_there(&self, path: &Path, file: &File) -> bool {
        let found = self.locate(path, false).and_then(|(folder, name)| folder.look(name).ok());
        found.is_some_and(|found| is_same_file(&file.before, &found) && found.st_nlink == 1)
    }

    fn restore(&self, path: &Path, file: &File) -> io::Result<()> {
        let content = file.content.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let (folder, name) = self.locate(path, true).ok_or(io::ErrorKind::NotFound)?;
        folder.replace(name, content, file.before.st_mode)
    }

    fn locate<'a>(&self, path: &'a Path, repair: bool) -> Option<(Folder, &'a std::ffi::OsStr)> {
        Some((self.folder(path.parent()?, repair).ok()?, path.file_name()?))
    }

    /// A folder in a writable tree, reached without symlinks; with `repair`, whatever is in the place of a folder on the
    /// way goes.
    fn folder(&self, path: &Path, repair: bool) -> io::Result<Folder> {
        let tree = self.tree_of(path).ok_or(io::ErrorKind::NotFound)?;
        let mut folder = Folder::open(tree)?;
        for name in path.strip_prefix(tree).into_iter().flatten() {
            folder = if repair { folder.enter_or_make(name)? } else { folder.enter(name)? };
        }
        Ok(folder)
    }
}
