//! Decodes one word: quotes and escapes resolved, or marked as decided at run time.

use super::Word;
use std::iter::Peekable;
use std::str::Chars;

/// The word does not end where the grammar said it would.
pub(crate) struct Torn;

/// Decodes `raw`, the text of exactly one word.
pub(crate) fn decode(raw: &str) -> Result<Word, Torn> {
    let mut text = Vec::new();
    let mut dynamic = false;
    let mut chars = raw.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(escaped) => push(&mut text, escaped),
                None => text.push(b'\\'),
            },
            '\'' => single(&mut chars, &mut text)?,
            '"' => {
                if double(&mut chars, &mut text, &mut dynamic)? {
                    return Ok(Word::Dynamic(raw.to_owned()));
                }
            }
            '$' => match chars.peek() {
                Some('\'') => {
                    chars.next();
                    ansi_c(&mut chars, &mut text)?;
                }
                Some('"') => {}
                Some('(' | '{' | '[') => return Ok(Word::Dynamic(raw.to_owned())),
                Some(&next) if starts_parameter(next) => {
                    chars.next();
                    dynamic = true;
                }
                _ => text.push(b'$'),
            },
            '`' => return Ok(Word::Dynamic(raw.to_owned())),
            '<' | '>' if chars.peek() == Some(&'(') => return Ok(Word::Dynamic(raw.to_owned())),
            ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return Err(Torn),
            '*' | '?' | '[' => {
                dynamic = true;
                push(&mut text, c);
            }
            '{' if chars.peek() == Some(&'}') => push(&mut text, c),
            '{' => {
                dynamic = true;
                push(&mut text, c);
            }
            '~' if matches!(before, None | Some('=' | ':')) => {
                dynamic = true;
                push(&mut text, c);
            }
            _ => push(&mut text, c),
        }
        before = Some(c);
    }
    if dynamic {
        return Ok(Word::Dynamic(raw.to_owned()));
    }
    Ok(Word::Literal(String::from_utf8_lossy(&text).into_owned()))
}

fn push(text: &mut Vec<u8>, c: char) {
    let mut buffer = [0; 4];
    text.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
}

fn starts_parameter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*' | '#' | '?' | '$' | '!' | '-')
}

fn single(chars: &mut Peekable<Chars<'_>>, text: &mut Vec<u8>) -> Result<(), Torn> {
    loop {
        match chars.next() {
            Some('\'') => return Ok(()),
            Some(c) => push(text, c),
            None => return Err(Torn),
        }
    }
}

/// Reads up to the closing double quote; `Ok(true)` says that the rest cannot be read word by word.
fn double(
    chars: &mut Peekable<Chars<'_>>,
    text: &mut Vec<u8>,
    dynamic: &mut bool,
) -> Result<bool, Torn> {
    loop {
        match chars.next() {
            Some('"') => return Ok(false),
            Some('\\') => match chars.next() {
                Some('\n') => {}
                Some(c @ ('$' | '`' | '"' | '\\')) => push(text, c),
                Some(c) => {
                    text.push(b'\\');
                    push(text, c);
                }
                None => return Err(Torn),
            },
            Some('`') => return Ok(true),
            Some('$') => match chars.peek() {
                Some('(' | '{' | '[') => return Ok(true),
                Some(&next) if starts_parameter(next) => *dynamic = true,
                _ => text.push(b'$'),
            },
            Some(c) => push(text, c),
            None => return Err(Torn),
        }
    }
}

/// Reads the rest of `$'…'`.
fn ansi_c(chars: &mut Peekable<Chars<'_>>, text: &mut Vec<u8>) -> Result<(), Torn> {
    // bash cuts the quoted part at a NUL but still reads on to the closing quote.
    let mut cut = None;
    loop {
        match chars.next() {
            Some('\'') => {
                if let Some(length) = cut {
                    text.truncate(length);
                }
                return Ok(());
            }
            Some('\\') => {
                let start = text.len();
                ansi_c_escape(chars, text)?;
                if text.get(start) == Some(&0) && cut.is_none() {
                    cut = Some(start);
                }
            }
            Some(c) => push(text, c),
            None => return Err(Torn),
        }
    }
}

fn ansi_c_escape(chars: &mut Peekable<Chars<'_>>, text: &mut Vec<u8>) -> Result<(), Torn> {
    let Some(c) = chars.next() else { return Err(Torn) };
    match c {
        'n' => text.push(b'\n'),
        't' => text.push(b'\t'),
        'r' => text.push(b'\r'),
        'a' => text.push(7),
        'b' => text.push(8),
        'e' | 'E' => text.push(27),
        'f' => text.push(12),
        'v' => text.push(11),
        '\\' | '\'' | '"' | '?' => push(text, c),
        'c' => {
            let control = chars.next().ok_or(Torn)?;
            text.push(u8::try_from(control).unwrap_or(b'?') & 0x1f);
        }
        'x' => match number(chars, 16, 2) {
            Some(byte) => text.push(u8::try_from(byte & 0xff).unwrap_or_default()),
            None => text.extend_from_slice(b"\\x"),
        },
        'u' | 'U' => match number(chars, 16, if c == 'u' { 4 } else { 8 }) {
            Some(code) => push(text, char::from_u32(code).unwrap_or('\u{fffd}')),
            None => {
                text.push(b'\\');
                push(text, c);
            }
        },
        '0'..='7' => {
            let first = c.to_digit(8).unwrap_or_default();
            let mut value = first;
            for _ in 0..2 {
                let Some(digit) = chars.peek().and_then(|d| d.to_digit(8)) else { break };
                chars.next();
                value = value * 8 + digit;
            }
            text.push(u8::try_from(value & 0xff).unwrap_or_default());
        }
        other => {
            text.push(b'\\');
            push(text, other);
        }
    }
    Ok(())
}

fn number(chars: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Option<u32> {
    let mut value: Option<u32> = None;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|d| d.to_digit(radix)) else { break };
        chars.next();
        value = Some(value.unwrap_or_default().wrapping_mul(radix).wrapping_add(digit));
    }
    value
}
