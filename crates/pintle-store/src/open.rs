//! Opens the database file.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use pintle_agent::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Fault, failed};
use crate::migrations;

const DOING: &str = "opening the database";

/// Opens or creates the database, and upgrades it.
///
/// Nothing is written before the file has been recognised as ours: a damaged, foreign or newer file stays as it is.
pub(crate) fn open(path: &Path, busy_timeout: Duration) -> Result<Connection, StoreError> {
    make_private(path)?;
    connect(path, busy_timeout).map_err(|fault| fault.explain(path, DOING))
}

/// Creates the folder, and an empty file that only its owner can read: conversations are private. SQLite gives its other files
/// next to it the same permissions.
fn make_private(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Err(failed(DOING, format!("{} is a folder. Name a file in it", path.display())));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| {
            let hint = "Check its permissions, or choose another data folder";
            failed(
                DOING,
                format!("the folder {} cannot be used: {error}. {hint}", folder.display()),
            )
        })?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(
            DOING,
            format!(
                "{} cannot be made: {error}. Check the permissions of its folder",
                path.display()
            ),
        )),
    }
}

fn connect(path: &Path, busy_timeout: Duration) -> Result<Connection, Fault> {
    // One thread uses the connection, so SQLite needs no lock of its own.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    // SQLite opens a file read-only when it may not write it. A store that cannot write fails now.
    if conn.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Fault::Refused(
            "it is read-only. Give yourself write permission (chmod u+w)".to_owned(),
        ));
    }
    conn.busy_timeout(busy_timeout)?;
    let deadline = Instant::now() + busy_timeout;
    while_busy(deadline, || migrations::check(&conn))?;
    // Writers do not hold up readers in other processes.
    let mode: String = while_busy(deadline, || {
        Ok(conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?)
    })?;
    if mode != "wal" {
        return Err(Fault::Refused(format!(
            "its file system cannot keep a write-ahead log (mode `{mode}`). Put the data folder on a local disk"
        )));
    }
    // A commit waits until the log is on the disk. NORMAL is enough for `kill -9`, because the kernel keeps what was written.
    // FULL also covers a power cut: an approval that was used before the cut must not be usable after it. Group commit shares
    // the cost.
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")?;
    conn.set_prepared_statement_cache_capacity(64);
    while_busy(deadline, || migrations::migrate(&mut conn))?;
    Ok(conn)
}

/// Tries again while another process holds the lock: SQLite's own waiting does not cover the switch to WAL.
fn while_busy<T>(
    deadline: Instant,
    mut attempt: impl FnMut() -> Result<T, Fault>,
) -> Result<T, Fault> {
    loop {
        match attempt() {
            Err(Fault::Sqlite(error))
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}
