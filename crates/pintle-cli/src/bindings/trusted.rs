//! Trust by content: a script runs only as a person has accepted it (R10.9).

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind};
use pintle_profile::{
    AGENT_FILE, Profile,
    trust::{Change, ChangeKind, FileHashes, Fingerprint, Stamps, TrustLock, content_hash},
};
use serde_json::Value;
use similar::TextDiff;

use crate::{environment::Environment, problem::Problem, shown::typed};

/// What was trusted of a profile, and how to see whether that still holds.
pub(crate) struct Trust {
    profile: Profile,
    accepted: Option<Fingerprint>,
    hashes: Mutex<FileHashes>,
}

impl Trust {
    pub(crate) fn read(environment: &Environment, profile: &Profile) -> Result<Self, Problem> {
        let accepted = read_lock(environment)?.get(&key_of(profile)).cloned();
        Ok(Self { profile: profile.clone(), accepted, hashes: Mutex::default() })
    }

    /// Checks the files anew for every call: a script may change while the agent runs.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.look().map(drop)
    }

    /// The same, and the state of the files, to be compared when the program has run.
    pub(crate) fn look(&self) -> Result<Stamps, String> {
        let Some(accepted) = &self.accepted else {
            return Err("nobody has trusted this profile yet".into());
        };
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Fingerprint::with_stamps(&self.profile, &mut hashes);
        let (now, stamps) = seen.map_err(|e| e.to_string())?;
        let Some(change) = accepted.diff(&now).into_iter().next() else { return Ok(stamps) };
        let what = match change.kind {
            ChangeKind::Added => "was not there when the profile was trusted",
            ChangeKind::Changed => "changed since it was trusted",
            ChangeKind::Removed => "is gone since it was trusted",
        };
        let advice = change.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
        Err(format!("`{}` {what}{advice}", change.what))
    }

    /// Whether nothing was touched since that check. The system starts a program by its name: the file that was checked is the
    /// file that ran only if it stayed in its place. A program that has run cannot be undone, but its answer can be refused.
    pub(crate) fn still(&self, seen: &Stamps) -> Result<(), String> {
        let now = self.look()?;
        if let Some(file) = seen.touched_file(&now) {
            return Err(format!(
                "`{file}` was touched while it ran, so its answer is not believed"
            ));
        }
        match seen.touched_folder(&now) {
            Some(folder) => Err(format!(
                "a file came and went in `{}` while it ran, so its answer is not believed",
                folder.display()
            )),
            None => Ok(()),
        }
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::new(FailureKind::Untrusted, format!("{why}; {}", self.way_out()))
    }

    /// What to do about it.
    pub(crate) fn way_out(&self) -> String {
        let dir = typed(&self.profile.dir);
        format!("look at it with `pintle trust {dir}`, then add `--accept`")
    }
}

/// Keeps Python from writing compiled files beside the scripts: they would be new files under `hooks/`.
pub(crate) const NO_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// A handler that runs only while its profile is as it was trusted, and is believed only if it stayed so.
pub(crate) struct Trusted<H> {
    trust: Arc<Trust>,
    handler: H,
    /// Of a process that goes on running: the state of the files when it was first asked. A file that was put back since does
    /// not show what the process was started from.
    first: Option<OnceLock<Stamps>>,
}

impl<H> Trusted<H> {
    pub(crate) fn new(trust: Arc<Trust>, handler: H) -> Self {
        Self { trust, handler, first: None }
    }

    pub(crate) fn lasting(trust: Arc<Trust>, handler: H) -> Self {
        Self { trust, handler, first: Some(OnceLock::new()) }
    }

    fn look(&self) -> Result<Stamps, String> {
        let now = self.trust.look()?;
        let Some(first) = &self.first else { return Ok(now) };
        let first = first.get_or_init(|| now.clone());
        match first.touched_file(&now) {
            Some(file) => {
                Err(format!("`{file}` was touched since the worker started: start pintle again"))
            }
            None => Ok(now),
        }
    }
}

impl<H: DynHandler> DynHandler for Trusted<H> {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let seen = match self.look() {
            Ok(seen) => seen,
            Err(why) => return Box::pin(std::future::ready(Err(self.trust.failure(&why)))),
        };
        let (running, trust) = (self.handler.call(event), self.trust.clone());
        Box::pin(async move {
            let answer = running.await;
            trust.still(&seen).map_err(|why| trust.failure(&why))?;
            answer
        })
    }
}

/// What changed since the profile was trusted; everything, if it never was.
pub(crate) fn changes(
    environment: &Environment,
    profile: &Profile,
) -> Result<Vec<Change>, Problem> {
    let now = Fingerprint::of(profile, &mut FileHashes::default()).map_err(Problem::new)?;
    Ok(read_lock(environment)?.changes(&key_of(profile), &now))
}

/// What changed in a file, line by line; `None` where a side of it is not text, is too large, or was not kept.
pub(crate) fn diff(
    environment: &Environment,
    profile: &Profile,
    change: &Change,
) -> Result<Option<String>, Problem> {
    let kept = kept_folder(environment)?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let was = match &change.was {
        Some(hash) => fs::read(kept.join(file_of(hash))).ok().and_then(text),
        None => Some(String::new()),
    };
    let now = match &change.now {
        Some(hash) => bytes_of(profile, &change.what, hash).and_then(text),
        None => Some(String::new()),
    };
    Ok(was.zip(now).map(|(was, now)| {
        TextDiff::from_lines(&was, &now).unified_diff().context_radius(3).to_string()
    }))
}

/// Records the profile as it is now, and keeps its files to show later what changed.
pub(crate) fn accept(environment: &Environment, profile: &Profile) -> Result<(), Problem> {
    // One at a time: two processes that trust two profiles must not undo each other.
    let turn = File::create(environment.data_dir()?.join("trust.lock"))?;
    turn.lock()?;
    let mut lock = read_lock(environment)?;
    let now = Fingerprint::of(profile, &mut FileHashes::default()).map_err(Problem::new)?;
    keep(environment, profile, &now)?;
    lock.trust(key_of(profile), now);
    let path = environment.data_dir()?.join(TRUST_FILE);
    let fresh = path.with_extension("new");
    fs::write(&fresh, lock.to_text())?;
    fs::rename(fresh, path)?;
    forget_all_but(&lock, &kept_folder(environment)?)
}

/// The largest file of which the bytes are kept.
const MOST_KEPT: u64 = 256 * 1024;

/// Where the bytes of trusted files are kept, each under its hash.
fn kept_folder(environment: &Environment) -> Result<PathBuf, Problem> {
    Ok(environment.data_dir()?.join("trusted"))
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

fn keep(environment: &Environment, profile: &Profile, now: &Fingerprint) -> Result<(), Problem> {
    let folder = kept_folder(environment)?;
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

fn forget_all_but(lock: &TrustLock, folder: &Path) -> Result<(), Problem> {
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
pub(crate) const TRUST_FILE: &str = "trust.json";

fn read_lock(environment: &Environment) -> Result<TrustLock, Problem> {
    let path = environment.data_dir()?.join(TRUST_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => TrustLock::parse(&text).map_err(|error| {
            Problem::new(format!("{}: {error}", path.display()))
                .hint("remove the file to trust everything anew")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TrustLock::default()),
        Err(error) => Err(Problem::new(format!("{} cannot be read: {error}", path.display()))),
    }
}

fn key_of(profile: &Profile) -> String {
    let dir = fs::canonicalize(&profile.dir).unwrap_or_else(|_| profile.dir.clone());
    dir.display().to_string()
}
