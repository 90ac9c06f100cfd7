//! `write_file`: a whole file.

use pintle_agent::ToolError;
use pintle_policy::{ToolSpec, Zone};
use serde_json::json;

use super::{
    FileTool, Job, go_on,
    replace::{Replaced, replace},
};
use crate::{args::schema, nofollow::Place};

const NAME: &str = "write_file";

pub(super) fn tool() -> FileTool {
    let description = "Writes a whole file, replacing what was in it. Missing folders are made.";
    let properties = json!({
        "path": {"type": "string", "description": "The file; relative paths start in the workspace."},
        "content": {"type": "string", "description": "What the file shall hold."}
    });
    let spec = ToolSpec::new(NAME, description, schema(properties, &["path", "content"]))
        .in_zone(Zone::Workspace)
        .with_paths(["path"])
        .with_aliases(["write", "create", "createfile", "savefile"]);
    FileTool::new(NAME, spec, write)
}

fn write(mut job: Job<'_>) -> Result<String, ToolError> {
    let content = job.args.text("content")?;
    job.args.done()?;
    go_on(job.stop)?;
    let (target, bytes, path) = (job.target, content.len(), &job.target.path);
    let place = target.file(Place::to_write).map_err(|error| target.told(&error))?;
    match replace(target, &place, content.as_bytes(), None, job.stop)? {
        Replaced::New => Ok(format!("wrote {bytes} bytes to the new file `{path}`")),
        Replaced::Old => Ok(format!("wrote {bytes} bytes to `{path}`, replacing what was there")),
    }
}
