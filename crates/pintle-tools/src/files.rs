//! The file tools.
//!
//! Where a path leads is looked up once, when the call is judged; [`crate::nofollow`] opens that place and no other. A write
//! through a symlink therefore replaces its target, not the link. Opening never waits (`O_NONBLOCK`) and only regular
//! files are read or written: a pipe or a device cannot hang a tool.
//!
//! Each tool is a function in a file of its own; everything around the function is here.

mod edit;
mod list;
mod read;
mod replace;
#[cfg(test)]
mod tests;
mod write;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use pintle_agent::{PermittedCall, Tool, ToolCx, ToolError, ToolSpec};
use pintle_policy::Reach;
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Args, failed},
    nofollow::{Place, in_words},
};

/// A tool for one file or folder, which its argument `path` names.
///
/// Calls that touch the same place at the same time, as those of one message do, take turns in the order they were
/// started: a file written twice holds what the last call wrote.
#[derive(Clone)]
pub struct FileTool {
    name: &'static str,
    spec: Arc<ToolSpec>,
    work: fn(Job<'_>) -> Result<String, ToolError>,
}

impl FileTool {
    /// `read_file`: a text file, or some lines of it.
    ///
    /// At most 64 KiB come back, and a note in brackets says where to go on. Bytes that are not UTF-8 are replaced,
    /// with a note. A binary file or a folder is an error.
    pub fn read() -> Self {
        read::tool()
    }

    /// `write_file`: a whole file, making it and its folders where they are missing.
    ///
    /// The write is atomic: the file is the old one or the new one, also after a failure or a crash. An
    /// existing file keeps its permissions; a folder, a device or a read-only file is an error.
    pub fn write() -> Self {
        write::tool()
    }

    /// `edit_file`: replaces the only occurrence of a text in a file.
    ///
    /// None, or more than one, is an error with the count, and changes nothing. The rest of the file stays byte for
    /// byte what it was, also where it is not UTF-8. Written as `write_file` writes.
    pub fn edit() -> Self {
        edit::tool()
    }

    /// `list_dir`: a folder by name, one entry per line: folders end in `/`, symlinks show where they lead.
    ///
    /// Only the first 1000 names and 64 KiB are shown, with the number of the others.
    pub fn list() -> Self {
        list::tool()
    }

    fn new(
        name: &'static str,
        spec: ToolSpec,
        work: fn(Job<'_>) -> Result<String, ToolError>,
    ) -> Self {
        Self { name, spec: Arc::new(spec), work }
    }

    async fn execute(self, args: Value, reach: Reach, cx: ToolCx) -> Result<String, ToolError> {
        let target = Target::of(self.name, &args, &reach)?;
        let turn = turn(&target.real).await;
        // A thread cannot be dropped: the token stops it when the run is cancelled, or the caller is gone.
        let stop = cx.cancel.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let work = move || {
            // It lasts as long as the work, not as long as somebody waits for it.
            let _turn = turn;
            let mut args = Args::of(self.name, &args)?;
            args.text("path")?;
            (self.work)(Job { target: &target, args, stop: &stop })
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(failed(format!("{}: did not finish: {error}", self.name))),
        }
    }
}

impl Tool for FileTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::clone(&self.spec)
    }

    fn run(
        &self,
        call: PermittedCall,
        cx: ToolCx,
    ) -> BoxFuture<'static, Result<String, ToolError>> {
        Box::pin(self.clone().execute(call.args().clone(), call.reach().clone(), cx))
    }
}

/// What one call is to do, on a thread that may wait.
struct Job<'a> {
    target: &'a Target,
    /// All but the path.
    args: Args<'a>,
    stop: &'a CancellationToken,
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

/// The file or folder a call is about.
struct Target {
    tool: &'static str,
    /// As the call names it.
    path: String,
    /// As it was judged.
    real: PathBuf,
}

impl Target {
    fn of(tool: &'static str, args: &Value, reach: &Reach) -> Result<Self, ToolError> {
        let path = Args::of(tool, args)?.text("path")?.to_owned();
        match reach.path("path") {
            Some(Ok(real)) => Ok(Self { tool, path, real: real.to_owned() }),
            Some(Err(unresolved)) => Err(failed(format!("{tool}: {unresolved}"))),
            None => Err(failed(format!("{tool}: it was not judged where `{path}` leads"))),
        }
    }

    /// The place of a file. A path that ends in `/` names a folder, also if there is none yet.
    fn file(&self, open: fn(&Path) -> io::Result<Place>) -> io::Result<Place> {
        if self.path.ends_with('/') || self.path.ends_with("/.") {
            let words = "ends like the name of a folder";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, words));
        }
        open(&self.real)
    }

    fn told(&self, error: &io::Error) -> ToolError {
        self.fails(&in_words(error))
    }

    fn fails(&self, how: &str) -> ToolError {
        failed(format!("{}: `{}` {how}", self.tool, self.path))
    }
}

static TURNS: [Mutex<()>; 64] = [const { Mutex::const_new(()) }; 64];

/// Waits for this process' other calls for the same place. First come, first served: the first poll takes the place in the
/// queue, and the agent polls the calls of a message in their order.
async fn turn(real: &Path) -> Option<MutexGuard<'static, ()>> {
    let mut hasher = DefaultHasher::new();
    real.hash(&mut hasher);
    let index = hasher.finish() % (TURNS.len() as u64);
    let lock = TURNS.get(usize::try_from(index).unwrap_or_default())?;
    Some(lock.lock().await)
}
