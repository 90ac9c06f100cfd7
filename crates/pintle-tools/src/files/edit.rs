//! `edit_file`: one exact piece of text for another.

use std::{io::Read, path::Path};

use futures_util::future::BoxFuture;
use memchr::memmem::Finder;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use rustix::fs::{OFlags, fstat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    blocking, explain,
    place::Place,
    replace::{Version, replace, turn},
};
use crate::args::{Args, failed};

const NAME: &str = "edit_file";
/// The largest file that is edited.
pub(super) const CAP: u64 = 16 * 1024 * 1024;
/// Where counting stops.
const COUNTED: usize = 100;

/// Replaces the only occurrence of a text in a file.
///
/// None, or more than one, is an error with the count, and changes nothing. The rest of the file stays byte for
/// byte what it was, also where it is not UTF-8. Written as [`super::WriteFile`] writes.
pub struct EditFile {
    spec: ToolSpec,
}

impl Default for EditFile {
    fn default() -> Self {
        Self::new()
    }
}

impl EditFile {
    /// The tool.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: NAME.into(),
            description: "Replaces a piece of text in a file. `old` must occur exactly once: include enough of \
                          the lines around it."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
                    "old": {"type": "string", "minLength": 1, "description": "The exact text to replace."},
                    "new": {"type": "string", "description": "What stands there afterwards."}
                },
                "required": ["path", "old", "new"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn zone(&self) -> Zone {
        Zone::Workspace
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
    let old = args.text("old")?;
    let new = args.text("new")?;
    args.done()?;
    if old.is_empty() {
        return Err(failed(format!(
            "{NAME}: the argument `old` is empty; name the text to replace"
        )));
    }
    if old == new {
        return Err(failed(format!(
            "{NAME}: `old` and `new` are the same; there is nothing to change"
        )));
    }
    let workspace = cx.workspace.clone();
    blocking(&cx, move |stop| edit(&workspace, &path, old.as_bytes(), new.as_bytes(), stop)).await
}

fn edit(
    workspace: &Path,
    path: &str,
    old: &[u8],
    new: &[u8],
    stop: &CancellationToken,
) -> Result<String, ToolError> {
    let told = |error| explain(NAME, path, &error);
    let place = Place::existing(workspace, path).map_err(told)?;
    let _turn = turn(&place);
    let file = place.open_file(OFlags::RDONLY).map_err(told)?;
    let version = Version::of(&fstat(&file).map_err(|error| told(error.into()))?);
    let mut content = Vec::new();
    file.take(CAP + 1).read_to_end(&mut content).map_err(told)?;
    if content.len() as u64 > CAP {
        return Err(failed(format!("{NAME}: `{path}` is larger than {} MiB", CAP / 1024 / 1024)));
    }

    let found = occurrences(&content, old);
    let [at] = found.as_slice() else {
        return Err(failed(match found.len() {
            0 => format!(
                "{NAME}: `old` does not occur in `{path}`; it must match exactly, spaces and line ends too"
            ),
            COUNTED.. => format!(
                "{NAME}: `old` occurs at least {COUNTED} times in `{path}`; it must occur once"
            ),
            count => format!(
                "{NAME}: `old` occurs {count} times in `{path}`; include more of the lines around it"
            ),
        }));
    };
    let (before, rest) = content.split_at(*at);
    let after = rest.get(old.len()..).unwrap_or_default();
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    replace(NAME, path, &place, &[before, new, after].concat(), Some(&version), stop)?;
    Ok(format!("edited `{path}` at line {line}"))
}

/// Where `needle` starts, overlapping ones too, up to [`COUNTED`] of them.
fn occurrences(haystack: &[u8], needle: &[u8]) -> Vec<usize> {
    let finder = Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < COUNTED
        && let Some(at) = haystack.get(from..).and_then(|rest| finder.find(rest))
    {
        found.push(from + at);
        from += at + 1;
    }
    found
}
