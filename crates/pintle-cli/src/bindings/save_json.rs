//! The `save_json` action: one line per event, in a file that cannot be outside the profile's folder (R10.6).

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};
use pintle::{DynEvent, Failure};
use pintle_policy::Scrubber;
use rustix::fs::OFlags;
use serde_json::{Value, json};

#[derive(Clone)]
pub(super) struct SaveJson(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    path: PathBuf,
    scrubber: Arc<Scrubber>,
    /// One line at a time: lines of concurrent runs never interleave.
    turn: Mutex<()>,
}

impl SaveJson {
    pub(super) fn new(dir: &Path, path: &str, scrubber: Arc<Scrubber>) -> Self {
        Self(Arc::new(Inner {
            dir: dir.to_path_buf(),
            path: path.into(),
            scrubber,
            turn: Mutex::default(),
        }))
    }

    pub(super) async fn append(self, event: DynEvent) -> Result<Value, Failure> {
        let written = tokio::task::spawn_blocking(move || self.0.append(&event)).await;
        match written {
            Ok(Ok(())) => Ok(Value::Null),
            Ok(Err(error)) => {
                Err(Failure::errored(format!("the line could not be saved: {error}")))
            }
            Err(_) => Err(Failure::errored("the line could not be saved")),
        }
    }
}

impl Inner {
    fn append(&self, event: &DynEvent) -> std::io::Result<()> {
        let mut line = json!({ "event": event.point, "context": *event.json });
        self.scrubber.scrub_json(&mut line);
        let mut line = line.to_string();
        line.push('\n');
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Opened anew each time, below the folder's own handle: neither `..` nor a link made since can lead out.
        let dir = Dir::open_ambient_dir(&self.dir, ambient_authority())?;
        if let Some(parent) = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            dir.create_dir_all(parent)?;
        }
        // A pipe is not waited for, and nothing but a file is written to.
        let mut options = OpenOptions::new();
        options.append(true).create(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = dir.open_with(&self.path, &options)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is not an ordinary file"));
        }
        // Another process may append to the same file: the lock keeps its lines whole too.
        let mut file = file.into_std();
        file.lock()?;
        file.write_all(line.as_bytes())
    }
}
