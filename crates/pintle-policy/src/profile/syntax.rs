//! What is wrong with the writing of a JSON file: each slip with its place and how to write it.

use super::report::Problem;
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::{Token, TokenAndRange};
use std::ops::Range;

/// Every slip that leaves no doubt what was meant: the rest of the file can be checked all the same.
pub(super) fn slips(tokens: &[TokenAndRange<'_>], source: &str) -> Vec<Problem> {
    let mut slips = Vec::new();
    let nexts = tokens.iter().skip(1).map(Some).chain([None]);
    for (token, next) in tokens.iter().zip(nexts) {
        let span = span(token);
        let written = source.get(span.clone()).unwrap_or_default();
        match (&token.token, next.map(|next| &next.token)) {
            (Token::Comma, Some(Token::CloseBrace | Token::CloseBracket)) => slips.push(
                not_json(span, "a comma with nothing behind it")
                    .label("one too many")
                    .help("remove it"),
            ),
            (Token::String(text), _) if written.starts_with('\'') => {
                slips.push(in_quotes(span.clone(), "this text stands in single quotes", text));
            }
            (Token::String(_), _) if written.contains(is_raw) => {
                let at = written.find(is_raw).unwrap_or_default();
                let here = span.start.saturating_add(at);
                let (what, how) = match written.get(at..).and_then(|rest| rest.chars().next()) {
                    Some('\n' | '\r') => {
                        ("a text goes on in the next line", "write `\\n` for a line break")
                    }
                    Some('\t') => ("a tab inside a text", "write `\\t` for a tab"),
                    _ => {
                        ("a control character inside a text", "remove it, or write it as `\\u00…`")
                    }
                };
                let one = here..here.saturating_add(1);
                slips.push(not_json(one, what).label("JSON allows none here").help(how));
            }
            (Token::Word(text), Some(Token::Colon)) => {
                slips.push(in_quotes(span.clone(), "this name stands without quotes", text));
            }
            (Token::Number(number), _)
                if number.starts_with('+') || number.contains(['x', 'X']) =>
            {
                slips.push(
                    not_json(span.clone(), format!("`{number}` is not how JSON writes a number"))
                        .label("expected digits")
                        .help("write it in digits, without a plus"),
                );
            }
            _ => {}
        }
        if ends_a_value(&token.token) && next.is_some_and(|next| begins_a_value(&next.token)) {
            let end = span_end(token);
            slips.push(
                not_json(end, "a comma is missing here")
                    .label("expected `,`")
                    .help("write a `,` between two entries"),
            );
        }
    }
    slips
}

/// Whether JSON allows it in a text only as an escape.
fn is_raw(character: char) -> bool {
    character < ' '
}

/// What cannot be read at all; of the file nothing else is known.
pub(super) fn fatal(error: &ParseError, source: &str) -> Problem {
    let range = error.range();
    let (start, end) = (range.start.min(source.len()), range.end.min(source.len()));
    let here = source.get(start..).unwrap_or_default();
    let nothing_before = source.get(..start).is_some_and(|before| before.trim().is_empty());
    let said = lower_first(&error.kind().to_string());
    let help = match here.chars().next() {
        _ if nothing_before && !here.starts_with('{') => "the file is JSON: it begins with `{`",
        Some('#') => "comments are written `// …` or `/* … */`",
        Some('“' | '”' | '„' | '‘' | '’' | '«' | '»') => {
            "texts stand in straight quotes: \"like this\""
        }
        Some('.') => "a number begins with a digit: 0.5",
        _ if said.contains("more than one") => {
            "the file is one object { … }: remove what stands behind it"
        }
        _ if said.contains("is not a valid") => {
            "write the character itself: `\\ud800` to `\\udfff` are halves, and each needs its other half"
        }
        _ if said.contains("escape") => "a backslash in a text is written `\\\\`",
        _ if said.contains("hex digits") => {
            "`\\u` is followed by four digits, as in `\\u00e9`; a backslash itself is written `\\\\`"
        }
        _ if said.contains("string literal") => {
            "a `\"` is missing, here or further up: each text ends with one"
        }
        _ if said.contains("comment") => "a comment that begins with `/*` ends with `*/`",
        _ if said.contains("nesting") => "no field nests like this: is a `}` or `]` missing?",
        _ if said.contains("in object") || said.contains("for object") => {
            "each entry of an object has a name in quotes: { \"name\": … }"
        }
        _ if said.starts_with("unterminated") => {
            "a `}` or `]` is missing: each `{` needs its `}`, each `[` its `]`"
        }
        _ if said.contains("comma") => "a `,` is missing here, or a `}` or `]`",
        _ => "a value is a \"text\", a number, true, false, a list [ … ] or an object { … }",
    };
    // What has no end is shown where it begins.
    let (end, label) = match said.starts_with("unterminated") {
        true => (start.saturating_add(1).min(source.len()), "this one is not closed"),
        false => (end.max(start), ""),
    };
    Problem::new(start..end, format!("this is not JSON: {said}"))
        .label(label)
        .help(help)
        .help("the rest of the file was not checked: fix this first")
}

/// Every number that begins with a zero too many, outside of texts and comments, and the file without those zeros, where
/// everything else stays in its place. To the parser they are two numbers.
pub(super) fn zeros(source: &str) -> Option<(Vec<Problem>, String)> {
    let (mut found, mut mended) = (Vec::new(), String::new());
    let mut at = 0_usize;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
        let word = rest.split(|c| !is_word(c)).next().unwrap_or_default();
        let first = rest.chars().next().unwrap_or_default();
        let length = match first {
            '"' | '\'' => text_length(rest, first),
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => {
                rest.find("*/").map_or(rest.len(), |end| end.saturating_add(2))
            }
            _ => word.len().max(first.len_utf8()),
        };
        let end = at.saturating_add(length);
        match without_zeros(word) {
            Some(meant) => {
                mended.push_str(&format!("{meant:>length$}"));
                let problem = not_json(at..end, format!("`{word}` begins with a zero"));
                found.push(
                    problem.label("expected a number without").help(format!("write {meant}")),
                );
            }
            None => mended.push_str(source.get(at..end).unwrap_or_default()),
        }
        at = end;
    }
    (!found.is_empty()).then_some((found, mended))
}

