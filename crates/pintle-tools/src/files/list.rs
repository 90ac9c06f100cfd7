//! `list_dir`: what is in a folder.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::Path,
};

use pintle_agent::ToolError;
use pintle_policy::{ToolSpec, Zone};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use serde_json::json;

use super::{FileTool, Job, go_on};
use crate::{args::schema, capture::with_note, nofollow::walk};

/// The most entries of one call.
pub(super) const CAP: usize = 1000;
/// The most text of one call: links can lead to very long names.
pub(super) const TEXT_CAP: usize = 64 * 1024;

const NAME: &str = "list_dir";

pub(super) fn tool() -> FileTool {
    let description = "Lists a folder, sorted by name, one entry per line. Folders end in `/`.";
    let properties = json!({
        "path": {"type": "string", "description": "The folder; relative paths start in the workspace."}
    });
    let spec = ToolSpec::new(NAME, description, schema(properties, &["path"]))
        .in_zone(Zone::Safe)
        .with_paths(["path"])
        .repeatable()
        .with_aliases(["ls", "list", "listfiles", "listdirectory", "readdir"]);
    FileTool::new(NAME, spec, list)
}

fn list(job: Job<'_>) -> Result<String, ToolError> {
    let (target, stop) = (job.target, job.stop);
    job.args.done()?;
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotADirectory => target.fails("is not a folder; read_file reads files"),
        _ => target.told(&error),
    };
    let folder = open(&target.real).map_err(told)?;
    let mut entries = BTreeMap::new();
    let mut hidden = 0_usize;
    for entry in Dir::read_from(&folder).map_err(|error| told(error.into()))? {
        go_on(stop)?;
        let entry = entry.map_err(|error| told(error.into()))?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        entries.insert(name.to_vec(), entry.file_type());
        // Of any number of names only the first ones are ever held.
        if entries.len() > CAP {
            entries.pop_last();
            hidden += 1;
        }
    }
    let (found, mut shown) = (entries.len(), 0);
    let mut text = String::new();
    for (name, kind) in entries {
        let line = line(&folder, name, kind);
        if text.len() + line.len() > TEXT_CAP {
            break;
        }
        if shown > 0 {
            text.push('\n');
        }
        text.push_str(&line);
        shown += 1;
    }
    Ok(match (found, found - shown + hidden) {
        (0, _) => "[the folder is empty]".into(),
        (_, 0) => text,
        (_, hidden) => with_note(&text, &format!("{hidden} more entries are not shown")),
    })
}

fn open(real: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(walk(real)?, ".", flags, Mode::empty())?)
}

fn line(folder: &OwnedFd, name: Vec<u8>, kind: FileType) -> String {
    let name = OsString::from_vec(name);
    let kind = match kind {
        // Some file systems do not say.
        FileType::Unknown => statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        known => known,
    };
    let shown = printable(&name.to_string_lossy());
    match kind {
        FileType::Directory => format!("{shown}/"),
        FileType::Symlink => match readlinkat(folder, &name, Vec::new()) {
            Ok(target) => format!("{shown} -> {}", printable(&target.to_string_lossy())),
            Err(_) => format!("{shown} -> ?"),
        },
        _ => shown,
    }
}

/// A name with a line break in it must not look like two entries.
fn printable(name: &str) -> String {
    if name.chars().any(char::is_control) {
        name.escape_debug().to_string()
    } else {
        name.to_owned()
    }
}
