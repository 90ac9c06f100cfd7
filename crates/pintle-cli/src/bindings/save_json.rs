//! The `save_json` action: one line per event, in a file that cannot be outside the profile's folder (R10.6).

use std::{
    fs::File,
    io::{Error, ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
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
            path: Path::new(path).components().collect(),
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
        let mut file = self.open()?;
        // Another process may append to the same file: the lock keeps its lines whole too.
        file.lock()?;
        file.write_all(line.as_bytes())
    }

    /// Opened anew each time, part by part below the folder's own handle: no link, also one made since, can lead to another
    /// file than the one that is written in agent.json.
    fn open(&self) -> std::io::Result<File> {
        let mut dir = Dir::open_ambient_dir(&self.dir, ambient_authority())?;
        let mut parts = self.path.iter().peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return Self::open_in(&dir, Path::new(part));
            }
            match dir.create_dir(part) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => dir = dir.open_dir_nofollow(part)?,
            }
        }
        Err(ErrorKind::InvalidFilename.into())
    }

    fn open_in(dir: &Dir, name: &Path) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).follow(FollowSymlinks::No);
        // A pipe is not waited for, and nothing but a file is written to.
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = dir.open_with(name, &options)?.into_std();
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(Error::other("it is not an ordinary file"));
        }
        // What is no program when the profile is read may be made one.
        if meta.mode() & 0o111 != 0 {
            return Err(Error::other("it may be run, and events would become commands"));
        }
        if meta.nlink() > 1 {
            return Err(Error::other("it has a second name, and may be part of the profile"));
        }
        Ok(file)
    }
}
