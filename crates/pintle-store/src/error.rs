//! Turns errors of SQLite into messages that say what to do.

use std::path::Path;

use pintle_agent::StoreError;
use rusqlite::ErrorCode;

/// What can go wrong inside a job on the database thread.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The database is intact, but this program must not use it.
    Refused(String),
    /// A stored value cannot be decoded.
    Unreadable(String),
    /// An error that the caller gets unchanged.
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl Fault {
    /// The public error. It names the file and a fix.
    pub(crate) fn explain(self, path: &Path, doing: &'static str) -> StoreError {
        match self {
            Fault::Sqlite(error) => explain(&error, path, doing),
            Fault::Refused(why) => {
                failed(doing, format!("{} was left as it is: {why}", path.display()))
            }
            Fault::Unreadable(detail) => corrupt(path, &detail),
            Fault::Store(error) => error,
        }
    }
}

/// The public error for an error of SQLite. Takes a reference, because one failed commit fails many jobs.
pub(crate) fn explain(error: &rusqlite::Error, path: &Path, doing: &'static str) -> StoreError {
    use rusqlite::Error as E;
    if matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::InvalidColumnType(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
    ) {
        return corrupt(path, &error.to_string());
    }
    let file = path.display();
    let detail = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            return corrupt(path, &error.to_string());
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!(
                "{file} is locked by another program and stayed so. Close that program or wait, then try again"
            )
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            format!("{file} cannot be written. Check the permissions of the file and of its folder")
        }
        Some(ErrorCode::DiskFull) => {
            format!("the disk that holds {file} is full. Free some space and try again")
        }
        Some(ErrorCode::CannotOpen) => {
            format!("{file} cannot be opened. Check that its folder may be read and written")
        }
        _ => format!("{error} ({file})"),
    };
    failed(doing, detail)
}

pub(crate) fn failed(doing: &'static str, detail: String) -> StoreError {
    StoreError::Failed { doing, detail }
}

pub(crate) fn corrupt(path: &Path, what: &str) -> StoreError {
    StoreError::Corrupt {
        path: path.display().to_string(),
        detail: format!(
            "{what}. The file was left as it is: restore it from a backup, or move it away to start afresh"
        ),
    }
}
