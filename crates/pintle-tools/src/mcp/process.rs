//! The process of an MCP server that speaks over standard input and output.

use std::{
    io,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    capture::HeadTail,
    group::{GRACE, Group},
};

/// How much of its standard error is kept for messages.
const LAST_WORDS: usize = 4 * 1024;

/// A running server: its process group and what it says on standard error.
pub(super) struct Process {
    group: Group,
    stderr: Stderr,
}

impl Process {
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: Option<&Path>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = Command::new(command);
        command
            .args(args)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        let (group, pipes) = Group::spawn(&mut command)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (pipes.stdin, pipes.stdout, pipes.stderr)
        else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok((Self { group, stderr: Stderr::drain(stderr) }, stdout, stdin))
    }

    pub(super) fn has_exited(&self) -> bool {
        self.group.has_exited()
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> i32 {
        self.group.pid()
    }

    pub(super) fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }

    /// Waits a moment for it to leave by itself, as it should once its input has ended; then asks; then kills.
    pub(super) async fn stop(self) {
        for ask in [false, true] {
            if ask {
                self.group.terminate();
            }
            if timeout(GRACE, self.group.exited()).await.is_ok() {
                break;
            }
        }
        // How it ended is of no interest any more.
        let _ = self.group.finish().await;
    }
}

/// The last words on a server's standard error, which is read all the time so that the server never blocks on it.
#[derive(Clone)]
pub(super) struct Stderr {
    kept: Arc<Mutex<HeadTail>>,
    reading: Arc<tokio::sync::Mutex<JoinHandle<()>>>,
}

impl Stderr {
    fn drain(mut pipe: ChildStderr) -> Self {
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
