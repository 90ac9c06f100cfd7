//! What could not be delivered, on disk: a sub-folder for each process that uses the folder at the same time, in it
//! one file of JSON lines per endpoint.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One message, ready to be sent. Kept as it will be sent: a signature is over these very bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) id: Arc<str>,
    pub(super) body: Arc<str>,
}

/// So many processes can share a folder.
const MOST_PROCESSES: u32 = 1024;

/// A process's own part of the folder of undelivered messages. Holds a lock on it while it lives.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    _lock: File,
}

impl Spool {
    /// The first part that no living process has, with what dead ones left in theirs.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub(super) fn open(shared: &Path) -> io::Result<Self> {
        let mut parts = (0..MOST_PROCESSES).map(|number| shared.join(number.to_string()));
        let own = loop {
            let Some(folder) = parts.next() else {
                return Err(io::Error::other("too many processes use it"));
            };
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            if let Some(own) = Self::lock(&folder)? {
                break own;
            }
        };
        for folder in parts.take_while(|folder| folder.exists()) {
            if let Some(left) = Self::lock(&folder)? {
                own.take_over(&left)?;
            }
        }
        Ok(own)
    }

    /// `None` when another process has it.
    fn lock(folder: &Path) -> io::Result<Option<Self>> {
        let lock = private().create(true).truncate(false).open(folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { folder: folder.into(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Ours first, then theirs: among its own messages each process has kept their order.
    fn take_over(&self, left: &Self) -> io::Result<()> {
        for entry in fs::read_dir(&left.folder)? {
            let theirs = entry?.path();
            let (Some(name), Some("jsonl")) =
                (theirs.file_name(), theirs.extension().and_then(OsStr::to_str))
            else {
                continue;
            };
            let ours = self.folder.join(name);
            let messages = [read(&ours), read(&theirs)].concat();
            write(&ours, &messages)?;
            fs::remove_file(&theirs)?;
        }
        Ok(())
    }

    /// What was left of this endpoint last time, oldest first.
    pub(super) fn load(&self, endpoint: &str) -> Vec<Message> {
        read(&self.file(endpoint))
    }

    /// Replaces what is kept for this endpoint, whole or not at all.
    pub(super) fn save(&self, endpoint: &str, messages: &[Message]) -> io::Result<()> {
        let file = self.file(endpoint);
        if !messages.is_empty() {
            return write(&file, messages);
        }
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, endpoint: &str) -> PathBuf {
        let hash = Sha256::digest(endpoint.as_bytes());
        let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.jsonl"))
    }
}

/// A line that a crash cut off is skipped.
fn read(file: &Path) -> Vec<Message> {
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn write(file: &Path, messages: &[Message]) -> io::Result<()> {
    let unfinished = file.with_extension("part");
    let mut writer = io::BufWriter::new(private().create(true).truncate(true).open(&unfinished)?);
    for message in messages {
        serde_json::to_writer(&mut writer, message)?;
        writer.write_all(b"\n")?;
    }
    writer.flush()?;
    fs::rename(&unfinished, file)
}

/// Contexts are nobody else's business.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
