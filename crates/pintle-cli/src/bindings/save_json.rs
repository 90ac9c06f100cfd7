//! The `save_json` action: one line per event, in a file that cannot be outside the profile's folder (R10.6).

use std::{
    fs::File,
    io::{Error, ErrorKind, Read, Seek, SeekFrom, Write},
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
use pintle_profile::{Profile, Scrubber};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::chat::now_ms;

#[derive(Clone)]
pub(super) struct SaveJson(Arc<Inner>);

struct Inner {
    /// The folder that the profile was read from, also when another has its name by now.
    dir: Dir,
    path: PathBuf,
    profile: String,
    scrubber: Arc<Scrubber>,
    /// One line at a time: lines of concurrent runs never interleave.
    turn: Mutex<()>,
}

impl SaveJson {
    pub(super) fn new(
        profile: &Profile,
        path: &str,
        scrubber: Arc<Scrubber>,
    ) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            dir: Dir::open_ambient_dir(&profile.dir, ambient_authority())?,
            path: Path::new(path).components().collect(),
            profile: profile.name.clone(),
            scrubber,
            turn: Mutex::default(),
        })))
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
        let mut line = format!("{}\n", self.line(event));
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.open()?;
        // Another process may append to the same file: the lock keeps its lines whole too.
        file.lock()?;
        let length = file.metadata()?.len();
        if !is_whole(&mut file, length)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // A half line is worse than none, and if this fails too the next one still begins a line of its own.
            drop(file.set_len(length));
        })
    }

    /// The object that a webhook posts (R10.5): whoever reads one can read the other.
    fn line(&self, event: &DynEvent) -> Value {
        let mut context = Value::clone(&event.json);
        if let Some(fields) = context.as_object_mut() {
            fields.insert("event".into(), event.point.into());
        }
        self.scrubber.scrub_json(&mut context);
        let ts = if event.envelope.ts > 0 { event.envelope.ts } else { now_ms() };
        json!({ "v": 1, "ts": ts, "profile": self.profile, "event": event.point, "context": context })
    }

    /// Opened anew each time, part by part below the folder's own handle: no link, also one made since, can lead to another
    /// file than the one that is written in agent.json.
    fn open(&self) -> std::io::Result<File> {
        let mut dir = self.dir.try_clone()?;
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
        options.read(true).append(true).create(true).follow(FollowSymlinks::No);
        // A pipe is not waited for, and nothing but a file is written to.
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let mut file = dir.open_with(name, &options)?.into_std();
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(Error::other("it is not an ordinary file"));
        }
        // What is no program when the profile is read may be made one.
        let mut start = Vec::new();
        std::io::Read::by_ref(&mut file).take(2).read_to_end(&mut start)?;
        if meta.mode() & 0o111 != 0 || start == b"#!" {
            return Err(Error::other("it may be run, and events would become commands"));
        }
        if meta.nlink() > 1 {
            return Err(Error::other("it has a second name, and may be part of the profile"));
        }
        Ok(file)
    }
}

/// Whether the last line has an end: who wrote it may have been killed, or the disk full.
fn is_whole(file: &mut File, length: u64) -> std::io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(true) };
    let mut end = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut end)?;
    Ok(end == *b"\n")
}
