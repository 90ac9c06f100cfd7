//! Texts of strangers, made fit for a terminal.

use std::borrow::Cow;

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

/// The same for a text that must stay on its line: line ends are spelled out too.
#[must_use]
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    spelled_out(text, is_hidden)
}

/// Whether a terminal acts on this character, or shows nothing for it.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn spelled_out(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\r' if hidden(c) => shown.extend(c.escape_default()),
            c if hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}
