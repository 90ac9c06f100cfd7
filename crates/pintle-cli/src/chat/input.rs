//! Reads lines and keys from a person or a pipe on a separate thread, so a run continues at the same time.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Sender, channel},
    },
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{ExternalPrinter, error::ReadlineError};
use tokio::sync::{mpsc, oneshot};

use super::{
    StopSignal,
    editor::{self, Words},
    keys::{KeyRequest, NO_ANSWER, Raw, read_key, read_words, typed_ahead},
};
use crate::{
    out::{self, tell},
    shown::Shown,
};

const PROMPT: &str = "› ";

/// A line of input, or the key or signal that came instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C in an empty line.
    Interrupted,
    /// Ctrl-D, or the pipe's end.
    End,
    /// A signal, and not a key.
    Signalled(StopSignal),
}

enum Request {
    Message(oneshot::Sender<Line>),
    /// One key; `None` when the terminal is gone.
    Key(KeyRequest, oneshot::Sender<Option<char>>),
    /// A line of words at a question; `None` after Esc.
    Words(Shown, oneshot::Sender<Option<String>>),
    /// Answered when all requests before it are done.
    Sync(oneshot::Sender<()>),
}

pub(crate) struct Input {
    requests: mpsc::UnboundedSender<Request>,
    /// The settings of the terminal before the first read.
    terminal: Option<Termios>,
    editing: Arc<AtomicBool>,
    /// What Tab completes.
    words: Arc<Mutex<Words>>,
}

impl Input {
    pub(crate) fn open(terminal: bool, history: PathBuf) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let (editing, words) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let before = terminal.then(|| tcgetattr(std::io::stdin()).ok()).flatten();
        let mut reader = Reader {
            requests: receiver,
            editing: editing.clone(),
            words: Arc::clone(&words),
            typed_ahead: String::new(),
        };
        let terminal = before.clone();
        std::thread::spawn(move || match terminal {
            Some(before) => reader.edit(&history, &before),
            None => reader.read(),
        });
        Self { requests, terminal: before, editing, words }
    }

    pub(crate) fn is_typed(&self) -> bool {
        self.terminal.is_some()
    }

    /// Sets the words that Tab completes.
    pub(crate) fn complete(&self, words: Words) {
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    pub(crate) async fn next(&self) -> Line {
        self.ask(Request::Message).await.unwrap_or(Line::End)
    }

    /// The first of the accepted keys that is pressed after the question was seen.
    pub(super) async fn key(&self, request: KeyRequest) -> Option<char> {
        self.ask(|reply| Request::Key(request, reply)).await.flatten()
    }

    pub(super) async fn words(&self, prompt: Shown) -> Option<String> {
        self.ask(|reply| Request::Words(prompt, reply)).await.flatten()
    }

    /// Waits until a cancelled prompt is removed from the screen.
    pub(super) async fn settle(&self) {
        self.ask(Request::Sync).await;
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).ok()?;
        answer.await.ok()
    }
}

