//! The public type of the store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::StoreError;
use pintle_agent::store::{Store, Stored};
use rusqlite::Connection;
use tokio::sync::Notify;

use crate::error::corrupt;
use crate::record_queue::RecordQueue;
use crate::worker::Worker;

/// The settings of a store. The defaults suit a personal machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How many bytes of records may wait to be written before events are dropped.
    pub record_queue_bytes: usize,
    /// How long a run waits for another process that uses its session.
    pub claim_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(10),
            record_queue_bytes: 16 * 1024 * 1024,
            claim_timeout: Duration::from_secs(2),
        }
    }
}

/// A [`Store`] in one SQLite file. Clones share the same connection.
///
/// The connection lives on a thread of its own; dropping the last clone finishes what is queued and waits for it.
///
/// ```
/// use pintle_agent::store::{NewSession, Sessions, Store};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let store = pintle_store::SqliteStore::open(folder.path().join("pintle.db")).await?;
/// let session = store.open(NewSession { key: "cli:default".into(), ..Default::default() }).await?;
/// assert_eq!(session.message_count, 0);
/// # store.close().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    worker: Arc<Worker>,
    /// Notified when this process answers an approval, so a waiting run continues at once.
    answered: Arc<Notify>,
    claim_timeout: Duration,
}

impl SqliteStore {
    /// Opens the database, or makes it (and its folder), and brings an older one up to date.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the file is damaged or is not a database. [`StoreError::Failed`] when it belongs to another
    /// program or a newer Pintle, is a folder, is read-only or out of reach, or stays locked. In each case the file is left
    /// as it is, and the message says what to do.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path, Options::default()).await
    }

    /// Like [`SqliteStore::open`], with these settings.
    ///
    /// # Errors
    /// As for [`SqliteStore::open`].
    pub async fn open_with(path: impl Into<PathBuf>, options: Options) -> Result<Self, StoreError> {
        let records = RecordQueue::new(options.record_queue_bytes);
        let worker = Worker::start(path.into(), options.busy_timeout, records).await?;
        let claim_timeout = options.claim_timeout;
        Ok(Self { worker: Arc::new(worker), answered: Arc::default(), claim_timeout })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        self.worker.path()
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    pub(crate) fn claim_timeout(&self) -> Duration {
        self.claim_timeout
    }

    pub(crate) fn answered(&self) -> &Notify {
        &self.answered
    }
}

impl Store for SqliteStore {
    /// Reads and checks every page. Opening a database checks its first page only, so a database that opens may still be
    /// damaged.
    fn check(&self) -> Stored<'_, ()> {
        async move {
            let check = |conn: &Connection| {
                Ok(conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?)
            };
            match self.worker.read("checking the database", check).await?.as_str() {
                "ok" => Ok(()),
                damage => Err(corrupt(self.path(), damage)),
            }
        }
        .boxed()
    }

    /// Dropping the last clone does the same, but blocks the thread it happens on.
    fn close(&self) -> BoxFuture<'_, ()> {
        self.worker.stop().boxed()
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path()).finish_non_exhaustive()
    }
}
