//! Reading lines from a person or a pipe, on a thread of its own, so that a run goes on meanwhile.

use std::{
    io::BufRead,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Sender, channel},
    },
};

use rustix::{
    io::ioctl_fionread,
    termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr},
};
use rustyline::{DefaultEditor, ExternalPrinter, error::ReadlineError};
use tokio::sync::{mpsc, oneshot};

use super::{Wish, prompt::Prompt};
use crate::{
    out::{self, tell},
    shown::{dim, text},
};

/// What a person said, or did instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the pipe's end.
    End,
    /// A signal, and not a key.
    Signalled(Wish),
}

/// What a line is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Message,
    /// Only what is typed after the question was seen counts, and it is nothing to say again.
    Answer,
}

type Request = (String, Purpose, oneshot::Sender<Line>);

pub(crate) struct Lines {
    requests: mpsc::UnboundedSender<Request>,
    /// How the terminal was before anything was read from it.
    terminal: Option<Termios>,
    editing: Arc<AtomicBool>,
    /// The prompt of a question.
    question: Arc<Prompt>,
}

impl Lines {
    pub(crate) fn open(terminal: bool, history: PathBuf) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let editing = Arc::new(AtomicBool::new(false));
        let question = Arc::new(Prompt::default());
        let before = terminal.then(|| tcgetattr(std::io::stdin()).ok()).flatten();
        let edited = Edited {
            editing: editing.clone(),
            question: question.clone(),
            terminal: before.clone(),
        };
        std::thread::spawn(move || {
            if terminal { edit(receiver, &history, &edited) } else { read(receiver) }
        });
        Self { requests, terminal: before, editing, question }
    }

    pub(crate) fn are_typed(&self) -> bool {
        self.terminal.is_some()
    }

    pub(crate) async fn next(&self, prompt: &str) -> Line {
        self.ask(prompt, Purpose::Message).await
    }

    /// The answer to a question that the person sees by now: what was typed before is not part of it.
    pub(crate) async fn answer(&self, prompt: &str) -> Line {
        self.ask(prompt, Purpose::Answer).await
    }

    /// Takes away the prompt of a question that is settled. What a person does not have to take away themselves is gone.
    pub(crate) async fn dismiss(&self) -> bool {
        self.question.dismiss().await
    }

    async fn ask(&self, prompt: &str, purpose: Purpose) -> Line {
        let (reply, answer) = oneshot::channel();
        if self.requests.send((prompt.to_string(), purpose, reply)).is_err() {
            return Line::End;
        }
        answer.await.unwrap_or(Line::End)
    }
}

/// Whoever leaves in the middle of a line leaves the terminal as it was.
impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(before) = self.terminal.as_ref().filter(|_| self.editing.load(Ordering::SeqCst))
        {
            out::leave_prompt();
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// What the one who edits shares with whoever waits for it.
struct Edited {
    editing: Arc<AtomicBool>,
    question: Arc<Prompt>,
    terminal: Option<Termios>,
}

fn edit(mut requests: mpsc::UnboundedReceiver<Request>, history: &Path, edited: &Edited) {
    let Edited { editing, question, terminal } = edited;
    let (Ok(mut editor), Ok(mut answers)) = (DefaultEditor::new(), DefaultEditor::new()) else {
        return read(requests);
    };
    let (above, above_answers) = (printer(&mut editor), printer(&mut answers));
    // A first start has no history yet.
    let _ = editor.load_history(history);
    while let Some((prompt, purpose, reply)) = requests.blocking_recv() {
        editing.store(true, Ordering::SeqCst);
        let read = match purpose {
            Purpose::Message => {
                out::prompt_opens(above.clone());
                editor.readline(&prompt)
            }
            Purpose::Answer => {
                forget_what_was_typed();
                out::prompt_opens(above_answers.clone());
                // Where nothing can be told above it, nothing can take it away either.
                if above_answers.is_some() {
                    question.opens(prompt.chars().count());
                }
                // Whoever settles it from here on finds it open.
                let read = match reply.is_closed() {
                    true => Err(ReadlineError::Eof),
                    false => answers.readline(&prompt),
                };
                question.closes(terminal.as_ref());
                read
            }
        };
        out::prompt_closes();
        editing.store(false, Ordering::SeqCst);
        let line = match read {
            Ok(line) => {
                if purpose == Purpose::Message {
                    let _ = editor.add_history_entry(&line);
                    let _ = editor.save_history(history);
                }
                Line::Text(line)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        hand_over(line, purpose, reply);
    }
}

/// A question may be settled while somebody types an answer: then nobody takes it.
fn hand_over(line: Line, purpose: Purpose, reply: oneshot::Sender<Line>) {
    if let (Err(Line::Text(typed)), Purpose::Answer) = (reply.send(line), purpose)
        && !typed.trim().is_empty()
    {
        let dropped = text!("the question was settled already; this was not used: {}", typed);
        tell!("  {}", dim(dropped));
    }
}

/// Prints above the line that is being edited. On a thread of its own: the editor takes its time.
fn printer(editor: &mut DefaultEditor) -> Option<Sender<String>> {
    let mut printer = editor.create_external_printer().ok()?;
    let (sender, told) = channel::<String>();
    std::thread::spawn(move || told.into_iter().try_for_each(|line| printer.print(line)));
    Some(sender)
}

/// Neither editor nor `stdin` keeps more than a line: whatever else has been typed waits in the terminal's own queue.
fn forget_what_was_typed() {
    let typed = ioctl_fionread(std::io::stdin()).unwrap_or(0);
    // A pipe has no such queue, and nobody who types.
    let forgotten = tcflush(std::io::stdin(), QueueSelector::IFlush);
    if typed > 0 && forgotten.is_ok() {
        tell!(
            "  {}",
            dim("what was typed before the question is no answer to it, and is forgotten")
        );
    }
}

fn read(mut requests: mpsc::UnboundedReceiver<Request>) {
    let mut stdin = std::io::stdin().lock();
    while let Some((_, purpose, reply)) = requests.blocking_recv() {
        if purpose == Purpose::Answer {
            forget_what_was_typed();
        }
        let mut line = Vec::new();
        let line = match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => Line::End,
            // Bytes that are not UTF-8 are no reason to stop listening.
            Ok(_) => Line::Text(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
        };
        hand_over(line, purpose, reply);
    }
}
