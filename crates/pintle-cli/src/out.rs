//! Prints, from any thread. No other file does. Printing removes the spinner first, and ends an incomplete line.
#![allow(clippy::disallowed_methods)]

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use serde::Serialize;

use crate::{
    problem::Problem,
    shown::{self, Shown},
    term::{fit, is_ascii, to_ascii},
};

/// A wait is shown after this long.
pub(crate) const NAMED_AFTER: Duration = Duration::from_millis(300);
/// How often the spinner turns.
pub(crate) const TURNS_EVERY: Duration = Duration::from_millis(100);

static TERMINAL: Mutex<Terminal> =
    Mutex::new(Terminal { turning: false, turns: 0, in_line: false, prompt: None, failed: None });

/// The frames of the spinner.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const ASCII_FRAMES: [&str; 4] = ["-", "\\", "|", "/"];
/// Returns to the start of the line and clears it.
const TAKE_AWAY: &str = "\r\x1b[2K";

struct Terminal {
    /// The spinner is on the current line.
    turning: bool,
    turns: usize,
    /// Standard output is in the middle of a line.
    in_line: bool,
    /// A person may be typing: messages go above the line that they type.
    prompt: Option<Prompt>,
    /// The first error of writing to standard output.
    failed: Option<io::Error>,
}

/// A prompt that waits for input.
enum Prompt {
    /// The line editor draws it.
    Editor(Sender<String>),
    /// A line of ours that waits for a key.
    Keys(Shown),
}

/// A line on standard output: the answer of the command.
macro_rules! say {
    ($($line:tt)*) => { $crate::out::say_line(&$crate::shown::text!($($line)*)) };
}
/// A line on standard error: progress, warnings and errors.
macro_rules! tell {
    ($($line:tt)*) => { $crate::out::tell_line(&$crate::shown::text!($($line)*)) };
}
pub(crate) use {say, tell};

pub(crate) fn say_line(line: &Shown) {
    let mut terminal = terminal();
    terminal.end_line();
    terminal.write(&format!("{}\n", to_ascii(line.as_str())));
}

pub(crate) fn tell_line(line: &Shown) {
    let mut terminal = terminal();
    if terminal.tell_above_prompt(line) {
        return;
    }
    terminal.end_line();
    // An error of standard error cannot be reported anywhere.
    let _ = anstream::stderr().write_all(format!("{}\n", to_ascii(line.as_str())).as_bytes());
}

/// A value for machines, on one line of standard output.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Problem> {
    say_whole(&shown::json(value).map_err(Problem::new)?);
    Ok(())
}

/// The same over several lines.
pub(crate) fn say_pretty_json(value: &impl Serialize) -> Result<(), Problem> {
    say_whole(&shown::pretty_json(value).map_err(Problem::new)?);
    Ok(())
}

/// A line that is data: no character of it is replaced.
pub(crate) fn say_whole(line: &Shown) {
    let mut terminal = terminal();
    terminal.end_line();
    terminal.write(&format!("{}\n", line.as_str()));
}

/// More text on standard output; its line is not at its end yet.
pub(crate) fn stream(text: &Shown) {
    if !text.as_str().is_empty() {
        let mut terminal = terminal();
        terminal.still();
        terminal.write(text.as_str());
        terminal.in_line = !text.as_str().ends_with('\n');
    }
}

/// Ends the line, if something was streamed.
pub(crate) fn end_line() {
    terminal().end_line();
}

/// Draws the spinner with what is being waited for, or turns it.
pub(crate) fn spin(what: &Shown) {
    let mut terminal = terminal();
    if terminal.in_line || terminal.prompt.is_some() {
        return;
    }
    let frames = if is_ascii() { &ASCII_FRAMES[..] } else { &FRAMES[..] };
    let frame = frames.get(terminal.turns % frames.len()).copied().unwrap_or_default();
    terminal.turns += 1;
    terminal.turning = true;
    // The spinner stays on one line, with room for echoed keys: otherwise it could not be erased.
    let columns = columns_of_stderr();
    let line =
        shown::text!("{} {}", shown::cyan(frame), shown::dim(fit(what, columns.saturating_sub(8))));
    let _ = io::stderr().write_all(format!("{TAKE_AWAY}{}", for_stderr(&line)).as_bytes());
}

