//! A hook's process: its program, found; its arguments; its environment; and what keeps it from starting, in words.

use std::{
    ffi::OsStr,
    fs::DirBuilder,
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use pintle::{Failure, FailureKind};
use pintle_sandbox::{
    Command, DEFAULT_PATH, Folder, Output, Process, Stdin, find_program, is_executable,
};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::spec::{CommandSpec, Program};

/// The three streams of a hook's process.
pub(crate) struct Pipes {
    pub(crate) stdin: Sender,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Receiver,
}

/// Starts the process. The program is found first, so that a failure says what to change in the hook.
pub(crate) fn spawn<'a>(
    spec: &CommandSpec,
    event_env: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(Process, Pipes), Failure> {
    let failed = |message: String| Failure::new(FailureKind::Spawn, message);
    if let Some(look) = &spec.before_start {
        look().map_err(|why| Failure::new(FailureKind::Untrusted, why))?;
    }
    let (program, args) = match &spec.program {
        Program::Shell(line) => (PathBuf::from("/bin/sh"), vec!["-c".into(), line.into()]),
        Program::Argv(argv) => match argv.split_first() {
            None => return Err(failed("argv is empty: name a program".into())),
            Some((program, args)) => (find(program, spec).map_err(failed)?, args.to_vec()),
        },
    };
    let mut env = spec.env.clone();
    env.push(("PINTLE_PROFILE_DIR".into(), spec.folder().into()));
    if let Some(dir) = &spec.state_dir {
        make_private(dir).map_err(|error| {
            failed(format!("its state folder `{}` cannot be made: {error}", dir.display()))
        })?;
        env.push(("PINTLE_STATE_DIR".into(), dir.into()));
    }
    env.extend(event_env.into_iter().map(|(name, value)| (name.into(), value.into())));
    let folder = Folder::Path(spec.folder().to_owned());
    let (stdin, output) = (Stdin::Piped, Output::Separate);
    let command = Command { program, args, env, folder, stdin, output };
    let (process, streams) = Process::start(&command, &spec.confinement)
        .map_err(|error| failed(why(&error, &command.program, spec.folder())))?;
    match (streams.stdin, streams.stdout, streams.stderr) {
        (Some(stdin), stdout, Some(stderr)) => Ok((process, Pipes { stdin, stdout, stderr })),
        _ => Err(failed("it has no pipes".into())),
    }
}

/// Only the user who runs the host may look into it.
fn make_private(dir: &Path) -> io::Result<()> {
    match dir.is_dir() {
        true => Ok(()),
        false => DirBuilder::new().recursive(true).mode(0o700).create(dir),
    }
}

fn find(program: &OsStr, spec: &CommandSpec) -> Result<PathBuf, String> {
    let path = spec.path().unwrap_or(OsStr::new(DEFAULT_PATH));
    find_program(program, spec.folder(), path).ok_or_else(|| {
        let name = program.display();
        format!(
            "there is no program `{name}` on the PATH `{}`; a script in the profile's folder is `./{name}`",
            path.display(),
        )
    })
}

/// What the system's error means for the author of the hook.
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
            format!("`{shown}` is not a program: a script needs a first line such as #!/bin/sh")
        }
        _ => format!("`{shown}`: {error}"),
    }
}
