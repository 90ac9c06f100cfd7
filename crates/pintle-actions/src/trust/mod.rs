//! Trust by content: a script runs only as a person has accepted it (R10.9).

mod fingerprint;

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_profile::{AGENT_FILE, Profile, typed};
use serde_json::Value;

use crate::BindError;
pub use fingerprint::{
    Change, ChangeKind, Fingerprint, LockError, MOST_FILES, TrustError, TrustLock, content_hash,
};

/// What was trusted of a profile, and how to see whether that still holds.
pub struct Trust {
    profile: Profile,
    accepted: Option<Fingerprint>,
}

impl Trust {
    /// Reads what was trusted of this profile from the program's data folder.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn read(data: &Path, profile: &Profile) -> Result<Self, BindError> {
        let accepted = read_lock(data)?.get(&key_of(profile)).cloned();
        Ok(Self { profile: profile.clone(), accepted })
    }

    /// Reads the files anew for every call: a script may change while the agent runs.
    ///
    /// # Errors
    /// With what changed, if the profile is not as it was trusted.
    pub fn check(&self) -> Result<(), String> {
        let Some(accepted) = &self.accepted else {
            return Err("this profile is not trusted yet".into());
        };
        let now = Fingerprint::of(&self.profile).map_err(|error| error.to_string())?;
        let Some(change) = accepted.diff(&now).into_iter().next() else { return Ok(()) };
        let what = match change.kind {
            ChangeKind::Added => "is new since the profile was trusted",
            ChangeKind::Changed => "has changed since it was trusted",
            ChangeKind::Removed => "was removed since the profile was trusted",
        };
        let advice = change.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
        Err(format!("`{}` {what}{advice}", change.what))
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::new(FailureKind::Untrusted, format!("{why}; fix: {}", self.way_out()))
    }

    /// What to do about it.
    pub fn way_out(&self) -> String {
        let dir = typed(&self.profile.dir);
        format!("pintle trust {dir}")
    }
}

/// A handler that runs only while its profile is as it was trusted.
pub(crate) struct Trusted<H> {
    pub(crate) trust: Arc<Trust>,
    pub(crate) handler: H,
}

impl<H: DynHandler> DynHandler for Trusted<H> {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        match self.trust.check() {
            Ok(()) => self.handler.call(event),
            Err(why) => Box::pin(std::future::ready(Err(self.trust.failure(&why)))),
        }
    }
}

/// What changed since the profile was trusted; everything, if it never was.
///
/// # Errors
/// When the lock file or a file of the profile cannot be read.
pub fn changes(data: &Path, profile: &Profile) -> Result<Vec<Change>, BindError> {
    let now = Fingerprint::of(profile).map_err(BindError::new)?;
    Ok(read_lock(data)?.changes(&key_of(profile), &now))
}

/// A file before and after a change; `None` where a side of it is not text, is too large, or was not kept.
#[must_use]
pub fn sides(data: &Path, profile: &Profile, change: &Change) -> Option<(String, String)> {
    let kept = kept_folder(data);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let was = match &change.was {
        Some(hash) => fs::read(kept.join(file_of(hash))).ok().and_then(text),
        None => Some(String::new()),
    };
    let now = match &change.now {
        Some(hash) => bytes_of(profile, &change.what, hash).and_then(text),
        None => Some(String::new()),
    };
    was.zip(now)
}

/// Records the profile as it is now, and keeps its files to show later what changed.
///
/// # Errors
/// When a file of the profile cannot be read, or the data folder cannot be written.
pub fn accept(data: &Path, profile: &Profile) -> Result<(), BindError> {
    // One at a time: two processes that trust two profiles must not undo each other.
    fs::create_dir_all(data)?;
    let turn = File::create(data.join("trust.lock"))?;
    turn.lock()?;
    let mut lock = read_lock(data)?;
    let now = Fingerprint::of(profile).map_err(BindError::new)?;
    keep(data, profile, &now)?;
    lock.trust(key_of(profile), now);
    let path = data.join(TRUST_FILE);
    let fresh = path.with_extension("new");
    fs::write(&fresh, lock.to_text())?;
    fs::rename(fresh, path)?;
    forget_all_but(&lock, &kept_folder(data))
}

/// The largest file of which the bytes are kept.
const MOST_KEPT: u64 = 256 * 1024;

/// Where the bytes of trusted files are kept, each under its hash.
fn kept_folder(data: &Path) -> PathBuf {
    data.join("trusted")
}

fn file_of(hash: &str) -> &str {
    hash.trim_start_matches("sha256:")
}

/// The bytes of a file of the profile, if they are those of this hash and not too many.
fn bytes_of(profile: &Profile, file: &str, hash: &str) -> Option<Vec<u8>> {
    let path = profile.dir.join(file);
    let bytes = match file {
        AGENT_FILE => profile.source.clone().into_bytes(),
        _ if path.metadata().is_ok_and(|meta| meta.len() <= MOST_KEPT) => fs::read(path).ok()?,
        _ => return None,
    };
    (content_hash(&bytes) == hash).then_some(bytes)
}

fn keep(data: &Path, profile: &Profile, now: &Fingerprint) -> Result<(), BindError> {
    let folder = kept_folder(data);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let files = now.scripts.iter().map(|(file, hash)| (file.as_str(), hash));
    for (file, hash) in files.chain([(AGENT_FILE, &now.definition)]) {
        let kept = folder.join(file_of(hash));
        if !kept.exists()
            && let Some(bytes) = bytes_of(profile, file, hash)
        {
            fs::write(kept, bytes)?;
        }
    }
    Ok(())
}

fn forget_all_but(lock: &TrustLock, folder: &Path) -> Result<(), BindError> {
    let wanted: BTreeSet<&str> =
        lock.fingerprints().flat_map(Fingerprint::hashes).map(file_of).collect();
    for entry in folder.read_dir()? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| wanted.contains(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// What was trusted, in the data folder.
pub const TRUST_FILE: &str = "trust.json";

fn read_lock(data: &Path) -> Result<TrustLock, BindError> {
    let path = data.join(TRUST_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => TrustLock::parse(&text).map_err(|error| {
            BindError::new(format!("cannot read {}: {error}", path.display()))
                .hint("remove the file, then trust your profiles again with pintle trust")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TrustLock::default()),
        Err(error) => Err(BindError::new(format!("cannot read {}: {error}", path.display()))),
    }
}

fn key_of(profile: &Profile) -> String {
    let dir = fs::canonicalize(&profile.dir).unwrap_or_else(|_| profile.dir.clone());
    dir.display().to_string()
}
