//! What a hook's process is: its program, found; its arguments; and its environment.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Instant,
};

use pintle::{Failure, FailureKind};
use tokio::net::unix::pipe::Sender;

use crate::{
    leash::Leash,
    mark::{self, Mark},
    spec::{CommandSpec, Program},
    start::{Order, start},
    watchdog,
};

/// Where programs are looked for when the hook's environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts the process, with pipes on all three of its streams. The program is found first, and what keeps it from
/// running is told in words that help whoever wrote the hook.
pub(crate) fn spawn<'a>(
    spec: &CommandSpec,
    event_env: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(Leash, Sender), Failure> {
    let failed = |message: String| Failure::new(FailureKind::Spawn, message);
    let (program, args) = match &spec.program {
        Program::Shell(line) => {
            (PathBuf::from("/bin/sh"), vec![OsStr::new("-c"), OsStr::new(line.as_str())])
        }
        Program::Argv(argv) => match argv.split_first() {
            None => return Err(failed("argv is empty: name a program".into())),
            Some((program, args)) => (
                find(program, spec).map_err(failed)?,
                args.iter().map(OsString::as_os_str).collect(),
            ),
        },
    };
    let mark = Mark::new();
    let mut env: BTreeMap<OsString, OsString> = spec.env.iter().cloned().collect();
    env.insert("PINTLE_PROFILE_DIR".into(), spec.folder().into());
    env.extend(event_env.into_iter().map(|(name, value)| (name.into(), value.into())));
    env.insert(mark::VARIABLE.into(), mark.text().into());
    let lifeline = watchdog::stand_by();
    let since = Instant::now();
    let order = Order { program: &program, args, env, folder: spec.folder(), mark, lifeline };
    let (child, streams) =
        start(&order).map_err(|error| failed(why(&error, &program, spec.folder())))?;
    Leash::new(child, streams, mark, since).ok_or_else(|| failed("it has no number".into()))
}

fn find(program: &OsStr, spec: &CommandSpec) -> Result<PathBuf, String> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Ok(spec.folder().join(program));
    }
    let path = spec.path().unwrap_or(OsStr::new(DEFAULT_PATH));
    path.as_encoded_bytes()
        .split(|byte| *byte == b':')
        .filter_map(|folder| std::str::from_utf8(folder).ok())
        // A relative entry would find programs in the profile's folder, which nobody vouches for.
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| {
            format!(
                "there is no program `{}` on the PATH `{}`; a script in the profile's folder is `./{}`",
                program.display(),
                path.display(),
                program.display()
            )
        })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// What the system's error means for whoever wrote the hook.
fn why(error: &io::Error, program: &Path, folder: &Path) -> String {
    let shown = program.display();
    match error.kind() {
        ErrorKind::NotFound if !folder.is_dir() => {
            format!("the profile's folder `{}` is not there", folder.display())
        }
        ErrorKind::NotFound if program.exists() => {
            format!("the interpreter that `{shown}` names in its first line is not there")
        }
        ErrorKind::NotFound => format!("there is no file `{shown}`"),
        ErrorKind::PermissionDenied if program.is_file() && !is_executable(program) => {
            format!("`{shown}` may not be run: chmod +x it")
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            format!("`{shown}` is no program: a script needs a first line such as #!/bin/sh")
        }
        _ => format!("`{shown}`: {error}"),
    }
}
