//! Trust by content (R10.9): what was looked at is what may run.

use crate::contents::Contents;
pub use crate::contents::Stamps;
use crate::profile::{AGENT_FILE, MOST_FILES, Profile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use thiserror::Error;

/// The hash of some bytes, as it stands in the lock file.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    written_hash(Sha256::new().chain_update(bytes))
}

/// The same of what was gone through.
pub(crate) fn written_hash(hash: Sha256) -> String {
    let mut written = String::from("sha256:");
    for byte in hash.finalize() {
        for digit in [byte >> 4, byte & 15] {
            written.extend(char::from_digit(digit.into(), 16));
        }
    }
    written
}

/// The hashes of a profile's definition and of every script it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The hash of agent.json.
    pub definition: String,
    /// The hash of each script, by its path in the profile's folder.
    pub scripts: BTreeMap<String, String>,
    /// Those of them that scripts only look into: one that comes to be later changes no program.
    #[serde(skip)]
    pub read: BTreeSet<String>,
}

/// Why a profile has no fingerprint; it cannot be trusted then.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A script could not be hashed.
    #[error("`{script}` cannot be read: {cause}")]
    Unreadable {
        /// Its path in the profile's folder.
        script: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// More files count than are looked at before each start of a program.
    #[error(
        "`{folder}` has more than {MOST_FILES} files, and every one of them counts: keep the scripts in a folder of their own \
         and name them, and install beside them only what they need (for Node: a `package.json` there)"
    )]
    TooMany {
        /// The folder; `.` is the profile's own.
        folder: String,
    },
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
    /// `agent.json`, or a script's path.
    pub what: String,
    /// What became of it.
    pub kind: ChangeKind,
}

impl Change {
    /// What to do about it, where that is plain: files that come to be without anybody writing them.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        if self.kind == ChangeKind::Removed {
            return None;
        }
        if let Some(folder) = compiled_in(&self.what) {
            return Some(format!(
                "Python would run it in place of the source, and nobody can read it: remove the folder `{folder}`"
            ));
        }
        let name = self.what.rsplit('/').next().unwrap_or_default();
        let is_copy = name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
        is_copy.then(|| {
            "an editor's copy, which a script that loads all of its folder would load: remove it".to_owned()
        })
    }
}

/// The `__pycache__` that a file is in.
fn compiled_in(file: &str) -> Option<&str> {
    let (folder, _) = file.rsplit_once('/')?;
    Path::new(folder).ends_with("__pycache__").then_some(folder)
}

impl Fingerprint {
    /// The fingerprint of a profile as it is now on the disk.
    ///
    /// # Errors
    /// When a script cannot be read.
    pub fn of(profile: &Profile, contents: &mut Contents) -> Result<Self, TrustError> {
        Self::with_stamps(profile, contents).map(|(fingerprint, _)| fingerprint)
    }

    /// The same, and what tells later whether a file was touched since, also if it was put back.
    ///
    /// # Errors
    /// When a script cannot be read.
    pub fn with_stamps(
        profile: &Profile,
        contents: &mut Contents,
    ) -> Result<(Self, Stamps), TrustError> {
        contents.look_again();
        let mut scripts = BTreeMap::new();
        let now = profile.scripts_now(contents);
        if let Some(folder) = now.too_large {
            return Err(TrustError::TooMany { folder });
        }
        for script in now.files {
            let known = contents.read(&profile.dir, &script);
            let known =
                known.map_err(|cause| TrustError::Unreadable { script: script.clone(), cause })?;
            scripts.insert(script, known.hash.clone());
        }
        let definition = content_hash(profile.source.as_bytes());
        let stamps = contents.stamps(scripts.keys());
        Ok((Self { definition, scripts, read: now.read }, stamps))
    }

    /// What is different in `now`; empty means that everything is as trusted.
    #[must_use]
    pub fn diff(&self, now: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.definition != now.definition {
            changes.push(Change { what: AGENT_FILE.into(), kind: ChangeKind::Changed });
        }
        for (script, hash) in &now.scripts {
            let kind = match self.scripts.get(script) {
                None if now.read.contains(script) => continue,
                None => ChangeKind::Added,
                Some(trusted) if trusted != hash => ChangeKind::Changed,
                Some(_) => continue,
            };
            changes.push(Change { what: script.clone(), kind });
        }
        // Without what it compiled Python goes by the source, which counts by itself: to remove it is always right.
        let gone = self
            .scripts
            .keys()
            .filter(|script| !now.scripts.contains_key(*script) && compiled_in(script).is_none());
        changes
            .extend(gone.map(|script| Change { what: script.clone(), kind: ChangeKind::Removed }));
        changes
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

    /// What changed since the profile was trusted; a profile never trusted is all new.
    #[must_use]
    pub fn changes(&self, profile: &str, now: &Fingerprint) -> Vec<Change> {
        match self.get(profile) {
            Some(trusted) => trusted.diff(now),
            None => {
                let files =
                    std::iter::once(AGENT_FILE.to_owned()).chain(now.scripts.keys().cloned());
                files.map(|what| Change { what, kind: ChangeKind::Added }).collect()
            }
        }
    }
}