/// A program that ends in the middle of a line leaves the terminal as it was.
impl Drop for Input {
    fn drop(&mut self) {
        if let Some(before) = self.terminal.as_ref().filter(|_| self.editing.load(Ordering::SeqCst))
        {
            out::leave_prompt();
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// The thread that reads.
struct Reader {
    requests: mpsc::UnboundedReceiver<Request>,
    editing: Arc<AtomicBool>,
    words: Arc<Mutex<Words>>,
    /// Lines that were typed before they were asked for.
    typed_ahead: String,
}

impl Reader {
    fn edit(&mut self, history: &Path, before: &Termios) {
        let Ok(mut editor) = editor::open(self.words.clone()) else { return self.read() };
        let above = printer(&mut editor);
        // A first start has no history yet.
        let _ = editor.load_history(history);
        while let Some(request) = self.requests.blocking_recv() {
            self.editing.store(true, Ordering::SeqCst);
            match request {
                Request::Message(reply) => {
                    out::prompt_opens(above.clone());
                    let read = self.message(&mut editor, before);
                    out::prompt_closes();
                    let line = match read {
                        Ok(line) => {
                            let _ = editor.add_history_entry(&line);
                            let _ = editor.save_history(history);
                            Line::Text(line.replace("\\\n", "\n"))
                        }
                        Err(ReadlineError::Interrupted) => Line::Interrupted,
                        Err(_) => Line::End,
                    };
                    let _ = reply.send(line);
                }
                Request::Key(request, reply) => {
                    let key = match read_key(before, &request, || !reply.is_closed()) {
                        Ok(key) => key,
                        // If single keys cannot be read, a line with one character is a key.
                        Err(_) => key_by_line(&request),
                    };
                    let _ = reply.send(key);
                }
                Request::Words(prompt, reply) => {
                    let words = read_words(before, &prompt, || !reply.is_closed());
                    let _ = reply.send(words.ok().flatten());
                }
                Request::Sync(reply) => drop(reply.send(())),
            }
            self.editing.store(false, Ordering::SeqCst);
        }
    }

    /// The next message. The terminal turns an Enter that is pressed during a run into Ctrl-J, which means a new line to the editor:
    /// so keys that are waiting already are read here.
    fn message(
        &mut self,
        editor: &mut editor::Editor,
        before: &Termios,
    ) -> rustyline::Result<String> {
        let _raw = Raw::enter(before, false)?;
        self.typed_ahead.push_str(&typed_ahead()?);
        if let Some((line, rest)) = self.typed_ahead.split_once(['\r', '\n']) {
            let line = plain(line);
            self.typed_ahead = rest.to_owned();
            out::prompt_closes();
            tell!("{}{}", PROMPT, line);
            return Ok(line);
        }
        let begun = plain(&std::mem::take(&mut self.typed_ahead));
        editor.readline_with_initial(PROMPT, (&begun, ""))
    }

    /// A pipe: its lines are messages, never answers.
    fn read(&mut self) {
        while let Some(request) = self.requests.blocking_recv() {
            match request {
                Request::Message(reply) => drop(reply.send(line_of_stdin())),
                Request::Key(request, reply) => drop(reply.send(key_by_line(&request))),
                Request::Words(_, reply) => drop(reply.send(None)),
                Request::Sync(reply) => drop(reply.send(())),
            }
        }
    }
}

/// Removes control characters: before the prompt, only Enter has an effect.
fn plain(typed: &str) -> String {
    typed.split('\u{1b}').next().unwrap_or_default().replace(char::is_control, "")
}

/// One key at a question outside of a conversation; `None` after Ctrl-C or Ctrl-D.
pub(crate) fn ask_key(prompt: Shown, accepted: &str) -> Option<char> {
    let before = tcgetattr(std::io::stdin()).ok()?;
    let request = KeyRequest { prompt, accepted: format!("{accepted}{NO_ANSWER}"), is_new: true };
    let key = read_key(&before, &request, || true).unwrap_or_else(|_| key_by_line(&request));
    key.filter(|key| accepted.contains(*key))
}

fn line_of_stdin() -> Line {
    let mut line = Vec::new();
    match std::io::stdin().lock().read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => Line::End,
        // Reading continues after bytes that are not UTF-8.
        Ok(_) => Line::Text(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
    }
}

fn key_by_line(request: &KeyRequest) -> Option<char> {
    out::tell_line(&request.prompt);
    loop {
        let Line::Text(line) = line_of_stdin() else { return None };
        let mut typed = line.chars();
        if let (Some(key), None) = (typed.next(), typed.next())
            && request.accepted.contains(key)
        {
            return Some(key);
        }
    }
}

/// Prints above the line that is being edited. Runs on a separate thread, because the editor may be slow to print.
fn printer(editor: &mut editor::Editor) -> Option<Sender<String>> {
    let mut printer = editor.create_external_printer().ok()?;
    let (sender, told) = channel::<String>();
    std::thread::spawn(move || told.into_iter().try_for_each(|line| printer.print(line)));
    Some(sender)
}
