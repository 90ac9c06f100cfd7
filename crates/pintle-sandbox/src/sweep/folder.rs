//! Folders by descriptor: a name in one is never followed to somewhere else.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, Stat, fchmod, mkdirat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::Content;

pub(super) struct Folder(OwnedFd);

const IS_FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, IS_FOLDER, Mode::empty())?))
    }

    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, IS_FOLDER, Mode::empty())?))
    }

    pub(super) fn enter_or_make(&self, name: &OsStr) -> io::Result<Self> {
        if let Ok(folder) = self.enter(name) {
            return Ok(folder);
        }
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        mkdirat(&self.0, name, Mode::from_raw_mode(0o755))?;
        self.enter(name)
    }

    pub(super) fn look(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn content(&self, name: &OsStr) -> io::Result<Content> {
        match openat(
            &self.0,
            name,
            OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Ok(file) => {
                let mut bytes = Vec::new();
                std::fs::File::from(file)
                    .take(super::MOST_OF_A_FILE + 1)
                    .read_to_end(&mut bytes)?;
                Ok(Content::Bytes(bytes))
            }
            Err(Errno::LOOP) => {
                let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
                Ok(Content::Link(OsString::from_vec(target.into_bytes()).into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a new file in the place of whatever has this name: a hard link to the old one stays behind.
    pub(super) fn replace(&self, name: &OsStr, content: &Content, mode: u32) -> io::Result<()> {
        let number = getrandom::u64().map_err(io::Error::other)?;
        let fresh = format!(".pintle-restore-{number:x}");
        match content {
            Content::Link(target) => rustix::fs::symlinkat(target, &self.0, &*fresh)?,
            Content::Bytes(bytes) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let mut file = std::fs::File::from(openat(
                    &self.0,
                    &*fresh,
                    flags,
                    Mode::from_raw_mode(0o600),
                )?);
                file.write_all(bytes)?;
                fchmod(file.as_fd(), Mode::from_raw_mode(mode & 0o7777))?;
            }
        }
        match renameat(&self.0, &*fresh, &self.0, name) {
            Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                remove(self, name)?;
                Ok(renameat(&self.0, &*fresh, &self.0, name)?)
            }
            renamed => Ok(renamed?),
        }
    }
}

/// The names in a folder.
pub(super) fn entries(folder: &Folder) -> Vec<OsString> {
    let Ok(entries) = Dir::read_from(&folder.0) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    names.filter(|name| name != b"." && name != b"..").map(OsString::from_vec).collect()
}

/// Removes what has this name, with everything in it.
pub(super) fn remove(folder: &Folder, name: &OsStr) -> io::Result<()> {
    match folder.enter(name) {
        Ok(inner) => {
            for name in entries(&inner) {
                remove(&inner, &name)?;
            }
            Ok(unlinkat(&folder.0, name, AtFlags::REMOVEDIR)?)
        }
        Err(_) => Ok(unlinkat(&folder.0, name, AtFlags::empty())?),
    }
}
