//! The file tools on real files.

mod attacks;
mod reading;
mod writing;

use std::path::Path;

use pintle_agent::{Tool, ToolCx, ToolError};
use pintle_policy::Reach;
use serde_json::Value;

use super::FileTool;
use crate::testing::cx;

/// Judged and run, with nothing in between.
async fn run(tool: FileTool, args: Value, cx: ToolCx) -> Result<String, ToolError> {
    let reach = Reach::of(&tool.spec(), &args, &cx.workspace);
    tool.execute(args, reach, cx).await
}

async fn read_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    run(FileTool::read(), args, cx(workspace)).await
}

async fn write_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    run(FileTool::write(), args, cx(workspace)).await
}

async fn edit_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    run(FileTool::edit(), args, cx(workspace)).await
}

async fn list_dir(workspace: &Path, args: Value) -> Result<String, ToolError> {
    run(FileTool::list(), args, cx(workspace)).await
}

fn message(result: Result<String, ToolError>) -> String {
    match result {
        Err(ToolError::Failed(message)) => message,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
