//! Texts of strangers, made fit for a terminal. Which characters are written out, and how, is decided here alone.

use std::borrow::Cow;
use std::path::Path;

/// A path as it is typed at a shell, in a command that is there to be pasted.
#[must_use]
pub fn typed(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = if path.starts_with('-') { Cow::from(format!("./{path}")) } else { path };
    typed_word(&path)
}

/// The same for any word of a command.
#[must_use]
pub fn typed_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The text with everything spelled out that a terminal would act on or hide: escape sequences, other control
/// characters, marks that reverse or swallow what follows. Line ends and tabs stay.
///
/// What a person is asked about, and what a profile calls itself, must look like what it is.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c| c != '\n' && c != '\t' && is_hidden(c);
    match text.contains("\r\n") {
        true => Cow::Owned(spelled_out(&text.replace("\r\n", "\n"), hidden).into_owned()),
        false => spelled_out(text, hidden),
    }
}

/// The same for a text that must stay on its line: line ends and tabs are spelled out too.
#[must_use]
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    spelled_out(text, is_hidden)
}

/// Whether a terminal acts on this character, or shows nothing for it.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn spelled_out(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if hidden(c) && !joins(before, c, rest.peek().copied()) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Some scripts and emoji are written with joiners; nothing that a shell or a path means is.
fn joins(before: Option<char>, c: char, after: Option<char>) -> bool {
    let beside = |c: char| !c.is_ascii() && !is_hidden(c);
    matches!(c, '\u{200c}' | '\u{200d}')
        && (before.is_some() || after.is_some())
        && before.is_none_or(beside)
        && after.is_none_or(beside)
}
