//! Where a path really leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// More links than any honest path has; a loop ends here.
const MAX_LINKS: usize = 40;

/// The path that opening `path` (relative to `base`) would reach: `..` and symbolic links resolved, also for a file
/// that does not exist yet (its deepest existing ancestor is resolved, the rest is taken as written).
///
/// `None` when the links form a loop or a part of the path cannot be looked at: treat it as outside.
#[must_use]
pub fn resolve(base: &Path, path: &Path) -> Option<PathBuf> {
    let full = base.join(path);
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
                    return None;
                }
                let target = std::fs::read_link(&candidate).ok()?;
                if target.is_absolute() {
                    reached = PathBuf::new();
                }
                push_parts(&mut pending, &target);
            }
            Ok(_) => reached = candidate,
            Err(error) if cannot_exist(error.kind()) => reached = candidate,
            Err(_) => return None,
        }
    }
    Some(reached)
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
        (Some(path), Some(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// The path with `.`, `..` and doubled slashes taken out, by its text alone.
pub(crate) fn normal(text: &str) -> String {
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
