//! Single keys at a question, read without Enter. No key answers by accident: keys typed before the question, pasted text
//! and the bytes of an arrow key are dropped.

use std::{
    io::{self, stdin},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{
        InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcsetattr,
    },
};

use crate::{
    out,
    shown::{Show, Shown, dim, text},
    term::{columns, width},
};

/// Keys within this time after a new question are dropped: they were typed for something else.
const DRAWN_FOR: Duration = Duration::from_millis(300);
/// A person needs longer between two keys; a paste and an arrow key do not.
const SAME_STROKE: Duration = Duration::from_millis(20);
/// A paste has ended when nothing has come for this long.
const QUIET: Duration = Duration::from_millis(100);
/// How often to check whether the answer is still needed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Ctrl-C and Ctrl-D, where they are keys like any other.
pub(super) const NO_ANSWER: &str = "\u{3}\u{4}";

/// The terminal without line editing and echo, until this is dropped. Ctrl-C stays a signal unless it is read as a key,
/// and Enter stays apart from Ctrl-J.
pub(super) struct Raw<'t>(&'t Termios);

impl<'t> Raw<'t> {
    pub(super) fn enter(before: &'t Termios, reads_ctrl_c: bool) -> io::Result<Self> {
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.local_modes.set(LocalModes::ISIG, !reads_ctrl_c);
        raw.input_modes.remove(InputModes::ICRNL);
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, self.0);
    }
}

/// A prompt for one key.
pub(super) struct KeyRequest {
    /// The line that lists the keys.
    pub(super) prompt: Shown,
    pub(super) accepted: String,
    /// Whether the question was drawn just now.
    pub(super) is_new: bool,
}

/// The first accepted key; `None` when the answer is no longer needed.
///
/// # Errors
/// When the terminal cannot be read key by key.
pub(super) fn read_key(
    before: &Termios,
    request: &KeyRequest,
    is_wanted: impl Fn() -> bool,
) -> io::Result<Option<char>> {
    let raw = Raw::enter(before, request.accepted.contains(NO_ANSWER))?;
    if request.is_new {
        drop_until(Instant::now() + DRAWN_FOR)?;
    }
    // The prompt appears now: from here on, keys answer the question.
    tcflush(stdin(), QueueSelector::IFlush)?;
    out::key_prompt_opens(request.prompt.clone());
    let mut hinted = false;
    while is_wanted() {
        let Some(key) = one_key()? else { continue };
        if request.accepted.contains(key) {
            let key_name = if key.is_control() { String::new() } else { key.to_string() };
            out::key_prompt_answered(&key_name.shown());
            return Ok(Some(key));
        }
        if !std::mem::replace(&mut hinted, true) {
            let keys = request.accepted.chars().filter(char::is_ascii_graphic);
            let keys: Vec<String> = keys.map(String::from).collect();
            out::tell_line(&dim(text!("  use one of these keys: {}", keys.join(" "))));
        }
    }
    tcflush(stdin(), QueueSelector::IFlush)?;
    out::key_prompt_gone();
    drop(raw);
    Ok(None)
}

/// A line of text, echoed as it is typed; `None` after Esc, or when it is no longer needed.
pub(super) fn read_words(
    before: &Termios,
    prompt: &Shown,
    is_wanted: impl Fn() -> bool,
) -> io::Result<Option<String>> {
    let _raw = Raw::enter(before, false)?;
    let room = width().saturating_sub(columns(prompt) + 1);
    let (mut typed, mut bytes) = (String::new(), Vec::new());
    out::key_prompt_opens(prompt.clone());
    while is_wanted() {
        let Some(read) = read_within(LOOK_EVERY)? else { continue };
        bytes.extend(read);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(whole) => whole.to_owned(),
            // The remaining bytes of a character follow.
            Err(error) if error.error_len().is_none() => continue,
            Err(_) => String::new(),
        };
        bytes.clear();
        for c in whole.chars() {
            match c {
                '\n' | '\r' => {
                    out::key_prompt_answered(&Shown::default());
                    return Ok(Some(typed));
                }
                '\u{1b}' => {
                    out::key_prompt_gone();
                    return Ok(None);
                }
                '\u{7f}' | '\u{8}' => drop(typed.pop()),
                '\u{15}' => typed.clear(),
                c if c.is_control() => {}
                c => typed.push(c),
            }
        }
        let shown = typed.chars().rev().take(room).collect::<Vec<_>>();
        let shown: String = shown.into_iter().rev().collect();
        out::key_prompt_opens(text!("{}{}", prompt, shown));
    }
    out::key_prompt_gone();
    Ok(None)
}

/// The keys that were typed before the prompt. The terminal must be [`Raw`]: then Enter typed from now on is read apart from Ctrl-J.
pub(super) fn typed_ahead() -> io::Result<String> {
    let mut typed = Vec::new();
    while let Some(read) = read_within(Duration::ZERO)? {
        typed.extend(read);
    }
    Ok(String::from_utf8_lossy(&typed).into_owned())
}

/// Represents input that is not a key.
const IGNORED: char = '\0';

/// A single key press; `None` when there was none.
fn one_key() -> io::Result<Option<char>> {
    let Some(read) = read_within(LOOK_EVERY)? else { return Ok(None) };
    match (read.as_slice(), read_within(SAME_STROKE)?) {
        ([b'\r' | b'\n'], None) => Ok(Some('\n')),
        ([byte @ (3 | 4)], None) => Ok(Some(char::from(*byte))),
        ([byte], None) if byte.is_ascii_graphic() => Ok(Some(char::from(*byte))),
        _ => {
            // The rest of a paste or of an escape sequence may come in pieces.
            while read_within(QUIET)?.is_some() {}
            Ok(Some(IGNORED))
        }
    }
}

fn drop_until(end: Instant) -> io::Result<()> {
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|it| !it.is_zero()) {
        read_within(left)?;
    }
    Ok(())
}

/// The bytes typed within this time, if any.
fn read_within(limit: Duration) -> io::Result<Option<Vec<u8>>> {
    let stdin = stdin();
    let mut ready = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let limit = Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut ready, Some(&limit)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 1024];
    match rustix::io::read(stdin.as_fd(), &mut bytes) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(read) => Ok(bytes.get(..read).map(<[u8]>::to_vec)),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
