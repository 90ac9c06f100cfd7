//! Looks at protected paths before and after a process.
//!
//! Folders are held by the kernel in the tiers with namespaces. A protected *file* can lose its mount when the host itself
//! replaces it meanwhile, a path that did not exist could not be mounted on, and without namespaces nothing is held: these
//! are compared, and what changed is put right where its old content is known.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Held, Policy};

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
    /// It did not exist, and does now. It stays: nothing runs it before a person looks.
    Created,
    /// It was changed and has its old content again.
    PutRight,
    /// It was changed and stays so: its old content was not kept.
    Changed,
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
        }
    }
}

/// Protected paths as they were before a process.
#[derive(Debug, Default)]
pub struct Sweep {
    files: BTreeMap<PathBuf, File>,
    absent: Vec<PathBuf>,
    /// The folders in which a new file is a change.
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct File {
    signature: Signature,
    content: Option<Vec<u8>>,
    mode: u32,
}

/// A file that has another of these was touched; the change time cannot be set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Signature {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            inode: (found.dev(), found.ino()),
            size: found.size(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl Sweep {
    /// Looks at what this process must not change.
    #[must_use]
    pub fn before(held: &Held) -> Self {
        let mut sweep = Self::default();
        let Policy { protect, write, .. } = held.policy();
        let has_namespaces = held.tier().has_namespaces();
        let mut room = MOST_TOGETHER;
        for path in protect.iter().filter(|path| write.iter().any(|tree| path.starts_with(tree))) {
            match fs::symlink_metadata(path) {
                Err(_) => sweep.absent.push(path.clone()),
                Ok(found) if found.is_dir() && has_namespaces => {}
                Ok(found) if found.is_dir() => {
                    sweep.folders.push(path.clone());
                    for file in files_below(path) {
                        sweep.add(file, &mut room);
                    }
                }
                Ok(_) => sweep.add(path.clone(), &mut room),
            }
        }
        sweep
    }

    fn add(&mut self, path: PathBuf, room: &mut u64) {
        let (Some(signature), Ok(found)) = (Signature::of(&path), fs::symlink_metadata(&path))
        else {
            return;
        };
        let fits = found.is_file() && found.len() <= MOST_OF_A_FILE.min(*room);
        let content = fits.then(|| fs::read(&path).ok()).flatten();
        *room = room.saturating_sub(content.as_ref().map_or(0, |content| content.len() as u64));
        self.files.insert(path, File { signature, content, mode: found.mode() });
    }

    /// What changed since, put right as far as possible.
    #[must_use]
    pub fn after(self) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        let mut add =
            |path: &Path, kind| changes.push(ProtectedChange { path: path.to_owned(), kind });
        for (path, file) in &self.files {
            if Signature::of(path) == Some(file.signature) {
                continue;
            }
            if file
                .content
                .as_ref()
                .is_some_and(|content| fs::read(path).is_ok_and(|now| now == *content))
            {
                continue;
            }
            add(
                path,
                match file.restore(path) {
                    Ok(()) => ProtectedChangeKind::PutRight,
                    Err(_) => ProtectedChangeKind::Changed,
                },
            );
        }
        for path in &self.absent {
            if fs::symlink_metadata(path).is_ok() {
                add(path, ProtectedChangeKind::Created);
            }
        }
        for folder in &self.folders {
            for file in
                files_below(folder).into_iter().filter(|file| !self.files.contains_key(file))
            {
                // A new file in a protected folder would run as one of its own.
                let kind = match fs::remove_file(&file) {
                    Ok(()) => ProtectedChangeKind::PutRight,
                    Err(_) => ProtectedChangeKind::Changed,
                };
                add(&file, kind);
            }
        }
        changes
    }
}

impl File {
    fn restore(&self, path: &Path) -> io::Result<()> {
        let content = self.content.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::create_dir_all(parent)?;
        // A link in place of a folder would lead the write elsewhere.
        if parent.canonicalize()? != parent {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // By a new file and a rename: the process may have put a link in the file's place too.
        let fresh = parent
            .join(format!(".pintle-restore-{:x}", getrandom::u64().map_err(io::Error::other)?));
        let mut file = fs::File::options().write(true).create_new(true).open(&fresh)?;
        file.write_all(content)?;
        file.set_permissions(fs::Permissions::from_mode(self.mode & 0o7777))?;
        fs::rename(fresh, path)
    }
}

/// Every file below a folder; links are not followed.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found
}
