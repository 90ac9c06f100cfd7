//! The file tools, and how they open what they touch.
//!
//! Whether a path may be touched is judged before a tool runs. What is left to the tool is the moment between
//! looking at a path and using it:
//!
//! 1. The path is resolved once, following symlinks, to a real path without any.
//! 2. The real path is opened folder by folder with `O_NOFOLLOW`, down to a handle on the last folder.
//! 3. Everything after that (open, create, rename) happens by name in that handle, with `O_NOFOLLOW`.
//!
//! So a symlink that is put anywhere into the path after step 1 is an error, never a way out, and a write through
//! a symlink replaces its target, not the link. Opening never waits (`O_NONBLOCK`) and only regular files are read
//! or written: a pipe or a device cannot hang a tool.

mod edit;
mod list;
mod place;
mod read;
mod replace;
#[cfg(test)]
mod tests;
mod write;

use std::io;

use pintle_agent::{ToolCx, ToolError};
use tokio_util::sync::CancellationToken;

use crate::args::failed;

pub use edit::EditFile;
pub use list::ListDir;
pub use read::ReadFile;
pub use write::WriteFile;

/// Does blocking work off the runtime's threads. The token it gets is cancelled when the run is, or when the
/// caller is dropped, since a thread cannot be.
async fn blocking<T: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = cx.cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(result) => result,
        Err(error) => Err(failed(format!("the file tool did not finish: {error}"))),
    }
}

/// Called where stopping leaves nothing half done.
fn go_on(stop: &CancellationToken) -> Result<(), ToolError> {
    if stop.is_cancelled() {
        return Err(ToolError::Cancelled(
            "stopped because the run was cancelled; no file was changed".into(),
        ));
    }
    Ok(())
}

/// An operating system's error in words that help.
fn explain(tool: &str, path: &str, error: &io::Error) -> ToolError {
    let what = match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "may not be accessed: the operating system denies it".to_owned()
        }
        io::ErrorKind::NotADirectory => "goes through something that is not a folder".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder".to_owned(),
        _ => format!("could not be used: {error}"),
    };
    failed(format!("{tool}: `{path}` {what}"))
}
