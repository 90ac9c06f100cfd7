//! What could not be delivered, on disk: one file of JSON lines per endpoint, read by one process at a time.

use std::{
    fs::{self, File, OpenOptions},
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

/// The folder of undelivered messages. Holds a lock on it while it lives.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    _lock: File,
}

impl Spool {
    /// # Errors
    /// When the folder cannot be made, or another process has it.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = private().create(true).truncate(false).open(folder.join("lock"))?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Self { folder: folder.into(), _lock: lock })
    }

    /// What was left of this endpoint last time, oldest first. A line that a crash cut off is skipped.
    pub(super) fn load(&self, endpoint: &str) -> Vec<Message> {
        let Ok(text) = fs::read_to_string(self.file(endpoint)) else { return Vec::new() };
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Replaces what is kept for this endpoint, whole or not at all.
    pub(super) fn save(&self, endpoint: &str, messages: &[Message]) -> io::Result<()> {
        let file = self.file(endpoint);
        if messages.is_empty() {
            return match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let unfinished = file.with_extension("part");
        let mut writer =
            io::BufWriter::new(private().create(true).truncate(true).open(&unfinished)?);
        for message in messages {
            serde_json::to_writer(&mut writer, message)?;
            writer.write_all(b"\n")?;
        }
        writer.flush()?;
        fs::rename(&unfinished, &file)
    }

    fn file(&self, endpoint: &str) -> PathBuf {
        let hash = Sha256::digest(endpoint.as_bytes());
        let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.jsonl"))
    }
}

/// Contexts are nobody else's business.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
