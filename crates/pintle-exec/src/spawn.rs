//! Starting a process: found, marked, set apart, in an environment of its own.

use std::{
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use pintle::{Failure, FailureKind};
use tokio::process::ChildStdin;

use crate::{
    leash::Leash,
    mark::{self, Mark},
    session::{set_apart, settle},
    spec::{CommandSpec, Program},
    watchdog,
};

/// Where programs are looked for when the hook's environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts the process with pipes on all three of its streams.
///
/// Nothing here runs between fork and exec, with one exception that [`set_apart`] has, and the program is found before:
/// so the standard library can use `posix_spawn`, whose cost does not grow with the host's memory.
pub(crate) fn spawn<'a>(
    spec: &CommandSpec,
    event_env: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(Leash, ChildStdin), Failure> {
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
    watchdog::stand_by();
    let mark = Mark::new();
    let not_started = |error: io::Error| failed(why(&error, &program, spec.folder()));
    let mut command = set_apart(&program).map_err(not_started)?;
    command
        .args(args)
        .current_dir(spec.folder())
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env("PINTLE_PROFILE_DIR", spec.folder())
        .envs(event_env)
        .env(mark::VARIABLE, mark.text())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let since = Instant::now();
    let mut child =
        command.spawn().map_err(|error| failed(why(&error, &program, spec.folder())))?;
    settle(&mut child).map_err(|reason| failed(format!("`{}`: {reason}", program.display())))?;
    Leash::new(child, mark, since).ok_or_else(|| failed("it has no pipes".into()))
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
