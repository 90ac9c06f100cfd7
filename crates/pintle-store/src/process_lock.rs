//! A file that a process keeps locked while it lives. By the lock, other processes see whether it has ended.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// This process's lock. The file is removed with it.
#[derive(Debug)]
pub(crate) struct ProcessLock {
    path: PathBuf,
    name: String,
    _file: File,
}

impl ProcessLock {
    /// Creates the lock of this process in the folder, and removes the locks that dead processes left there.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for left in fs::read_dir(folder)?.flatten() {
            let _ = remove_if_free(&left.path());
        }
        loop {
            let name = Uuid::now_v7().to_string();
            let path = folder.join(&name);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            match file.try_lock() {
                // Before the file was locked, another process may have removed it as one left by a dead process.
                Ok(()) if path.exists() => return Ok(Self { path, name, _file: file }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a live process holds the lock. A missing file means that its process has ended: its claims can be taken over.
pub(crate) fn is_held(path: &Path) -> bool {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        // A lock that cannot be checked is treated as held: two owners are worse than none.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes a lock that no process holds. The file is locked while it is removed, so a process that has just created it notices.
fn remove_if_free(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.try_lock().is_ok() {
        fs::remove_file(path)?;
    }
    Ok(())
}
