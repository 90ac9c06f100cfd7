//! The pipes between the host and a process.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use rustix::io::fcntl_dupfd_cloexec;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::{Command, Output, Stdin};

/// The host's ends of a process's streams.
pub struct Streams {
    /// Its standard input, if the host writes it.
    pub stdin: Option<Sender>,
    /// Its standard output; with [`Output::Merged`], its standard error too.
    pub stdout: Receiver,
    /// Its standard error, if it is apart.
    pub stderr: Option<Receiver>,
}

impl Streams {
    /// Makes the pipes: the host's ends, and the three that the process gets.
    pub(crate) fn open(command: &Command) -> io::Result<(Self, [OwnedFd; 3])> {
        let (stdin, stdin_end) = match command.stdin {
            Stdin::Null => (None, File::open("/dev/null")?.into()),
            Stdin::Piped => {
                let (end, stdin) = io::pipe()?;
                (Some(Sender::from_owned_fd(stdin.into())?), end.into())
            }
        };
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = match command.output {
            Output::Merged => (None, stdout_end.try_clone()?),
            Output::Separate => {
                let (stderr, end) = io::pipe()?;
                (Some(Receiver::from_owned_fd(stderr.into())?), end)
            }
        };
        let stdout = Receiver::from_owned_fd(stdout.into())?;
        let theirs = [
            above_streams(stdin_end)?,
            above_streams(stdout_end.into())?,
            above_streams(stderr_end.into())?,
        ];
        Ok((Self { stdin, stdout, stderr }, theirs))
    }

    /// Second handles on what the host reads from.
    pub(super) fn output_handles(&self) -> io::Result<Vec<OwnedFd>> {
        let outputs = [Some(&self.stdout), self.stderr.as_ref()].into_iter().flatten();
        outputs.map(|output| output.as_fd().try_clone_to_owned()).collect()
    }
}

/// The same file, under a number that is not one of a process's own streams, so that none of them overwrites it.
pub(super) fn above_streams(file: OwnedFd) -> io::Result<OwnedFd> {
    match file.as_raw_fd() {
        ..=2 => Ok(fcntl_dupfd_cloexec(&file, 3)?),
        _ => Ok(file),
    }
}
