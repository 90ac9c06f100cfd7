//! Where in a script something begins and ends: what stands between brackets, the parts of a list, the end of a statement.

use super::tokens::{Kind, Token, Tongue};
use std::ops::Range;

/// What is asked for; nothing where it is out of bounds.
pub(super) fn part(tokens: &[Token], range: Range<usize>) -> &[Token] {
    tokens.get(range).unwrap_or_default()
}

/// The place of the sign that closes the one at `open`.
pub(super) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => depth = depth.saturating_add(1),
            Kind::Sign(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The place of the sign that opens what is closed at `close`.
pub(super) fn opening(tokens: &[Token], close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in part(tokens, 0..close.saturating_add(1)).iter().enumerate().rev() {
        match token.kind {
            Kind::Sign(')' | ']' | '}') => depth = depth.saturating_add(1),
            Kind::Sign('(' | '[' | '{') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The tokens that stand in no bracket of these, by their places.
pub(super) fn outermost(tokens: &[Token]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => {
                if depth == 0 {
                    found.push(at);
                }
                depth = depth.saturating_add(1);
            }
            Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ if depth == 0 => found.push(at),
            _ => {}
        }
    }
    found
}

/// The parts between signs that stand in no bracket.
pub(super) fn split(tokens: &[Token], is_between: impl Fn(usize) -> bool) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in outermost(tokens) {
        if is_between(at) {
            parts.push(part(tokens, start..at));
            start = at.saturating_add(1);
        }
    }
    parts.push(part(tokens, start..tokens.len()));
    parts
}

/// What a call is given.
pub(super) fn arguments(tokens: &[Token]) -> Vec<&[Token]> {
    let mut parts = split(tokens, |at| tokens.get(at).is_some_and(|token| token.is(',')));
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    parts
}

/// Where the expression ends that begins at `start`.
pub(super) fn expression(tongue: Tongue, tokens: &[Token], start: usize) -> Range<usize> {
    let mut depth = 0_usize;
    let mut before: Option<&Token> = None;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        let is_new_line = before.is_some_and(|before| token.line > before.line);
        let goes_on = match tongue {
            Tongue::Python => before.is_some_and(|before| before.is('\\')),
            _ => {
                let joins = |token: &Token, signs: &str| matches!(token.kind, Kind::Sign(c) if signs.contains(c));
                joins(token, ".+?:|&") || before.is_some_and(|before| joins(before, "=+,?:|&(.[{>"))
            }
        };
        if depth == 0 && is_new_line && !goes_on {
            return start..at;
        }
        match token.kind {
            Kind::Sign('(' | '[' | '{') => depth = depth.saturating_add(1),
            Kind::Sign(')' | ']' | '}') if depth == 0 => return start..at,
            Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Kind::Sign(';') if depth == 0 => return start..at,
            Kind::Sign(',') if depth == 0 && tongue != Tongue::Python => return start..at,
            _ => {}
        }
        before = Some(token);
    }
    start..tokens.len()
}

/// Where what a method is called on begins, if its dot is at `dot`.
pub(super) fn receiver(tokens: &[Token], dot: usize) -> usize {
    let mut at = dot;
    loop {
        let Some(last) = at.checked_sub(1) else { return at };
        let start = match tokens.get(last).map(|token| &token.kind) {
            Some(Kind::Name(_) | Kind::Text(_)) => last,
            Some(Kind::Sign(')' | ']')) => match opening(tokens, last) {
                Some(open) => open,
                None => return at,
            },
            _ => return at,
        };
        at = start;
        let before = at.checked_sub(1).and_then(|it| tokens.get(it));
        let is_called =
            tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Sign('(' | '[')))
                && before.is_some_and(|it| {
                    matches!(it.kind, Kind::Name(_) | Kind::Sign(')' | ']'))
                        && !["in", "of", "return", "await", "new", "if", "and", "or"]
                            .iter()
                            .any(|name| it.is_name(name))
                });
        match before {
            _ if is_called => {}
            Some(token) if token.is('.') || token.is('?') => {
                at = at.saturating_sub(1);
                let double = at.checked_sub(1).and_then(|it| tokens.get(it));
                if double.is_some_and(|token| token.is('?')) {
                    at = at.saturating_sub(1);
                }
            }
            _ => return at,
        }
    }
}
