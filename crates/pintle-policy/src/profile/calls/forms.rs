//! Forms of expressions: what changes nothing, and what is one thing or another.

use super::spans::{arguments, closing, part, split};
use super::tokens::{Token, Tongue};

/// Without what changes nothing: `await x`, `(x)`, `*x`.
pub(super) fn bare(tokens: &[Token]) -> &[Token] {
    match tokens {
        [first, rest @ ..]
            if ["await", "new", "return", "my", "yield"].iter().any(|it| first.is_name(it))
                || ['*', '.', '$', '@', '\\'].iter().any(|it| first.is(*it)) =>
        {
            bare(rest)
        }
        [first, inner @ .., _]
            if first.is('(')
                && closing(tokens, 0) == Some(tokens.len().saturating_sub(1))
                && arguments(inner).len() == 1 =>
        {
            bare(inner)
        }
        _ => tokens,
    }
}

/// `a if x else b`, `a or b`, `x ? a : b`, `a || b`, `a, b`
pub(super) fn alternatives<'t>(
    tongue: Tongue,
    tokens: &'t [Token],
    outer: &[usize],
) -> Option<Vec<&'t [Token]>> {
    let token = |at: usize| tokens.get(at);
    let sign = |at: usize, c: char| token(at).is_some_and(|it| it.is(c));
    if outer.iter().any(|at| sign(*at, ',')) {
        return Some(arguments(tokens));
    }
    let find =
        |name: &str| outer.iter().copied().find(|at| token(*at).is_some_and(|it| it.is_name(name)));
    if tongue == Tongue::Python
        && let (Some(condition), Some(other)) = (find("if"), find("else"))
    {
        return Some(vec![
            part(tokens, 0..condition),
            part(tokens, other.saturating_add(1)..tokens.len()),
        ]);
    }
    let question = outer.iter().copied().find(|at| {
        sign(*at, '?')
            && !sign(at.saturating_add(1), '.')
            && !sign(at.saturating_add(1), '?')
            && !at.checked_sub(1).is_some_and(|it| sign(it, '?'))
    });
    if let Some(question) = question.filter(|_| tongue != Tongue::Python) {
        let colon = outer.iter().copied().find(|at| *at > question && sign(*at, ':'))?;
        return Some(vec![
            part(tokens, question.saturating_add(1)..colon),
            part(tokens, colon.saturating_add(1)..tokens.len()),
        ]);
    }
    let is_or = |at: usize| {
        token(at).is_some_and(|it| it.is_name("or"))
            || ((sign(at, '|') || sign(at, '?'))
                && tongue != Tongue::Python
                && !sign(at.saturating_add(1), '.'))
    };
    if outer.iter().any(|at| is_or(*at)) {
        return Some(split(tokens, is_or).into_iter().filter(|it| !it.is_empty()).collect());
    }
    None
}