/// From here on a person may be typing; messages go to the part that draws the prompt.
pub(crate) fn prompt_opens(above: Option<Sender<String>>) {
    let mut terminal = terminal();
    terminal.still();
    terminal.prompt = above.map(Prompt::Editor);
}

/// Draws a prompt that waits for a key, or draws it anew.
pub(crate) fn key_prompt_opens(prompt: Shown) {
    let mut terminal = terminal();
    terminal.end_line();
    let _ = io::stderr().write_all(format!("{TAKE_AWAY}{}", for_stderr(&prompt)).as_bytes());
    terminal.prompt = Some(Prompt::Keys(prompt));
}

/// The prompt stays, with the key that was pressed.
pub(crate) fn key_prompt_answered(key: &Shown) {
    let mut terminal = terminal();
    if terminal.prompt.take().is_some() {
        let _ = io::stderr().write_all(format!("{}\n", for_stderr(key)).as_bytes());
    }
}

/// The prompt leaves no trace.
pub(crate) fn key_prompt_gone() {
    if terminal().prompt.take().is_some() {
        let _ = io::stderr().write_all(TAKE_AWAY.as_bytes());
    }
}

pub(crate) fn prompt_closes() {
    terminal().prompt = None;
}

/// Leaves a prompt without an answer: moves below it, and switches bracketed paste off.
pub(crate) fn leave_prompt() {
    terminal().prompt = None;
    let _ = io::stderr().write_all(b"\x1b[?2004l\r\n");
}

fn columns_of_stderr() -> usize {
    columns_of(io::stderr()).unwrap_or(80)
}

/// How wide a terminal is, if this leads to one.
pub(crate) fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
    (columns > 0).then_some(usize::from(columns))
}

/// Removes the spinner.
pub(crate) fn still() {
    terminal().still();
}

/// Waits, and shows the spinner once it takes a while.
pub(crate) async fn waiting_for<T>(what: &Shown, work: impl Future<Output = T>) -> T {
    let _still = Still;
    let turn = async {
        tokio::time::sleep(NAMED_AFTER).await;
        loop {
            spin(what);
            tokio::time::sleep(TURNS_EVERY).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = turn => std::future::pending().await,
    }
}

/// Removes the spinner when the wait is dropped.
struct Still;

impl Drop for Still {
    fn drop(&mut self) {
        still();
    }
}

/// The error of writing to standard output, if there was one.
pub(crate) fn failure() -> Option<io::Error> {
    terminal().failed.take()
}

fn terminal() -> MutexGuard<'static, Terminal> {
    TERMINAL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    fn still(&mut self) {
        if std::mem::take(&mut self.turning) {
            let _ = io::stderr().write_all(TAKE_AWAY.as_bytes());
        }
    }

    fn end_line(&mut self) {
        self.still();
        if self.in_line {
            self.write("\n");
            self.in_line = false;
        }
    }

    fn write(&mut self, text: &str) {
        let mut out = anstream::stdout();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.failed.get_or_insert(error);
        }
    }

    fn tell_above_prompt(&self, line: &Shown) -> bool {
        if !io::stderr().is_terminal() {
            return false;
        }
        match &self.prompt {
            Some(Prompt::Editor(editor)) => editor.send(for_stderr(line) + "\n").is_ok(),
            Some(Prompt::Keys(prompt)) => {
                let above = format!("{TAKE_AWAY}{}\n{}", for_stderr(line), for_stderr(prompt));
                io::stderr().write_all(above.as_bytes()).is_ok()
            }
            None => false,
        }
    }
}

/// With colours, unless they are switched off.
fn for_stderr(line: &Shown) -> String {
    let line = to_ascii(line.as_str());
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => strip_str(&line).to_string(),
        _ => line.into_owned(),
    }
}
