//! One run at a time in a session, across processes: a locked file per session, which the kernel unlocks when its owner
//! dies, however it dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pintle_agent::{Claim, Session, StoreError};

use crate::error::failed;
use crate::store::SqliteStore;

/// How often to look whether the other one is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const DOING: &str = "taking a session for a run";

impl SqliteStore {
    /// The session, unless somebody uses it right now, here or in another process: how to see whether the run that asked
    /// a question still lives.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the lock next to the database cannot be made.
    pub fn try_claim(&self, session_id: &str) -> Result<Option<Claim>, StoreError> {
        Ok(self.try_lock(session_id)?.ok().map(Claim::held_by))
    }

    /// The same, waiting as long as [`Options::claim_patience`](crate::Options) for whoever uses it.
    pub(crate) async fn claim_session(&self, session: &Session) -> Result<Claim, StoreError> {
        let given_up = Instant::now() + self.claim_patience();
        loop {
            let owner = match self.try_lock(&session.id)? {
                Ok(lock) => return Ok(Claim::held_by(lock)),
                Err(owner) => owner,
            };
            if Instant::now() >= given_up {
                let by = owner.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                return Err(StoreError::InUse { session: session.key.clone(), by });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The lock; or, as far as it is known, the process that has it.
    fn try_lock(&self, session_id: &str) -> Result<Result<Lock, Option<u32>>, StoreError> {
        let folder = self.path().with_file_name("locks");
        Lock::try_take(&folder, session_id).map_err(|error| {
            let folder = folder.display();
            failed(DOING, format!("{folder} cannot be used: {error}. Check its permissions"))
        })
    }
}

/// A file that is locked, and removed when it no longer is.
struct Lock {
    path: PathBuf,
    /// Unlocked when it is closed.
    _file: File,
}

impl Lock {
    fn try_take(folder: &Path, name: &str) -> io::Result<Result<Self, Option<u32>>> {
        let path = folder.join(name);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(folder)?;
                    options.open(&path)?
                }
                opened => opened?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(written(&mut file))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had it may have removed it after we opened it: then others lock another file of this name.
            if is_at(&file, &path)? {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                return Ok(Ok(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked: nobody can have taken it since.
        #[cfg(unix)]
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok(there.ino() == ours.ino() && there.dev() == ours.dev()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where files that are in use cannot be removed, they never are.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The process id its owner wrote; it may not have come to that yet.
fn written(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
