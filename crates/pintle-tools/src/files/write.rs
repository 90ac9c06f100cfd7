//! `write_file`: a whole file.

use std::path::Path;

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Zone;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    blocking, explain, go_on,
    place::Place,
    replace::{Replaced, replace, turn},
};
use crate::args::Args;

const NAME: &str = "write_file";

/// Writes a whole file, making it and its folders where they are missing.
///
/// Nobody ever sees half of it: the file is the old one or the new one, also after a failure or a crash. An
/// existing file keeps its permissions; a folder, a device or a read-only file is an error.
pub struct WriteFile {
    spec: ToolSpec,
}

impl Default for WriteFile {
    fn default() -> Self {
        Self::new()
    }
}

impl WriteFile {
    /// The tool.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: NAME.into(),
            description: "Writes a whole file, replacing what was in it. Missing folders are made."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
                    "content": {"type": "string", "description": "What the file shall hold."}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for WriteFile {
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
    let content = args.text("content")?;
    args.done()?;
    let workspace = cx.workspace.clone();
    blocking(&cx, move |stop| write(&workspace, &path, &content, stop)).await
}

fn write(
    workspace: &Path,
    path: &str,
    content: &str,
    stop: &CancellationToken,
) -> Result<String, ToolError> {
    go_on(stop)?;
    let place = Place::to_write(workspace, path).map_err(|error| explain(NAME, path, &error))?;
    let _turn = turn(&place);
    let bytes = content.len();
    match replace(NAME, path, &place, content.as_bytes(), None, stop)? {
        Replaced::New => Ok(format!("wrote {bytes} bytes to the new file `{path}`")),
        Replaced::Old => Ok(format!("wrote {bytes} bytes to `{path}`, replacing what was there")),
    }
}
