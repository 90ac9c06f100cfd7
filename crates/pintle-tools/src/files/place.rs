//! From a path to a handle that no later symlink can move.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, mkdirat, open, openat, statat},
    io::Errno,
};

/// Opens the folders on the way. On Linux that needs no permission to list them.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY;

/// A name in a folder we hold open.
pub(super) struct Place {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Without symlinks; for telling two places apart, not for opening.
    pub(super) real: PathBuf,
}

impl Place {
    /// The place of something that exists.
    pub(super) fn existing(workspace: &Path, path: &str) -> io::Result<Self> {
        let real = workspace.join(path).canonicalize()?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        Ok(Self { folder: walk(parent)?, name: name.to_owned(), real: real.clone() })
    }

    /// The place of something that may not exist yet. Folders that are missing on the way are made.
    pub(super) fn to_write(workspace: &Path, path: &str) -> io::Result<Self> {
        match Self::existing(workspace, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let joined = workspace.join(path);
        let (base, missing) = split_missing(&joined)?;
        let Some((name, folders)) = missing.split_last() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut folder = walk(&base)?;
        let mut real = base;
        for missing in folders {
            match mkdirat(&folder, missing, Mode::from_raw_mode(0o777)) {
                // Another call may have been faster.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = step(&folder, missing)?;
            real.push(missing);
        }
        real.push(name);
        Ok(Self { folder, name: name.clone(), real })
    }

    /// What is there now, itself and not what it links to.
    pub(super) fn stat(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file that is there.
    pub(super) fn open_file(&self, flags: OFlags) -> io::Result<File> {
        match self.stat()? {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(stat) => regular(&stat)?,
        }
        // Between the look and the opening it may have become something else, hence the flags and the second look.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.folder, &self.name, flags, Mode::empty())?;
        regular(&rustix::fs::fstat(&file)?)?;
        Ok(File::from(file))
    }
}

/// Opens a real path folder by folder.
pub(super) fn walk(real: &Path) -> io::Result<OwnedFd> {
    let mut at = open("/", ON_THE_WAY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for component in real.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => at = step(&at, name)?,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the workspace must be an absolute path",
                ));
            }
        }
    }
    Ok(at)
}

fn step(folder: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<OwnedFd> {
    let flags = ON_THE_WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

pub(super) fn regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink => Err(io::Error::other("it became a symlink while it was being opened")),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// The deepest folder that exists, without symlinks, and the names below it that do not.
fn split_missing(path: &Path) -> io::Result<(PathBuf, Vec<OsString>)> {
    let mut missing = Vec::new();
    let mut base = path;
    loop {
        let (Some(parent), Some(name)) = (base.parent(), base.file_name()) else {
            return Err(io::Error::other("it goes up (`..`) from a folder that does not exist"));
        };
        if base.symlink_metadata().is_ok() {
            return Err(io::Error::other(
                "it goes through a symlink to something that does not exist",
            ));
        }
        missing.push(name.to_owned());
        match parent.canonicalize() {
            Ok(real) => {
                missing.reverse();
                return Ok((real, missing));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => base = parent,
            Err(error) => return Err(error),
        }
    }
}
