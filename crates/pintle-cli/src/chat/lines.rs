//! Reading lines from a person or a pipe, on a thread of its own, so that a run goes on meanwhile.

use std::{io::BufRead, path::PathBuf};

use rustyline::{DefaultEditor, error::ReadlineError};
use tokio::sync::{mpsc, oneshot};

/// What a person said, or did instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the pipe's end.
    End,
    /// Ctrl-C where it is a signal and not a key: on a pipe.
    Signalled,
}

type Request = (String, oneshot::Sender<Line>);

pub(crate) struct Lines {
    requests: mpsc::UnboundedSender<Request>,
}

impl Lines {
    pub(crate) fn open(terminal: bool, history: PathBuf) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        std::thread::spawn(
            move || if terminal { edit(receiver, &history) } else { read(receiver) },
        );
        Self { requests }
    }

    pub(crate) async fn ask(&self, prompt: &str) -> Line {
        let (reply, answer) = oneshot::channel();
        if self.requests.send((prompt.to_string(), reply)).is_err() {
            return Line::End;
        }
        answer.await.unwrap_or(Line::End)
    }
}

fn edit(mut requests: mpsc::UnboundedReceiver<Request>, history: &std::path::Path) {
    let Ok(mut editor) = DefaultEditor::new() else { return read(requests) };
    // A first start has no history yet.
    let _ = editor.load_history(history);
    while let Some((prompt, reply)) = requests.blocking_recv() {
        let line = match editor.readline(&prompt) {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                let _ = editor.save_history(history);
                Line::Text(line)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        let _ = reply.send(line);
    }
}

fn read(mut requests: mpsc::UnboundedReceiver<Request>) {
    let mut stdin = std::io::stdin().lock();
    while let Some((_, reply)) = requests.blocking_recv() {
        let mut line = Vec::new();
        let line = match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => Line::End,
            // Bytes that are not UTF-8 are no reason to stop listening.
            Ok(_) => Line::Text(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
        };
        let _ = reply.send(line);
    }
}
