//! One run at a time in a session, across processes: a locked file per session, which the kernel unlocks when its owner
//! dies, however it dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
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
        let mut owner = None;
        loop {
            match self.try_lock(&session.id)? {
                Ok(lock) => return Ok(Claim::held_by(lock)),
                // The system's list of locks may leave one out while others come and go: what was seen once holds.
                Err(seen) => owner = seen.or(owner),
            }
            if Instant::now() >= given_up {
                let by = owner.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                return Err(StoreError::InUse { session: session.key.clone(), by });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The lock; or, as far as it is known, the process that has it.
    fn try_lock(&self, session_id: &str) -> Result<Result<Lock, Option<u32>>, StoreError> {
        let path = self.lock_of(session_id);
        Lock::try_take(&path).map_err(|error| {
            let path = path.display();
            failed(DOING, format!("{path} cannot be used: {error}. Check its permissions"))
        })
    }

    pub(crate) fn lock_of(&self, session_id: &str) -> PathBuf {
        self.path().with_file_name("locks").join(session_id)
    }
}

/// A file that is locked until it is closed. It stays where it is, empty: making and removing one for each run would
/// make every write of the database wait for the folder as well.
struct Lock {
    _file: File,
}

impl Lock {
    fn try_take(path: &Path) -> io::Result<Result<Self, Option<u32>>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = match (options.open(path), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder)?;
                options.open(path)?
            }
            (opened, _) => opened?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(Err(owner_of(&file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// The process that holds the lock, where the system says so: on Linux, in a list of all locks by file number.
#[cfg(unix)]
fn owner_of(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let number = file.metadata().ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 4711 fd:01:8675309 0 EOF`
        let mut words = line.split_ascii_whitespace().skip(4);
        let (owner, place) = (words.next()?, words.next()?);
        (place.rsplit(':').next()?.parse() == Ok(number)).then(|| owner.parse().ok())?
    })
}

#[cfg(not(unix))]
fn owner_of(_: &File) -> Option<u32> {
    None
}
