//! `read_file`: lines of a text file.

use std::io::{self, BufRead, BufReader};

use memchr::memchr;
use pintle_agent::ToolError;
use pintle_policy::{ToolSpec, Zone};
use pintle_sandbox::split_incomplete;
use rustix::fs::OFlags;
use serde_json::json;

use super::{FileTool, Job, go_on};
use crate::{
    args::{failed, schema},
    capture::with_note,
    nofollow::{Place, in_words},
};

const NAME: &str = "read_file";
const DEFAULT_LINES: u64 = 2000;
/// The most text of one call.
pub(super) const CAP: usize = 64 * 1024;
/// How far into a file `offset` may reach: a file with holes can be larger than any disk.
pub(super) const SKIPPED: u64 = 256 * 1024 * 1024;
/// Where a NUL byte makes a file binary.
const SNIFFED: usize = 8 * 1024;

pub(super) fn tool() -> FileTool {
    let description = format!(
        "Reads a text file: {DEFAULT_LINES} lines and at most {} KiB at a time. A last line in brackets says if \
         there is more.",
        CAP / 1024
    );
    let properties = json!({
        "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
        "offset": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 by default."},
        "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read."}
    });
    let spec = ToolSpec::new(NAME, description, schema(properties, &["path"]))
        .in_zone(Zone::Safe)
        .with_paths(["path"])
        .repeatable()
        .with_aliases(["read", "view", "cat", "openfile", "readmanyfiles"]);
    FileTool::new(NAME, spec, read)
}

fn read(mut job: Job<'_>) -> Result<String, ToolError> {
    let offset = job.args.optional_count("offset")?.unwrap_or(1);
    let limit = job.args.optional_count("limit")?.unwrap_or(DEFAULT_LINES);
    let Job { target, args, stop } = job;
    args.done()?;
    let path = &target.path;
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => {
            target.fails(&format!("{}; list_dir lists folders", in_words(&error)))
        }
        _ => target.told(&error),
    };
    let file = target
        .file(Place::existing)
        .and_then(|place| place.open_file(OFlags::RDONLY))
        .map_err(told)?;
    let size = file.metadata().map_err(told)?.len();
    let mut reader = BufReader::with_capacity(SNIFFED, file);
    if memchr(0, reader.fill_buf().map_err(told)?).is_some() {
        return Err(target.fails(&format!("is a binary file of {size} bytes")));
    }

    let after = offset.saturating_add(limit);
    let mut text = Vec::new();
    let mut line = 1;
    let mut skipped = 0_u64;
    let mut line_starts_at = 0;
    let mut in_line = false;
    let mut note = None;
    loop {
        go_on(stop)?;
        let buffered = reader.fill_buf().map_err(told)?;
        if buffered.is_empty() {
            break;
        }
        if line == after {
            note = Some(format!("more follows; go on with offset {line}"));
            break;
        }
        let length = memchr(b'\n', buffered).map_or(buffered.len(), |at| at + 1);
        let piece = buffered.get(..length).unwrap_or_default();
        if line >= offset {
            let room = CAP - text.len();
            if length > room && line > offset {
                text.truncate(line_starts_at);
                note = Some(format!("more follows; go on with offset {line}"));
                break;
            }
            text.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if length > room {
                text.truncate(split_incomplete(&text).0.len());
                note = Some(format!(
                    "line {line} is cut after {} bytes; go on with offset {}",
                    text.len(),
                    line + 1
                ));
                break;
            }
        }
        if line < offset {
            skipped += length as u64;
            if skipped > SKIPPED {
                return Err(failed(format!(
                    "{NAME}: offset {offset} is out of reach: the first {} MiB of `{path}` are {line} lines",
                    SKIPPED / 1024 / 1024
                )));
            }
        }
        in_line = !piece.ends_with(b"\n");
        reader.consume(length);
        if !in_line {
            line += 1;
            line_starts_at = text.len();
        }
    }
    if text.is_empty() && offset > 1 {
        let lines = line - 1 + u64::from(in_line);
        return Err(failed(format!(
            "{NAME}: offset {offset} is past the end of `{path}`, which has {lines} lines"
        )));
    }
    Ok(as_text(&text, note))
}

fn as_text(bytes: &[u8], note: Option<String>) -> String {
    let text = String::from_utf8_lossy(bytes);
    let replaced = match text {
        std::borrow::Cow::Owned(_) => {
            Some("bytes that are not UTF-8 are shown as \u{FFFD}".to_owned())
        }
        std::borrow::Cow::Borrowed(_) => None,
    };
    let notes: Vec<String> = replaced.into_iter().chain(note).collect();
    if notes.is_empty() { text.into_owned() } else { with_note(&text, &notes.join("; ")) }
}
