//! `read_file`: lines of a text file.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use futures_util::future::BoxFuture;
use memchr::memchr;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{blocking, explain, go_on, place::Place};
use crate::{
    args::{Args, failed},
    capture::{split_incomplete, with_note},
};

const NAME: &str = "read_file";
const DEFAULT_LINES: u64 = 2000;
/// The most text of one call.
pub(super) const CAP: usize = 64 * 1024;
/// Where a NUL byte makes a file binary.
const SNIFFED: usize = 8 * 1024;

/// Reads a text file, or some lines of it.
///
/// At most 64 KiB come back, and a note in brackets says where to go on. Bytes that are not UTF-8 are replaced,
/// with a note. A binary file or a folder is an error.
pub struct ReadFile {
    spec: ToolSpec,
}

impl Default for ReadFile {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadFile {
    /// The tool.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: NAME.into(),
            description: format!(
                "Reads a text file: {DEFAULT_LINES} lines and at most {} KiB at a time. A last line in brackets \
                 says if there is more.",
                CAP / 1024
            ),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
                    "offset": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 by default."},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read."}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for ReadFile {
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
    let offset = args.optional_count("offset")?.unwrap_or(1);
    let limit = args.optional_count("limit")?.unwrap_or(DEFAULT_LINES);
    args.done()?;
    let workspace = cx.workspace.clone();
    blocking(&cx, move |stop| read(&workspace, &path, offset, limit, stop)).await
}

fn read(
    workspace: &Path,
    path: &str,
    offset: u64,
    limit: u64,
    stop: &CancellationToken,
) -> Result<String, ToolError> {
    let told = |error| match explain(NAME, path, &error) {
        ToolError::Failed(message) if error.kind() == std::io::ErrorKind::IsADirectory => {
            failed(format!("{message}; list_dir lists it"))
        }
        other => other,
    };
    let file = Place::existing(workspace, path)
        .and_then(|place| place.open_file(OFlags::RDONLY))
        .map_err(told)?;
    let size = file.metadata().map_err(told)?.len();
    let mut reader = BufReader::with_capacity(SNIFFED, file);
    if memchr(0, reader.fill_buf().map_err(told)?).is_some() {
        return Err(failed(format!("{NAME}: `{path}` is a binary file of {size} bytes")));
    }

    let after = offset.saturating_add(limit);
    let mut text = Vec::new();
    let mut line = 1;
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