/// The number without the zeros that it should not begin with, if it does.
fn without_zeros(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word),
    };
    let behind = digits.strip_prefix('0').filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let rest = behind?.trim_start_matches('0');
    let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    Some(format!("{sign}{zero}{rest}"))
}

/// How long the text in quotes is that this begins with.
fn text_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| match (*c, escaped) {
        (c, false) if c == quote => true,
        (c, before) => {
            escaped = c == '\\' && !before;
            false
        }
    });
    end.map_or(rest.len(), |(at, _)| at.saturating_add(1))
}

fn not_json(span: Range<usize>, what: impl std::fmt::Display) -> Problem {
    Problem::new(span, format!("this is not JSON: {what}"))
}

fn in_quotes(span: Range<usize>, what: &str, text: &str) -> Problem {
    not_json(span, what).label("expected double quotes").help(format!("write \"{text}\""))
}

fn span(token: &TokenAndRange<'_>) -> Range<usize> {
    token.range.start..token.range.end
}

fn span_end(token: &TokenAndRange<'_>) -> Range<usize> {
    token.range.end..token.range.end
}

fn ends_a_value(token: &Token<'_>) -> bool {
    use Token::{Boolean, CloseBrace, CloseBracket, Null, Number, String};
    matches!(token, Boolean(_) | CloseBrace | CloseBracket | Null | Number(_) | String(_))
}

fn begins_a_value(token: &Token<'_>) -> bool {
    use Token::{Boolean, Null, Number, OpenBrace, OpenBracket, String, Word};
    matches!(token, Boolean(_) | Null | Number(_) | OpenBrace | OpenBracket | String(_) | Word(_))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
