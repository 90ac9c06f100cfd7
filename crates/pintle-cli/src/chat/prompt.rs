//! The prompt of a question, which goes away when the question is settled elsewhere. The editor waits for a key and knows
//! of nothing else: it is told that there will be none.

use std::{
    fs::File,
    io::stdin,
    os::fd::{AsFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::{
    process::{Signal, getpid, kill_process},
    stdio::dup2_stdin,
    termios::{OptionalActions, QueueSelector, Termios, tcflush, tcsetattr},
};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

use crate::out;

/// The editor still shows what was told before.
const SHOWS_WITHIN: Duration = Duration::from_millis(30);
/// An editor that does not leave by then leaves with the next key.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Prompt(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Closed,
    /// This is how many columns it has.
    Open(usize),
    /// The editor finds the end of its input: the terminal is put back when it has.
    Leaving { terminal: OwnedFd, columns: usize, gone: oneshot::Sender<()> },
}

impl Prompt {
    /// An editor is about to draw it, at a terminal.
    pub(super) fn opens(&self, columns: usize) {
        *self.state() = State::Open(columns);
    }

    /// The editor is done. `before` is how it found the terminal, and could not leave it.
    pub(super) fn closes(&self, before: Option<&Termios>) {
        let mut state = self.state();
        if let State::Leaving { terminal, columns, gone } = std::mem::take(&mut *state) {
            let _ = dup2_stdin(&terminal);
            // What was typed so far was meant for the question.
            let _ = tcflush(&terminal, QueueSelector::IFlush);
            if let Some(before) = before {
                let _ = tcsetattr(&terminal, OptionalActions::Now, before);
            }
            out::take_prompt_away(columns);
            let _ = gone.send(());
        }
    }

    /// Whether it is gone, with what was typed so far; what is typed from now on is for the next one.
    pub(super) async fn dismiss(&self) -> bool {
        sleep(SHOWS_WITHIN).await;
        match self.end_input() {
            Some(gone) => timeout(LEAVES_WITHIN, gone).await.is_ok(),
            None => matches!(*self.state(), State::Closed),
        }
    }

    fn end_input(&self) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state();
        let State::Open(columns) = *state else { return None };
        let terminal = stdin().as_fd().try_clone_to_owned().ok()?;
        dup2_stdin(File::open("/dev/null").ok()?).ok()?;
        let (gone, is_gone) = oneshot::channel();
        *state = State::Leaving { terminal, columns, gone };
        // It looks at its input again when the window may have changed.
        let _ = kill_process(getpid(), Signal::WINCH);
        Some(is_gone)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
