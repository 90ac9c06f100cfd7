//! The process of an MCP server that speaks over standard input and output.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pintle_sandbox::{
    Command, Confinement, DEFAULT_PATH, Folder, HeadTail, HostUse, Output, Process, Stdin,
    find_program,
};
use rustix::io::Errno;
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::{Receiver, Sender},
    task::JoinHandle,
    time::timeout,
};

/// How much of its standard error is kept for messages.
const LAST_WORDS: usize = 4 * 1024;
/// How long a server may take to leave by itself once its input has ended.
const LEAVE: Duration = Duration::from_millis(500);

/// A running server: its process and what it says on standard error.
pub(super) struct ServerProcess {
    process: Process,
    stderr: Stderr,
}

impl ServerProcess {
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: &Path,
        confinement: &Confinement,
    ) -> io::Result<(Self, Receiver, Sender)> {
        let path = env.iter().rev().find(|(name, _)| name == "PATH");
        let path = OsStr::new(path.map_or(DEFAULT_PATH, |(_, value)| value));
        let command = Command {
            program: find_program(OsStr::new(command), cwd, path).ok_or(Errno::NOENT)?,
            args: args.iter().map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            folder: Folder::Path(cwd.to_owned()),
            stdin: Stdin::Piped,
            output: Output::Separate,
        };
        let (mut process, streams) = Process::start(&command, confinement)?;
        process.serves_calls();
        let (Some(stdin), Some(stderr)) = (streams.stdin, streams.stderr) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok((Self { process, stderr: Stderr::drain(stderr) }, streams.stdout, stdin))
    }

    pub(super) fn has_exited(&mut self) -> bool {
        self.process.has_exited()
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> i32 {
        self.process.id().unwrap().try_into().unwrap()
    }

    pub(super) fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }

    /// The hosts that it asked for since they were last taken.
    pub(super) fn take_hosts(&self) -> Vec<HostUse> {
        self.process.take_hosts()
    }

    /// Waits a moment for it to leave by itself, as it should once its input has ended; then ends it.
    pub(super) async fn stop(mut self) {
        match timeout(LEAVE, self.process.wait()).await {
            Ok(_) => self.process.exited().await,
            Err(_) => self.process.end().await,
        };
    }
}

/// The last words on a server's standard error, which is read all the time so that the server never blocks on it.
#[derive(Clone)]
pub(super) struct Stderr {
    kept: Arc<Mutex<HeadTail>>,
    reading: Arc<tokio::sync::Mutex<JoinHandle<()>>>,
}

impl Stderr {
    fn drain(mut pipe: Receiver) -> Self {
        let kept = Arc::new(Mutex::new(HeadTail::new(0, LAST_WORDS)));
        let reading = tokio::spawn({
            let kept = kept.clone();
            async move {
                let mut chunk = vec![0; 4 * 1024];
                while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
                    let piece = chunk.get(..length).unwrap_or_default();
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
                }
            }
        });
        Self { kept, reading: Arc::new(tokio::sync::Mutex::new(reading)) }
    }

    /// What it said, as the end of a sentence; waits a moment for a server that is just going down.
    pub(super) async fn last_words(&self) -> String {
        let mut reading = self.reading.lock().await;
        if !reading.is_finished() {
            let _ = timeout(Duration::from_millis(500), &mut *reading).await;
        }
        let text = self.kept.lock().unwrap_or_else(PoisonError::into_inner).text();
        match text.trim() {
            "" => String::new(),
            words => format!("; its last words were:\n{words}"),
        }
    }
}
