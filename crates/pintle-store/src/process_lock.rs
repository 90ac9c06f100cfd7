//! A file that a process keeps locked while it lives: how others see that it is gone, however it ended.

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
    /// Makes a lock of its own in this folder, and removes those that dead processes have left there.
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
                // Another process may have taken it for one of a dead process, before it was locked.
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

/// Whether a live process holds the lock. A file that is gone belongs to no one: a claim that rests on it can be taken.
pub(crate) fn is_held(path: &Path) -> bool {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        // A lock that cannot be looked at is taken for held: two owners are worse than none.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes a lock that no process holds. It is locked meanwhile, so that its maker notices.
fn remove_if_free(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.try_lock().is_ok() {
        fs::remove_file(path)?;
    }
    Ok(())
}
