//! From a judged path to a handle that no later symlink can move.
//!
//! The path was resolved when the call was judged: there was no symlink in it. It is opened folder by folder with
//! `O_NOFOLLOW`, and everything after that (open, create, rename, start a process) happens in the handle on the last
//! folder. A symlink that was put anywhere into the path since is the error [`MOVED`], never a way out.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat},
    io::Errno,
};

/// Opens the folders on the way. On Linux that needs no permission to list them.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY;

/// There is a symlink in a path that had none when it was judged.
const MOVED: Errno = Errno::LOOP;

/// A name in a folder we hold open.
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    pub(crate) name: OsString,
}

impl Place {
    /// The place of something in a folder that exists.
    pub(crate) fn existing(real: &Path) -> io::Result<Self> {
        Self::at(real, walk)
    }

    /// The same, and the folders that are missing on the way are made.
    pub(crate) fn to_write(real: &Path) -> io::Result<Self> {
        Self::at(real, |folder| descend(folder, step_or_make))
    }

    fn at(real: &Path, open: impl FnOnce(&Path) -> io::Result<OwnedFd>) -> io::Result<Self> {
        match (real.parent(), real.file_name()) {
            (Some(parent), Some(name)) => Ok(Self { folder: open(parent)?, name: name.to_owned() }),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// What is there now, itself and not what it links to.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file that is there.
    pub(crate) fn open_file(&self, flags: OFlags) -> io::Result<File> {
        match self.stat()? {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(stat) => regular(&stat)?,
        }
        // Between the look and the opening it may have become something else, hence the flags and the second look.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.folder, &self.name, flags, Mode::empty())?;
        regular(&fstat(&file)?)?;
        Ok(File::from(file))
    }
}

/// Opens a real path folder by folder.
pub(crate) fn walk(real: &Path) -> io::Result<OwnedFd> {
    descend(real, step)
}

fn descend(
    real: &Path,
    step: impl Fn(&OwnedFd, &OsStr) -> io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let mut at = open("/", ON_THE_WAY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for component in real.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => at = step(&at, name)?,
            _ => return Err(io::Error::other("it was not resolved")),
        }
    }
    Ok(at)
}

fn step(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = ON_THE_WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        // Linux says "not a folder" of a symlink as well.
        Err(Errno::NOTDIR) if is_symlink(folder, name) => Err(MOVED.into()),
        opened => Ok(opened?),
    }
}

fn step_or_make(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    match step(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
        // Another call may have been faster.
        Ok(()) | Err(Errno::EXIST) => step(folder, name),
        Err(error) => Err(error.into()),
    }
}

fn is_symlink(folder: &OwnedFd, name: &OsStr) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

pub(crate) fn regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink => Err(MOVED.into()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// An operating system's error in words that help; what it is about stands before them.
pub(crate) fn in_words(error: &io::Error) -> String {
    if error.raw_os_error() == Some(MOVED.raw_os_error()) {
        return "leads somewhere else now than when it was judged".to_owned();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "may not be accessed: the operating system denies it".to_owned()
        }
        io::ErrorKind::NotADirectory => "goes through something that is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => {
            error.get_ref().map_or_else(|| "is a folder".to_owned(), ToString::to_string)
        }
        _ => format!("could not be used: {error}"),
    }
}
