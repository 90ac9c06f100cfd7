//! The hashes of the files that a person has looked at (R10.9): agent.json, the files of the profile that its hooks and MCP servers name, and every file under `hooks/`.

use pintle_profile::{AGENT_FILE, HOOKS_FOLDER, Profile, read_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The most files under `hooks/`: all of them are checked before each start of a program.
pub const MOST_FILES: usize = 50_000;

/// The hash of some bytes, as it is written in the lock file.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    written_hash(Sha256::new().chain_update(bytes))
}

/// Compiled programs are large; none is this large.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The hash of a file's bytes. A link is followed: the bytes that a program would read are hashed.
fn file_hash(path: &Path) -> Result<String, std::io::Error> {
    let mut hash = Sha256::new();
    read_file(path, MOST_BYTES, &mut hash)?;
    Ok(written_hash(hash))
}

/// A finished hash, as it is written in the lock file.
fn written_hash(hash: Sha256) -> String {
    let mut written = String::from("sha256:");
    for byte in hash.finalize() {
        for digit in [byte >> 4, byte & 15] {
            written.extend(char::from_digit(digit.into(), 16));
        }
    }
    written
}

/// The hashes of a profile's definition and of the files that belong to its programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The hash of agent.json.
    pub definition: String,
    /// The hash of each file, by its path in the profile's folder.
    pub scripts: BTreeMap<String, String>,
}

/// Why a profile has no fingerprint; it cannot be trusted then.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A file could not be hashed.
    #[error("`{script}` cannot be read: {cause}")]
    Unreadable {
        /// Its path in the profile's folder.
        script: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// There are more files than can be checked before each start of a program.
    #[error(
        "`{HOOKS_FOLDER}/` has more than {MOST_FILES} files, and all of them are checked before each hook: move what hooks do \
         not load out of it"
    )]
    TooMany,
}

/// What became of a part of a profile since it was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It has other bytes.
    Changed,
}

/// One difference between what was trusted and what is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `agent.json`, or a file's path in the profile's folder.
    pub what: String,
    /// What became of it.
    pub kind: ChangeKind,
    /// The hash of the bytes that were trusted.
    pub was: Option<String>,
    /// The hash of the bytes that are there.
    pub now: Option<String>,
}

impl Change {
    fn between(what: &str, was: Option<&String>, now: Option<&String>) -> Option<Self> {
        let kind = match (was, now) {
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            (Some(was), Some(now)) if was != now => ChangeKind::Changed,
            _ => return None,
        };
        Some(Self { what: what.to_owned(), kind, was: was.cloned(), now: now.cloned() })
    }

    /// What to do about it, where that is plain: bytecode that Python leaves behind.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        if self.kind == ChangeKind::Removed {
            return None;
        }
        let folder = compiled_in(&self.what)?;
        Some(format!(
            "Python would run it in place of the source, and it cannot be reviewed: remove the folder `{folder}`"
        ))
    }
}

/// The `__pycache__` that a file is in.
fn compiled_in(file: &str) -> Option<&str> {
    let (folder, _) = file.rsplit_once('/')?;
    Path::new(folder).ends_with("__pycache__").then_some(folder)
}

/// The files that are hashed, by their paths in the profile's folder.
fn files_of(profile: &Profile) -> Result<BTreeSet<String>, TrustError> {
    let (dir, mut files) = (&profile.dir, profile.named_files());
    let (mut seen, mut found) = (HashSet::new(), 0_usize);
    let mut pending = vec![PathBuf::from(HOOKS_FOLDER)];
    while let Some(folder) = pending.pop() {
        // There may be no such folder, and a link may lead to one that was listed before.
        let is_new = dir.join(&folder).canonicalize().is_ok_and(|real| seen.insert(real));
        if !is_new || !dir.join(&folder).is_dir() {
            continue;
        }
        let unreadable =
            |cause| TrustError::Unreadable { script: folder.to_string_lossy().into_owned(), cause };
        for entry in dir.join(&folder).read_dir().map_err(unreadable)? {
            let path = folder.join(entry.map_err(unreadable)?.file_name());
            found = found.saturating_add(1);
            if found > MOST_FILES {
                return Err(TrustError::TooMany);
            }
            match dir.join(&path).metadata() {
                Ok(meta) if meta.is_dir() => pending.push(path),
                // There is nothing to read behind a link to nowhere.
                Err(_) if dir.join(&path).is_symlink() => {}
                _ => drop(files.insert(path.to_string_lossy().into_owned())),
            }
        }
    }
    Ok(files)
}

