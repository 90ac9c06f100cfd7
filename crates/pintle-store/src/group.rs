//! Group commit: writes that wait at the same moment share one transaction, and so one wait for the disk.

use std::path::Path;

use pintle_agent::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use tokio::sync::oneshot;

use crate::error::{Fault, explain, failed};

/// A write in the queue. It runs first and is answered later, when its transaction is on the disk.
pub(crate) trait Write: Send {
    /// Does the work; `false` when it failed and must leave no trace.
    fn run(&mut self, conn: &Connection) -> bool;
    /// Sends the result to the caller. `lost` is the error of the surrounding transaction, if that failed.
    fn settle(self: Box<Self>, path: &Path, lost: Option<&rusqlite::Error>);
}

/// A closure, and the channel for its result.
pub(crate) struct Task<F, T> {
    doing: &'static str,
    work: Option<F>,
    result: Option<Result<T, Fault>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Task<F, T> {
    pub(crate) fn new(
        doing: &'static str,
        work: F,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) -> Self {
        Self { doing, work: Some(work), result: None, reply }
    }
}

impl<F, T> Write for Task<F, T>
where
    F: FnOnce(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, conn: &Connection) -> bool {
        self.result = self.work.take().map(|work| work(conn));
        matches!(self.result, Some(Ok(_)))
    }

    fn settle(self: Box<Self>, path: &Path, lost: Option<&rusqlite::Error>) {
        let result = match (self.result, lost) {
            (Some(Err(fault)), _) => Err(fault.explain(path, self.doing)),
            (_, Some(error)) => Err(explain(error, path, self.doing)),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(failed(self.doing, "the write was not run".to_owned())),
        };
        // A caller that stopped waiting does not undo the write.
        let _ = self.reply.send(result);
    }
}

/// Runs all writes in one transaction and answers them after the commit.
///
/// Each is all-or-nothing on its own: one that fails is undone alone, and the others are kept.
pub(crate) fn commit(conn: &Connection, path: &Path, mut writes: Vec<Box<dyn Write>>) {
    if writes.is_empty() {
        return;
    }
    let lost = run_all(conn, &mut writes).err();
    for write in writes {
        write.settle(path, lost.as_ref());
    }
}

fn run_all(conn: &Connection, writes: &mut [Box<dyn Write>]) -> rusqlite::Result<()> {
    // Dropping the transaction rolls it back.
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    for write in writes {
        conn.execute_batch("SAVEPOINT one")?;
        let keep = write.run(conn);
        // A full disk or an I/O error makes SQLite roll back everything by itself.
        if conn.is_autocommit() {
            let why =
                "a write in the same transaction failed, and took this one with it".to_owned();
            return Err(rusqlite::Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK),
                Some(why),
            ));
        }
        conn.execute_batch(if keep { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" })?;
    }
    transaction.commit()
}
