//! `list_dir`: what is in a folder.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::Path,
};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{blocking, explain, go_on, place::walk};
use crate::{
    args::{Args, failed},
    capture::with_note,
};

const NAME: &str = "list_dir";
/// The most entries of one call.
pub(super) const CAP: usize = 1000;

/// Lists a folder by name, one entry per line: folders end in `/`, symlinks show where they lead.
///
/// Only the first 1000 names are shown, with the number of the others.
pub struct ListDir {
    spec: ToolSpec,
}

impl Default for ListDir {
    fn default() -> Self {
        Self::new()
    }
}

impl ListDir {
    /// The tool.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: NAME.into(),
            description: "Lists a folder, sorted by name, one entry per line. Folders end in `/`."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The folder; relative paths start in the workspace."}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn zone(&self) -> Zone {
        Zone::Safe
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        Box::pin(async move { execute(call.args(), cx).await })
    }
}

pub(super) async fn execute(args: &Value, cx: ToolCx) -> Result<String, ToolError> {
    let mut args = Args::of(NAME, args)?;
    let path = args.text("path")?;
    args.done()?;
    let workspace = cx.workspace.clone();
    blocking(&cx, move |stop| list(&workspace, &path, stop)).await
}

fn list(workspace: &Path, path: &str, stop: &CancellationToken) -> Result<String, ToolError> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotADirectory => {
            failed(format!("{NAME}: `{path}` is not a folder; read_file reads files"))
        }
        _ => explain(NAME, path, &error),
    };
    let folder = open(workspace, path).map_err(told)?;
    let mut entries = BTreeMap::new();
    let mut hidden = 0_u64;
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
    let lines: Vec<String> =
        entries.into_iter().map(|(name, kind)| line(&folder, name, kind)).collect();
    Ok(match (lines.is_empty(), hidden) {
        (true, _) => "[the folder is empty]".into(),
        (false, 0) => lines.join("\n"),
        (false, hidden) => {
            with_note(&lines.join("\n"), &format!("{hidden} more entries are not shown"))
        }
    })
}

fn open(workspace: &Path, path: &str) -> io::Result<OwnedFd> {
    let real = workspace.join(path).canonicalize()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(walk(&real)?, ".", flags, Mode::empty())?)
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
