//! One owner of a session at a time, across processes.
//!
//! The row in `claims` names the owner, and every write of a run checks it. Each process keeps one file locked, and the kernel
//! unlocks the file when the process ends, however it ends: an unlocked file means that the owner is gone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::StoreError;
use pintle_agent::store::{Claim, Claims, FencingToken, Session, Stored, StoredRun};
use rusqlite::{Connection, OptionalExtension, params};

use crate::clock::{from_sql, now_ms, to_sql};
use crate::error::{Fault, failed};
use crate::process_lock::{ProcessLock, is_held};
use crate::store::SqliteStore;

/// How often to check whether the other run has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const DOING: &str = "taking a session for a run";

impl Claims for SqliteStore {
    fn claim(&self, session: &Session) -> Stored<'_, Claim> {
        let session = session.clone();
        async move {
            let deadline = Instant::now() + self.claim_timeout();
            loop {
                let pid = match self.take(&session.id).await? {
                    Ok(claim) => return Ok(claim),
                    Err(pid) => pid,
                };
                if Instant::now() >= deadline {
                    let by = format!(" (process {pid})");
                    return Err(StoreError::InUse { session: session.key, by });
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        .boxed()
    }

    fn try_claim(&self, session_id: &str) -> Stored<'_, Option<Claim>> {
        let session_id = session_id.to_owned();
        async move { Ok(self.take(&session_id).await?.ok()) }.boxed()
    }

    fn is_claimed(&self, session_id: &str) -> Stored<'_, bool> {
        let session_id = session_id.to_owned();
        async move { Ok(self.live_owner(session_id).await?.is_some()) }.boxed()
    }
}

impl SqliteStore {
    /// The claim, or the id of the process that holds it.
    fn take(&self, session_id: &str) -> BoxFuture<'_, Result<Result<Claim, i64>, StoreError>> {
        let session_id = session_id.to_owned();
        async move {
            // A read needs no write lock, and usually the session is free.
            if let Some(pid) = self.live_owner(session_id.clone()).await? {
                return Ok(Err(pid));
            }
            let (lock, locks) = (self.process_lock()?, self.locks());
            // The write sets the epoch. The guard exists before the write, so a caller that stops waiting releases the claim.
            let token = FencingToken::new(session_id, 0);
            let guard = Release { store: self.clone(), token: token.clone() };
            let write = move |conn: &Connection| take(conn, &locks, token, &lock);
            Ok(match self.worker().write(DOING, write).await? {
                Ok(token) => Ok(Claim::new(token).held_by(guard)),
                Err(pid) => Err(pid),
            })
        }
        .boxed()
    }

    async fn live_owner(&self, session_id: String) -> Result<Option<i64>, StoreError> {
        let locks = self.locks();
        let read = move |conn: &Connection| Ok(live_owner(conn, &locks, &session_id)?.owner);
        self.worker().read(DOING, read).await
    }

    /// The folder of the locks, next to the database.
    pub(crate) fn locks(&self) -> PathBuf {
        self.path().with_file_name("locks")
    }

    /// This process's own lock.
    pub(crate) fn process_lock(&self) -> Result<std::sync::Arc<ProcessLock>, StoreError> {
        self.worker().process_lock(&self.locks()).map_err(|error| {
            let folder = self.locks();
            let folder = folder.display();
            failed(DOING, format!("{folder} cannot be used: {error}. Check its permissions"))
        })
    }
}

/// What a session's row says.
struct Row {
    epoch: u64,
    /// A process claimed the session and has not released it.
    is_claimed: bool,
    /// The id of that process, if it is still alive.
    owner: Option<i64>,
}

fn live_owner(conn: &Connection, locks: &Path, session_id: &str) -> rusqlite::Result<Row> {
    let row: Option<(i64, Option<String>, Option<i64>)> = conn
        .prepare_cached(
            "SELECT epoch, CASE WHEN nonce IS NULL THEN NULL ELSE owner END, pid FROM claims WHERE session_id = ?1",
        )?
        .query_row([session_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (epoch, owner, pid) = row.unwrap_or_default();
    let lives = owner.as_ref().is_some_and(|owner| is_held(&locks.join(owner)));
    let is_claimed = owner.is_some();
    Ok(Row { epoch: from_sql(epoch), is_claimed, owner: pid.filter(|_| lives) })
}

fn take(
    conn: &Connection,
    locks: &Path,
    mut token: FencingToken,
    lock: &ProcessLock,
) -> Result<Result<FencingToken, i64>, Fault> {
    let session_id = token.session_id.as_str();
    if !conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([session_id])? {
        return Err(StoreError::NoSuchSession(session_id.to_owned()).into());
    }
    let row = live_owner(conn, locks, session_id)?;
    if let Some(pid) = row.owner {
        return Ok(Err(pid));
    }
    if row.is_claimed {
        // The owner is gone: its open runs end as interrupted, and it can add nothing to them.
        conn.prepare_cached(
            "UPDATE runs SET ended_at = ?2, outcome = ?3 WHERE session_id = ?1 AND ended_at IS NULL",
        )?
        .execute(params![session_id, to_sql(now_ms()), StoredRun::INTERRUPTED])?;
    }
    token.epoch = row.epoch + 1;
    conn.prepare_cached(
        "INSERT INTO claims (session_id, epoch, nonce, owner, pid) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session_id) DO UPDATE SET epoch = ?2, nonce = ?3, owner = ?4, pid = ?5",
    )?
    .execute(params![
        token.session_id,
        to_sql(token.epoch),
        token.nonce,
        lock.name(),
        std::process::id()
    ])?;
    Ok(Ok(token))
}

/// Fails if the claim was lost. Every write of a run calls this first, in the transaction of the write.
pub(crate) fn fence(conn: &Connection, token: &FencingToken) -> Result<(), Fault> {
    let held = conn
        .prepare_cached("SELECT 1 FROM claims WHERE session_id = ?1 AND epoch = ?2 AND nonce = ?3")?
        .exists(params![token.session_id, to_sql(token.epoch), token.nonce])?;
    match held {
        true => Ok(()),
        false => Err(StoreError::ClaimLost { session: token.session_id.clone() }.into()),
    }
}

/// Releases a session when dropped. The release is queued behind the writes under the claim; the drop does not wait for it.
struct Release {
    store: SqliteStore,
    token: FencingToken,
}

impl Drop for Release {
    fn drop(&mut self) {
        let token = self.token.clone();
        self.store.worker().write_later("giving a session back", move |conn| {
            conn.prepare_cached(
                "UPDATE claims SET nonce = NULL WHERE session_id = ?1 AND nonce = ?2",
            )?
            .execute([token.session_id, token.nonce])?;
            Ok(())
        });
    }
}
