//! Where the paths that a call names lead, looked up once.

use crate::ToolSpec;
use crate::paths::{normal, resolve};
use serde_json::Value;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The places a call's input names, with every `..` and symbolic link followed.
///
/// It is made once, before the first judgement. Guards and zones look at it, and the tool gets the same value with its
/// permit: a link that is swapped while a person thinks about the call changes nothing (P3). It is a memory, not a
/// handle: to open one of its paths, follow no link on the way, since there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    workspace: Result<PathBuf, Unresolved>,
    named: Vec<Named>,
}

/// A path in the input, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) field: String,
    pub(crate) written: String,
    pub(crate) real: Result<PathBuf, Unresolved>,
}

/// It is not known where a path leads: its links form a loop, a part of it may not be read, or it is not a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{path}` cannot be resolved: {why}")]
pub struct Unresolved {
    path: String,
    why: String,
}

impl Reach {
    /// Looks at the file system: relative paths start in the workspace, links are followed, and of something that does
    /// not exist the missing part is kept as written.
    #[must_use]
    pub fn of(tool: &ToolSpec, input: &Value, workspace: &Path) -> Self {
        let named = |field: &str| {
            let written = input.get(field)?.as_str()?;
            let real = real_path(workspace, written);
            Some(Named { field: field.to_owned(), written: written.to_owned(), real })
        };
        Self {
            workspace: real_path(workspace, ""),
            named: tool.path_fields().filter_map(named).collect(),
        }
    }

    /// Where the workspace is.
    ///
    /// # Errors
    /// When it cannot be resolved; then nothing is inside it.
    pub fn workspace(&self) -> Result<&Path, &Unresolved> {
        self.workspace.as_deref()
    }

    /// Where the path in this field of the input leads; `None` when there is no text in it, or the tool
    /// declares no such path.
    ///
    /// ```
    /// # use pintle_policy::{Reach, ToolSpec};
    /// let tool = ToolSpec::new("read", "Reads a file.", serde_json::json!({})).with_paths(["path"]);
    /// let reach = Reach::of(&tool, &serde_json::json!({"path": "usr/../a.txt"}), "/".as_ref());
    /// assert_eq!(reach.path("path").unwrap().unwrap(), std::path::Path::new("/a.txt"));
    /// assert!(reach.path("cwd").is_none());
    /// ```
    #[must_use]
    pub fn path(&self, field: &str) -> Option<Result<&Path, &Unresolved>> {
        self.named().iter().find(|named| named.field == field).map(|named| named.real.as_deref())
    }

    /// The paths that a link takes to another place in the workspace than the one they seem to name: as written, and
    /// where they lead. A person who says yes to a call says it to that place.
    pub fn linked(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.named.iter().filter_map(|named| {
            let (workspace, real) = (self.workspace().ok()?, named.real.as_deref().ok()?);
            let seems = normal(&workspace.join(&named.written).to_string_lossy());
            (self.is_inside(real) && real != Path::new(&seems))
                .then_some((named.written.as_str(), real))
        })
    }

    pub(crate) fn named(&self) -> &[Named] {
        &self.named
    }

    /// Whether a resolved path lies in the workspace.
    pub(crate) fn is_inside(&self, real: &Path) -> bool {
        self.workspace.as_ref().is_ok_and(|workspace| real.starts_with(workspace))
    }
}

fn real_path(base: &Path, written: &str) -> Result<PathBuf, Unresolved> {
    let cannot = |why: String| Unresolved {
        path: if written.is_empty() { base.display().to_string() } else { written.to_owned() },
        why,
    };
    if written.starts_with('~') {
        // A shell would go home, a file system into a folder of that name: two readers, two places.
        return Err(cannot("only a shell knows what `~` is; write the whole path".into()));
    }
    resolve(base, Path::new(written)).map_err(|error| cannot(error.to_string()))
}
