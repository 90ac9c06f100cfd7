//! `edit_file`: one exact piece of text for another.

use std::io::Read;

use memchr::memmem::Finder;
use pintle_agent::ToolError;
use pintle_policy::{ToolSpec, Zone};
use rustix::fs::{OFlags, fstat};
use serde_json::json;

use super::{
    FileTool, Job,
    replace::{Version, replace},
};
use crate::{
    args::{failed, schema},
    nofollow::Place,
};

const NAME: &str = "edit_file";
/// The largest file that is edited.
pub(super) const CAP: u64 = 16 * 1024 * 1024;
/// Where counting stops.
const COUNTED: usize = 100;

pub(super) fn tool() -> FileTool {
    let description = "Replaces a piece of text in a file. `old` must occur exactly once: include enough of the \
                       lines around it.";
    let properties = json!({
        "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
        "old": {"type": "string", "minLength": 1, "description": "The exact text to replace."},
        "new": {"type": "string", "description": "What stands there afterwards."}
    });
    let aliases =
        ["edit", "multiedit", "strreplace", "applypatch", "searchreplace", "replace", "applydiff"];
    let spec = ToolSpec::new(NAME, description, schema(properties, &["path", "old", "new"]))
        .in_zone(Zone::Workspace)
        .with_paths(["path"])
        .with_aliases(aliases);
    FileTool::new(NAME, spec, edit)
}

fn edit(mut job: Job<'_>) -> Result<String, ToolError> {
    let old = job.args.text("old")?;
    let new = job.args.text("new")?;
    job.args.done()?;
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
    let (target, path) = (job.target, &job.target.path);
    let told = |error| target.told(&error);
    let place = target.file(Place::existing).map_err(told)?;
    let file = place.open_file(OFlags::RDONLY).map_err(told)?;
    let version = Version::of(&fstat(&file).map_err(|error| told(error.into()))?);
    let mut content = Vec::new();
    file.take(CAP + 1).read_to_end(&mut content).map_err(told)?;
    if content.len() as u64 > CAP {
        return Err(target.fails(&format!("is larger than {} MiB", CAP / 1024 / 1024)));
    }

    let found = occurrences(&content, old.as_bytes());
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
    let edited = [before, new.as_bytes(), after].concat();
    replace(target, &place, &edited, Some(&version), job.stop)?;
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
