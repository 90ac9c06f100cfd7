//! What a process is made from.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where programs are looked for when an environment has no `PATH`.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program to start: its arguments, whole environment, folder and streams.
#[derive(Clone)]
pub struct Command {
    /// The program, as an absolute path ([`find_program`]).
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Its whole environment: nothing is inherited. The last value of a name wins. The supervisor adds one variable,
    /// `PINTLE_PROCESS_TAG`.
    pub env: Vec<(OsString, OsString)>,
    /// The folder it starts in.
    pub folder: Folder,
    /// Its standard input.
    pub stdin: Stdin,
    /// Its standard output and standard error.
    pub output: Output,
}

/// The folder a process starts in.
#[derive(Debug, Clone)]
pub enum Folder {
    /// An absolute path, resolved when the process starts.
    Path(PathBuf),
    /// An opened folder: a symlink that is swapped later changes nothing.
    Opened {
        /// The folder itself.
        handle: Arc<OwnedFd>,
        /// Where it was opened, for messages and for systems that cannot start a process in a handle.
        path: PathBuf,
    },
}

impl Folder {
    /// The path that names the folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Path(path) | Self::Opened { path, .. } => path,
        }
    }

    /// A path by which a child finds the folder, as long as the handle is open.
    pub(super) fn for_child(&self) -> Cow<'_, Path> {
        match self {
            // A child keeps its copy of the handle until its program starts, and changes folder before that.
            #[cfg(target_os = "linux")]
            Self::Opened { handle, .. } => {
                use std::os::fd::AsRawFd;

                PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd())).into()
            }
            _ => self.path().into(),
        }
    }
}

/// Where the standard input of a process comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// It is empty.
    Null,
    /// The host writes it.
    Piped,
}

/// Where the output of a process goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output and standard error are two pipes.
    Separate,
    /// Both are one pipe: their order is the true one.
    Merged,
}

/// Finds a program: a name with a slash from `folder`, any other name on `path`.
///
/// Relative entries of `path` are skipped, because the folder that a process starts in is often not trusted.
pub fn find_program(name: &OsStr, folder: &Path, path: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(folder.join(name));
    }
    path.as_encoded_bytes()
        .split(|byte| *byte == b':')
        .filter_map(|entry| std::str::from_utf8(entry).ok())
        .filter(|entry| entry.starts_with('/'))
        .map(|entry| Path::new(entry).join(name))
        .find(|candidate| is_executable(candidate))
}

/// Whether this is a file with a run bit.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
