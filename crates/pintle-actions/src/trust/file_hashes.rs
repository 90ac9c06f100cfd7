//! The hashes of files, each computed once for as long as the file stays the same: a check before every hook must be cheap.

use super::fingerprint::written_hash;
use pintle_profile::read_file;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io::Error;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Compiled programs are large; none is this large.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// A file that was just written can be written again without a later date: it is read again while it is this young.
const SETTLED: Duration = Duration::from_secs(2);

/// The hashes that are known, by what shows whether a file has changed.
#[derive(Debug, Default)]
pub struct FileHashes {
    known: HashMap<PathBuf, (Stamp, String)>,
}

/// The state of files and folders at one check.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    pub(crate) files: HashMap<String, Stamp>,
    pub(crate) folders: HashMap<PathBuf, Stamp>,
}

impl Stamps {
    /// A file that was written or replaced between the two checks, even if it was put back.
    #[must_use]
    pub fn touched_file(&self, later: &Self) -> Option<&str> {
        let differs = |(file, stamp): &(&String, &Stamp)| {
            later.files.get(*file).is_some_and(|it| it != *stamp)
        };
        self.files.iter().find(differs).map(|(file, _)| file.as_str())
    }

    /// A folder in which a file was made or removed between the two checks, even for a moment.
    #[must_use]
    pub fn touched_folder(&self, later: &Self) -> Option<&Path> {
        let differs = |(folder, stamp): &(&PathBuf, &Stamp)| {
            later.folders.get(*folder).is_some_and(|it| it != *stamp)
        };
        self.folders.iter().find(differs).map(|(folder, _)| folder.as_path())
    }
}

/// What every write changes: a file's place on the disk, its size and its times. The time of a change is set by the system
/// alone. A link has a second half: the file it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    own: Marks,
    target: Option<Marks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Marks {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let own = std::fs::symlink_metadata(path)?;
        let target = own.is_symlink().then(|| std::fs::metadata(path)).transpose()?;
        Ok(Self { own: Marks::of(&own), target: target.as_ref().map(Marks::of) })
    }

    fn is_older_than(&self, moment: SystemTime) -> bool {
        let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let older = |marks: &Marks| u64::try_from(marks.changed.0).unwrap_or(0) < moment;
        older(&self.own) && self.target.as_ref().is_none_or(older)
    }
}

impl Marks {
    fn of(meta: &Metadata) -> Self {
        Self {
            place: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl FileHashes {
    /// The hash of a file's bytes. A link is followed: the bytes that a program would read are hashed.
    ///
    /// # Errors
    /// When it is not an ordinary file or cannot be read.
    pub(crate) fn hash(&mut self, path: &Path) -> Result<(Stamp, String), Error> {
        let stamp = Stamp::of(path)?;
        if let Some((_, hash)) = self.known.get(path).filter(|(then, _)| *then == stamp) {
            return Ok((stamp, hash.clone()));
        }
        let begun = SystemTime::now();
        let mut hash = Sha256::new();
        read_file(path, MOST_BYTES, &mut hash)?;
        let hash = written_hash(hash);
        if begun.checked_sub(SETTLED).is_some_and(|moment| stamp.is_older_than(moment)) {
            self.known.insert(path.to_owned(), (stamp.clone(), hash.clone()));
        }
        Ok((stamp, hash))
    }
}
