//! Brackets that are missing, put where they belong if the file leaves no doubt about it.

use super::report::{Problem, place};
use super::syntax::{not_checked, not_json};
use super::tokens::{Lexeme, Shape, Token};

/// Nobody forgets more of them.
const MOST_MISSING: usize = 16;

/// The words with every bracket closed, and what had to be added for it.
///
/// # Errors
/// When nobody can say where the missing one belongs.
pub(super) fn balanced(
    tokens: Vec<Lexeme>,
    source: &str,
) -> Result<(Vec<Lexeme>, Vec<Problem>), Problem> {
    if is_balanced(&tokens) {
        return Ok((tokens, Vec::new()));
    }
    let swapped = || of_the_right_kind(&tokens).filter(|(tokens, _)| is_balanced(tokens));
    match closed(&tokens, source) {
        Ok(closed) if is_balanced(&closed.0) => Ok(closed),
        Ok((closed, slips)) => Ok(swapped().unwrap_or((closed, slips))),
        Err(doubt) => swapped().ok_or(doubt),
    }
}

/// Whether one value stands there, and every bracket in it closes its like.
fn is_balanced(tokens: &[Lexeme]) -> bool {
    let mut open = Vec::new();
    for (index, lexeme) in tokens.iter().enumerate() {
        match &lexeme.token {
            Token::Open(shape) => open.push(*shape),
            Token::Close(shape) if open.pop() != Some(*shape) => return false,
            Token::Close(_) if open.is_empty() && index.saturating_add(1) < tokens.len() => {
                return false;
            }
            _ => {}
        }
    }
    open.is_empty()
}

struct Open {
    shape: Shape,
    at: usize,
    line: usize,
    indent: usize,
}

/// Adds what is missing: before a bracket that closes something further out, before a line that is not set further in than the
/// one that opened, and at the end.
fn closed(tokens: &[Lexeme], source: &str) -> Result<(Vec<Lexeme>, Vec<Problem>), Problem> {
    let mut found: Vec<Lexeme> = Vec::new();
    let mut slips = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let (mut line, mut line_start, mut at) = (1_usize, 0_usize, 0_usize);
    let mut last_line = 0;
    let mut add = |one: Open, found: &mut Vec<Lexeme>| {
        let end = found.last().map_or(one.at, |last| last.span.end);
        let problem = missing(&one, place(source, end).0);
        if slips.len() >= MOST_MISSING {
            return Err(not_checked(problem));
        }
        slips.push(problem);
        found.push(Lexeme { token: Token::Close(one.shape), span: end..end });
        Ok(())
    };
    for lexeme in tokens {
        for (index, _) in source.get(at..lexeme.span.start).unwrap_or_default().match_indices('\n')
        {
            line = line.saturating_add(1);
            line_start = at.saturating_add(index).saturating_add(1);
        }
        at = lexeme.span.start;
        let text = source.get(line_start..).unwrap_or_default();
        let indent = text.len().saturating_sub(text.trim_start_matches([' ', '\t']).len());
        let is_first = std::mem::replace(&mut last_line, line) != line;
        let closes = matches!(lexeme.token, Token::Close(_));
        // The outermost is closed by nothing but its own.
        while open.len() > 1
            && let Some(one) = open.pop_if(|one| {
                let further_out = if closes { one.indent > indent } else { one.indent >= indent };
                is_first && one.line < line && further_out
            })
        {
            add(one, &mut found)?;
        }
        match &lexeme.token {
            Token::Open(shape) => open.push(Open { shape: *shape, at, line, indent }),
            Token::Close(shape) => {
                let near = open.iter().rev().take(MOST_MISSING);
                if near.into_iter().any(|one| one.shape == *shape) {
                    while let Some(one) = open.pop_if(|one| one.shape != *shape) {
                        add(one, &mut found)?;
                    }
                    open.pop();
                }
            }
            _ => {}
        }
        found.push(lexeme.clone());
    }
    while let Some(one) = open.pop() {
        add(one, &mut found)?;
    }
    Ok((found, slips))
}

/// `[1, 2}`: as many brackets as there should be, and one of the wrong kind.
fn of_the_right_kind(tokens: &[Lexeme]) -> Option<(Vec<Lexeme>, Vec<Problem>)> {
    let (mut found, mut slips, mut open) = (tokens.to_vec(), Vec::new(), Vec::new());
    for lexeme in &mut found {
        match &lexeme.token {
            Token::Open(shape) => open.push(*shape),
            Token::Close(written) => {
                let meant = open.pop()?;
                if meant != *written {
                    let (wrong, right) = (written.close(), meant.close());
                    let problem =
                        not_json(lexeme.span.clone(), format!("`{wrong}` closes nothing here"));
                    let problem = problem.label(format!("expected `{right}`"));
                    slips.push(problem.help(format!("write `{right}`")));
                    lexeme.token = Token::Close(meant);
                }
            }
            _ => {}
        }
    }
    Some((found, slips))
}

fn missing(one: &Open, line: usize) -> Problem {
    let close = one.shape.close();
    not_json(one.at..one.at.saturating_add(1), format!("a `{close}` is missing"))
        .label("this one is not closed")
        .help(format!("write a `{close}`, probably at the end of line {line}"))
}
