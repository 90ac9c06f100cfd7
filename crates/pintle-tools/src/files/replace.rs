//! Writing a file so that it is the old one or the new one, never something in between.

use std::{
    collections::hash_map::RandomState,
    ffi::OsString,
    fs::File,
    hash::{BuildHasher, Hasher},
    io::{self, Write},
};

use pintle_agent::ToolError;
use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, openat, renameat, unlinkat},
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use super::{Target, go_on};
use crate::nofollow::{Place, regular};

/// Tells whether a file is still the one that was read.
#[derive(PartialEq, Eq)]
pub(super) struct Version([i128; 4]);

impl Version {
    pub(super) fn of(stat: &Stat) -> Self {
        Self([
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mtime),
            i128::from(stat.st_mtime_nsec),
        ])
    }
}

/// Whether a file was there before.
pub(super) enum Replaced {
    New,
    Old,
}

/// Puts `content` in place of the file, or makes the file.
///
/// The content is written to a temporary file in the same folder, synced, given the old file's permissions and
/// owner (without set-id bits, as a plain write would), and renamed over the old one. If anything fails before the
/// rename, the old file is untouched and the temporary one is removed. Other hard links keep the old content.
///
/// `read` is the version the new content was made from; a file that has changed since is left alone.
pub(super) fn replace(
    target: &Target,
    place: &Place,
    content: &[u8],
    read: Option<&Version>,
    stop: &CancellationToken,
) -> Result<Replaced, ToolError> {
    let told = |error: io::Error| target.told(&error);
    let old = place.stat().map_err(told)?;
    if let Some(old) = &old {
        writable(place, old).map_err(told)?;
    }
    let temporary = Temporary::write(place, content, old.as_ref()).map_err(told)?;
    go_on(stop)?;
    if let Some(read) = read {
        let now = place.stat().map_err(told)?;
        if now.as_ref().map(Version::of).as_ref() != Some(read) {
            return Err(target.fails("was changed by something else meanwhile; read it again"));
        }
    }
    temporary.rename().map_err(told)?;
    Ok(if old.is_some() { Replaced::Old } else { Replaced::New })
}

/// A rename needs no permission on the file it replaces. A user who made a file read-only expects one.
fn writable(place: &Place, old: &Stat) -> io::Result<()> {
    regular(old)?;
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&place.folder, &place.name, flags, Mode::empty()) {
        // A program that is running cannot be written, but it can be replaced.
        Ok(_) | Err(Errno::TXTBSY) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A file that is removed unless it was renamed.
struct Temporary<'a> {
    place: &'a Place,
    name: Option<OsString>,
}

impl<'a> Temporary<'a> {
    fn write(place: &'a Place, content: &[u8], old: Option<&Stat>) -> io::Result<Self> {
        let name = OsString::from(format!(
            ".pintle-{:016x}.tmp",
            RandomState::new().build_hasher().finish()
        ));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let mut file = File::from(openat(&place.folder, &name, flags, mode)?);
        let temporary = Self { place, name: Some(name) };
        file.write_all(content)?;
        if let Some(old) = old {
            // Only root can give a file away; for anyone else the owner is the same already.
            let _ = fchown(&file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
            fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o777))?;
        }
        file.sync_all()?;
        Ok(temporary)
    }

    fn rename(mut self) -> io::Result<()> {
        let folder = &self.place.folder;
        if let Some(name) = &self.name {
            renameat(folder, name, folder, &self.place.name)?;
        }
        self.name = None;
        // The new content is in place; whether the folder's own entry survives a power cut is best effort.
        if let Ok(handle) =
            openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        {
            let _ = rustix::fs::fsync(handle);
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.place.folder, name, AtFlags::empty());
        }
    }
}
