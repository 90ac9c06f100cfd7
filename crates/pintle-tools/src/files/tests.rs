//! The file tools on real files.

mod reading;
mod writing;

use std::path::Path;

use pintle_agent::ToolError;
use serde_json::Value;

use super::{edit, list, read, write};
use crate::testing::cx;

async fn read_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    read::execute(&args, cx(workspace)).await
}

async fn write_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    write::execute(&args, cx(workspace)).await
}

async fn edit_file(workspace: &Path, args: Value) -> Result<String, ToolError> {
    edit::execute(&args, cx(workspace)).await
}

async fn list_dir(workspace: &Path, args: Value) -> Result<String, ToolError> {
    list::execute(&args, cx(workspace)).await
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