impl Fingerprint {
    /// The fingerprint of a profile as it is now on the disk.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of(profile: &Profile) -> Result<Self, TrustError> {
        let mut scripts = BTreeMap::new();
        for script in files_of(profile)? {
            match file_hash(&profile.dir.join(&script)) {
                Ok(hash) => drop(scripts.insert(script, hash)),
                Err(cause) => return Err(TrustError::Unreadable { script, cause }),
            }
        }
        Ok(Self { definition: content_hash(profile.source.as_bytes()), scripts })
    }

    /// What is different in `now`; empty means that everything is as trusted.
    #[must_use]
    pub fn diff(&self, now: &Self) -> Vec<Change> {
        let definition = Change::between(AGENT_FILE, Some(&self.definition), Some(&now.definition));
        let files: BTreeSet<&String> = self.scripts.keys().chain(now.scripts.keys()).collect();
        let change =
            |file: &String| Change::between(file, self.scripts.get(file), now.scripts.get(file));
        // Without what it compiled Python runs the source, which is hashed: to remove it is always right.
        let harmless =
            |it: &Change| it.kind == ChangeKind::Removed && compiled_in(&it.what).is_some();
        let changes = definition.into_iter().chain(files.into_iter().filter_map(change));
        changes.filter(|change| !harmless(change)).collect()
    }

    /// Every hash in it.
    pub fn hashes(&self) -> impl Iterator<Item = &str> {
        self.scripts.values().chain([&self.definition]).map(String::as_str)
    }
}

/// The lock file: what has been trusted, by profile. Kept in the operator's data folder, never in the profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustLock {
    version: u32,
    profiles: BTreeMap<String, Fingerprint>,
}

impl Default for TrustLock {
    fn default() -> Self {
        Self { version: 1, profiles: BTreeMap::new() }
    }
}

/// A lock file that cannot be used. Nothing in it is trusted then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the trust lock file cannot be read ({0}): remove it and trust your profiles again with `pintle trust --accept`"
)]
pub struct LockError(String);

impl TrustLock {
    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// When it is damaged or from another version.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let lock: Self =
            serde_json::from_str(text).map_err(|error| LockError(error.to_string()))?;
        if lock.version == 1 {
            Ok(lock)
        } else {
            Err(LockError(format!("version {}", lock.version)))
        }
    }

    /// The text to write.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// What was trusted of a profile, by its folder.
    #[must_use]
    pub fn get(&self, profile: &str) -> Option<&Fingerprint> {
        self.profiles.get(profile)
    }

    /// Records that a profile is trusted as it is.
    pub fn trust(&mut self, profile: impl Into<String>, fingerprint: Fingerprint) {
        self.profiles.insert(profile.into(), fingerprint);
    }

    /// Everything that is trusted, of whatever profile.
    pub fn fingerprints(&self) -> impl Iterator<Item = &Fingerprint> {
        self.profiles.values()
    }

    /// What changed since the profile was trusted; a profile never trusted is all new.
    #[must_use]
    pub fn changes(&self, profile: &str, now: &Fingerprint) -> Vec<Change> {
        if let Some(trusted) = self.get(profile) {
            return trusted.diff(now);
        }
        let definition = (AGENT_FILE, &now.definition);
        let files = now.scripts.iter().map(|(file, hash)| (file.as_str(), hash));
        let added = |(file, hash)| Change::between(file, None, Some(hash));
        std::iter::once(definition).chain(files).filter_map(added).collect()
    }
}
