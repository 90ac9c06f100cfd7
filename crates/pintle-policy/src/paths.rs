//! Where a path really leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// More links than any honest path has; a loop ends here.
const MAX_LINKS: usize = 40;
/// No system opens a longer one, and the work grows with the square of it.
const MAX_LENGTH: usize = 4096;

/// The path that opening `path` (relative to `base`) would reach: `..` and symbolic links resolved, also for a file
/// that does not exist yet (its deepest existing ancestor is resolved, the rest is taken as written).
///
/// # Errors
/// When the links form a loop, a part of the path cannot be looked at, or it is too long: treat it as outside.
pub fn resolve(base: &Path, path: &Path) -> io::Result<PathBuf> {
    // A relative base is one too: `..` must not stop where it starts.
    let full = std::path::absolute(Path::new(".").join(base).join(path))?;
    if full.as_os_str().len() > MAX_LENGTH {
        return Err(io::Error::new(ErrorKind::InvalidFilename, "it is too long"));
    }
    let mut pending: VecDeque<OsString> = VecDeque::new();
    let mut reached = PathBuf::new();
    push_parts(&mut pending, &full);
    let mut links = 0_usize;
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            reached.pop();
            continue;
        }
        let candidate = reached.join(&part);
        match std::fs::symlink_metadata(&candidate) {
            Ok(meta) if meta.file_type().is_symlink() => {
                links = links.saturating_add(1);
                if links > MAX_LINKS {
                    return Err(io::Error::other("it goes through too many symbolic links"));
                }
                let target = std::fs::read_link(&candidate)?;
                if target.is_absolute() {
                    reached = PathBuf::new();
                }
                push_parts(&mut pending, &target);
            }
            Ok(_) => reached = candidate,
            Err(error) if cannot_exist(error.kind()) => reached = candidate,
            Err(error) => return Err(error),
        }
    }
    Ok(reached)
}

/// Errors that say there is no such file, and so no link to follow.
fn cannot_exist(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

/// Puts the parts of `path` in front of what is still to be walked.
fn push_parts(pending: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::CurDir => {}
            other => pending.push_front(other.as_os_str().to_owned()),
        }
    }
}

/// Whether `path`, taken relative to `base`, ends up inside `folder`. What cannot be resolved is not inside.
#[must_use]
pub fn is_inside(folder: &Path, base: &Path, path: &Path) -> bool {
    match (resolve(base, path), resolve(folder, Path::new(""))) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// The path with `.`, `..` and doubled slashes taken out, by its text alone.
#[must_use]
pub fn normal(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    if text.starts_with('/') { format!("/{joined}") } else { joined }
}
