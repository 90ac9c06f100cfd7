//! Upgrades an older database.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Fault;

/// Marks a file as ours ("Pntl"), so that another program's database is never written to.
const APPLICATION_ID: i64 = 0x506E_746C;

/// Every step ever released, oldest first; never edited, only added to.
/// A database's `user_version` is how many of them it has seen.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_sessions.sql"),
    include_str!("migrations/0002_runs.sql"),
    include_str!("migrations/0003_approvals.sql"),
    include_str!("migrations/0004_origin.sql"),
    include_str!("migrations/0005_heard_denials.sql"),
    include_str!("migrations/0006_rules.sql"),
    include_str!("migrations/0007_claims.sql"),
    include_str!("migrations/0008_queues.sql"),
    include_str!("migrations/0009_short_ids.sql"),
    include_str!("migrations/0010_tickets.sql"),
    include_str!("migrations/0011_records.sql"),
    include_str!("migrations/0012_summaries.sql"),
    include_str!("migrations/0013_notes.sql"),
];

/// Refuses a database that is not ours or is newer than this program. Only reads.
pub(crate) fn check(conn: &Connection) -> Result<(), Fault> {
    // One snapshot for all queries: another process may be creating the tables right now.
    let conn = conn.unchecked_transaction()?;
    let version = version(&conn)?;
    let known = STEPS.len();
    if usize::try_from(version).is_ok_and(|v| v > known) {
        return Err(Fault::Refused(format!(
            "its format is version {version}, and this program knows up to {known}: it was written by a newer \
             Pintle. Update Pintle, or use another data folder"
        )));
    }
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let objects: i64 =
        conn.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let fresh = application == 0 && objects == 0 && version == 0;
    if application == APPLICATION_ID || fresh {
        return Ok(());
    }
    Err(Fault::Refused(
        "it is a SQLite database of another program. Choose another file".to_owned(),
    ))
}

/// Brings the database up to date: one transaction per step, so that a crash leaves a whole version.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), Fault> {
    for (done, step) in (0_i64..).zip(STEPS) {
        if version(conn)? > done {
            continue;
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have taken this step while we waited for the lock.
        if version(&tx)? == done {
            tx.execute_batch(step)?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            tx.pragma_update(None, "user_version", done + 1)?;
        }
        tx.commit()?;
    }
    Ok(())
}

fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}
