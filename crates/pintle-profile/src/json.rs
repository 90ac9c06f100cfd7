//! Reads JSON with comments, with the place of everything in it. `jsonc-parser` reads it leniently; what strict JSON does not have
//! is reported, and the rest of the file is checked as it was meant.

use super::AGENT_FILE;
use super::document::{Field, Kind, Node, Parsed};
use super::report::{Problem, ProfileErrors};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{ParseStringErrorKind, Scanner, ScannerOptions, parse_to_ast};
use std::ops::Range;

const MAX_DEPTH: usize = 64;
/// More entries than a person writes; checking them would take longer than a person waits.
const MAX_ENTRIES: usize = 256;
/// Each repair reads the file once more, and a person makes no more of these slips.
const MOST_REPAIRS: usize = 16;

/// What other languages write, and JSON: of the same length, so that every place stays.
const MEANT: [(&str, &str); 5] =
    [(";", ","), ("=", ":"), ("True", "true"), ("False", "false"), ("None", "null")];

/// Parses strict JSON; only comments are allowed on top, so that a profile can explain itself.
pub(crate) fn parse(source: &str) -> Parsed {
    let (mut text, mut problems) = (source.to_owned(), Vec::new());
    if source.starts_with('\u{feff}') {
        text.replace_range(..3, "   ");
        let help = "save it as UTF-8 without one (in editors: `UTF-8`, not `UTF-8 with BOM`)";
        let message = "the file begins with a byte order mark";
        problems.push(Problem::at(0..3, message, "JSON has none", help));
    }
    for attempt in 0..=MOST_REPAIRS {
        let error = match parse_to_ast(&text, &Default::default(), &Default::default()) {
            Ok(read) => {
                let empty = || Problem::at(0..0, "the file is empty", "", "write at least `{}`");
                let document = read.value.ok_or_else(empty).and_then(|value| node(&value, 0));
                return match document {
                    Ok(document) => {
                        problems.extend(slips(&text).into_iter().map(|(slip, _)| slip));
                        Parsed { document: Some(document), problems }
                    }
                    Err(problem) => Parsed { document: None, problems: vec![problem] },
                };
            }
            Err(error) => error,
        };
        let problem = problem_of(&text, &error);
        let repair = repair(&text, &error, &problem.span).filter(|_| attempt < MOST_REPAIRS);
        if let Some((span, meant)) = repair {
            text.replace_range(span, &meant);
            problems.push(problem);
            continue;
        }
        let mut derailed = false;
        for (slip, derails) in slips(&text) {
            let gap = text.get(slip.span.end..problem.span.start).unwrap_or_default();
            let is_same = slip.span.is_empty() && gap.trim().is_empty();
            if !derailed && !is_same && slip.span.start < problem.span.start {
                problems.push(slip);
                derailed = derails;
            }
        }
        problems.extend((!derailed).then_some(problem));
        let help = "the rest of the file was not checked: fix this first";
        let last = problems.pop().map(|last| last.help(help));
        problems.extend(last);
        break;
    }
    Parsed { document: None, problems }
}

/// The value of a string in JSON with comments, as agent.json is read.
///
/// # Errors
/// With every slip in the writing of it, at once.
pub fn read_json(source: &str) -> Result<serde_json::Value, ProfileErrors> {
    let Parsed { document, problems } = parse(source);
    let mut errors = ProfileErrors::default();
    errors.add(AGENT_FILE, source, problems);
    match document {
        Some(document) if errors.is_empty() => Ok(document.to_json()),
        _ => Err(errors),
    }
}

fn node(value: &Value<'_>, depth: usize) -> Result<Node, Problem> {
    let place = value.range();
    let head = place.start..place.start.saturating_add(1);
    if depth > MAX_DEPTH {
        return Err(too_deep(head));
    }
    let inner = depth.saturating_add(1);
    let (kind, entries) = match value {
        Value::NullKeyword(_) => (Kind::Null, 0),
        Value::BooleanLit(it) => (Kind::Bool(it.value), 0),
        // A number that JSON does not have is a slip of its own, and 1 fits nearly everywhere.
        Value::NumberLit(it) if is_number(it.value) => (Kind::Number(it.value.to_owned()), 0),
        Value::NumberLit(_) => (Kind::Number("1".to_owned()), 0),
        Value::StringLit(it) => (Kind::Text(it.value.clone().into_owned()), 0),
        Value::Array(list) => {
            let items = list.elements.iter().map(|item| node(item, inner));
            (Kind::List(items.collect::<Result<_, _>>()?), list.elements.len())
        }
        Value::Object(object) => {
            let field = |it: &jsonc_parser::ast::ObjectProp<'_>| {
                let name = it.name.range();
                let key = it.name.as_str().to_owned();
                let value = node(&it.value, inner)?;
                Ok(Field { key, key_span: name.start..name.end, value })
            };
            let fields = object.properties.iter().map(field);
            (Kind::Object(fields.collect::<Result<_, _>>()?), object.properties.len())
        }
    };
    if entries > MAX_ENTRIES {
        let message = format!("{entries} entries, and at most {MAX_ENTRIES} are read");
        return Err(Problem::at(
            head,
            message,
            "",
            "a profile is a page of text: move data elsewhere",
        ));
    }
    Ok(Node { span: place.start..place.end, kind })
}

fn too_deep(span: Range<usize>) -> Problem {
    let message = format!("nested more than {MAX_DEPTH} deep");
    Problem::at(span, message, "", "no field of a profile nests like this")
}

fn not_json(span: Range<usize>, what: &str, label: &str, help: &str) -> Problem {
    Problem::at(span, format!("this is not JSON: {what}"), label, help)
}

/// What the lenient parser reads and strict JSON does not have; and whether what follows may be read otherwise than it was meant.
fn slips(text: &str) -> Vec<(Problem, bool)> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let (mut slips, mut before, mut end) = (Vec::new(), (None, 0..0), 0_usize);
    while let Ok(Some(token)) = scanner.scan() {
        let span = scanner.token_start()..scanner.token_end();
        slips.extend(odd_space(text, end..span.start));
        end = span.end;
        if matches!(token, Token::CommentLine(_) | Token::CommentBlock(_)) {
            continue;
        }
        let adjoins = before.1.end == span.start;
        let pair = before.1.start..span.end;
        let slip = match (&before.0, &token) {
            // `30m`, `007`
            (Some(Token::Number(_)), Token::Number(_) | Token::Word(_)) if adjoins => {
                Some((bad_number(text, pair), true))
            }
            (Some(Token::Comma), Token::CloseBrace | Token::CloseBracket) => {
                let comma = before.1.clone();
                Some((not_json(comma, "trailing comma", "one too many", "remove it"), false))
            }
            (Some(Token::Colon | Token::String(_)) | None, Token::Colon) => None,
            (Some(_), Token::Colon) => {
                Some((unquoted(text, before.1.clone(), "this name has no quotes"), false))
            }
            (Some(left), right) if ends_a_value(left) && begins_a_value(right) => {
                let (place, help) = (before.1.end..before.1.end, "write a `,` between two entries");
                Some((not_json(place, "a comma is missing here", "expected `,`", help), false))
            }
            _ => None,
        };
        slips.extend(slip);
        slips.extend(match &token {
            Token::String(_) => bad_string(text, span.clone()),
            Token::Number(digits) if !is_number(digits) => {
                Some((bad_number(text, span.clone()), false))
            }
            _ => None,
        });
        before = (Some(token), span);
    }
    slips.extend(odd_space(text, end..text.len()));
    slips
}

fn ends_a_value(token: &Token<'_>) -> bool {
    matches!(token, Token::CloseBrace | Token::CloseBracket) || is_plain(token)
}

fn begins_a_value(token: &Token<'_>) -> bool {
    matches!(token, Token::OpenBrace | Token::OpenBracket) || is_plain(token)
}

fn is_plain(token: &Token<'_>) -> bool {
    use Token::{Boolean, Null, Number, String, Word};
    matches!(token, String(_) | Word(_) | Number(_) | Boolean(_) | Null)
}

fn odd_space(text: &str, gap: Range<usize>) -> Option<(Problem, bool)> {
    let is_odd = |c: char| c.is_whitespace() && !" \t\r\n".contains(c);
    let (at, c) = text.get(gap.clone())?.char_indices().find(|(_, c)| is_odd(*c))?;
    let start = gap.start.saturating_add(at);
    let what = format!("not an ordinary space: {}", c.escape_unicode());
    let span = start..start.saturating_add(c.len_utf8());
    Some((not_json(span, &what, "", "write an ordinary space, or remove it"), false))
}

fn bad_string(text: &str, span: Range<usize>) -> Option<(Problem, bool)> {
    let written = text.get(span.clone())?;
    if written.starts_with('\'') {
        return Some((unquoted(text, span, "this string is in single quotes"), false));
    }
    serde_json::from_str::<String>(written).err()?;
    let Some(at) = written.find(|c: char| c < ' ') else {
        let help = "a backslash itself is written `\\\\`, and a character by its number `\\u00e9`";
        return Some((not_json(span, "an escape that JSON does not have", "", help), false));
    };
    let (what, help) = match written.as_bytes().get(at) {
        Some(b'\n' | b'\r') => {
            let help =
                "a string ends with a `\"` in the same line; write `\\n` for a line break in it";
            let head = span.start..span.start.saturating_add(1);
            let label = "this one is not closed";
            return Some((not_json(head, "a string goes over several lines", label, help), true));
        }
        Some(b'\t') => ("a tab inside a string", "write `\\t` for a tab"),
        _ => ("a control character inside a string", "remove it, or write it as `\\u00…`"),
    };
    let start = span.start.saturating_add(at);
    let span = start..start.saturating_add(1);
    Some((not_json(span, what, "JSON allows none here", help), false))
}

fn is_number(written: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(written).is_ok()
}

fn bad_number(text: &str, span: Range<usize>) -> Problem {
    let what = format!("`{}` is not a number", text.get(span.clone()).unwrap_or_default());
    let help = "write it in decimal digits, like 10 or 0.5; put other texts in quotes";
    not_json(span, &what, "expected a number", help)
}

/// A text that does not stand in double quotes.
fn unquoted(text: &str, span: Range<usize>, what: &str) -> Problem {
    const SHORT: usize = 60;
    let inside = text.get(span.clone()).unwrap_or_default().trim_matches('\'');
    let help = match serde_json::to_string(inside) {
        Ok(quoted) if quoted.len() <= SHORT => format!("write {quoted}"),
        _ => "write it in straight quotes: \"like this\"".to_owned(),
    };
    not_json(span, what, "expected double quotes", &help)
}

/// What stopped the parser.
fn problem_of(text: &str, error: &ParseError) -> Problem {
    use ParseErrorKind as Kind;
    let start = error.range().start;
    let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let is_word = |c: char| c.is_alphanumeric() || "-_$".contains(c);
    let word = rest.split(|c| !is_word(c)).next().unwrap_or_default();
    let sign = rest.chars().next().map(String::from).unwrap_or_default();
    let (head, here) = (start..start.saturating_add(sign.len()), start..start);
    if !before.contains(['{', '[']) && !sign.starts_with(['{', '[', '/', '#']) {
        let help = "the file is JSON: it begins with `{` and ends with `}`";
        let span = start..start.saturating_add(word.len().max(sign.len()));
        return not_json(span, "an object is missing", "expected `{`", help);
    }
    let has_colon = before.trim_end().ends_with(':');
    let no_value = || {
        let help = "write one: a \"text\", a number, true, false, a list [ … ] or an object { … }";
        not_json(here.clone(), "a value is missing here", "expected a value", help)
    };
    match error.kind() {
        Kind::ExpectedObjectValue => no_value(),
        Kind::UnexpectedCloseBrace | Kind::UnexpectedComma if has_colon => no_value(),
        Kind::UnexpectedComma => not_json(head, "unexpected comma", "one too many", "remove it"),
        Kind::UnexpectedTokenInObject if sign == "," => {
            not_json(head, "unexpected comma", "one too many", "remove it")
        }
        Kind::UnexpectedTokenInObject if "{[".contains(&sign) => {
            let help = "each entry of an object has a name in quotes: { \"name\": … }";
            not_json(head, "a value without a name", "expected a name", help)
        }
        Kind::UnexpectedColon | Kind::UnexpectedTokenInObject if sign == ":" => {
            let help = "one `:` stands between a name and its value, in an object { … }";
            not_json(head, "unexpected colon", "one too many", help)
        }
        Kind::UnexpectedCloseBrace
        | Kind::UnexpectedCloseBracket
        | Kind::UnexpectedTokenInObject => {
            let close = if sign == "}" { "]" } else { "}" };
            let (what, label) =
                (format!("`{sign}` closes nothing here"), format!("expected `{close}`"));
            not_json(head, &what, &label, &format!("write `{close}`"))
        }
        Kind::ExpectedColonAfterObjectKey => {
            let end = before.trim_end().len();
            let help = "write a `:` between a name and its value";
            not_json(end..end, "a colon is missing here", "expected `:`", help)
        }
        Kind::UnterminatedObject | Kind::UnterminatedArray => {
            let close = if sign == "{" { '}' } else { ']' };
            let what = format!("a `{close}` is missing");
            not_json(head, &what, "this one is not closed", &format!("write a `{close}`"))
        }
        Kind::UnterminatedCommentBlock => {
            let help = "a comment that begins with `/*` ends with `*/`";
            not_json(head, "unterminated comment", "this one is not closed", help)
        }
        Kind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            let help = "a `\"` is missing: a string ends with one, in the same line";
            not_json(head, "unterminated string", "this one is not closed", help)
        }
        Kind::String(_) => {
            let help =
                "a backslash itself is written `\\\\`, and a character by its number `\\u00e9`";
            not_json(head, "an escape that JSON does not have", "", help)
        }
        Kind::MultipleRootJsonValues => {
            let help =
                "the file is one object { … }: remove the rest, or the extra bracket before it";
            not_json(head, "unexpected text after the end of the object", "", help)
        }
        Kind::NestingDepthExceeded => too_deep(head),
        Kind::UnexpectedWord | Kind::UnexpectedToken if !word.is_empty() => match MEANT
            .iter()
            .find(|(foreign, _)| *foreign == word)
        {
            Some((_, meant)) => {
                let span = start..start.saturating_add(word.len());
                let what = format!("`{word}` is not a JSON value");
                let help = match *meant {
                    "null" => "leave the field out to say nothing".to_owned(),
                    meant => format!("write {meant}"),
                };
                not_json(span, &what, "expected true, false or a value", &help)
            }
            None => {
                unquoted(text, start..start.saturating_add(word.len()), "this string has no quotes")
            }
        },
        kind => odd_sign(text, start, kind),
    }
}

/// A sign that begins nothing in JSON.
fn odd_sign(text: &str, at: usize, kind: &ParseErrorKind) -> Problem {
    let rest = text.get(at..).unwrap_or_default();
    let Some(c) = rest.chars().next() else {
        return not_json(at..at, "the file ends too early", "", "complete it");
    };
    let span = at..at.saturating_add(c.len_utf8());
    if c == '#' {
        let line = rest.lines().next().unwrap_or_default().len();
        let help = "comments are written `// …` or `/* … */`";
        return not_json(at..at.saturating_add(line), "a comment that begins with `#`", "", help);
    }
    let what = format!("`{c}` is unexpected here");
    if let Some((_, meant)) = MEANT.iter().find(|(foreign, _)| foreign.starts_with(c)) {
        return not_json(span, &what, &format!("expected `{meant}`"), &format!("write `{meant}`"));
    }
    let help = "write a text in straight double quotes: \"like this\"";
    match "“”„«»‘’‚".contains(c) {
        true => not_json(span, "a curly quote", "expected double quotes", help),
        false => not_json(span, &what, &kind.to_string().to_lowercase(), help),
    }
}

/// What to read on with: the text that a slip surely means, in the same place.
fn repair(text: &str, error: &ParseError, slip: &Range<usize>) -> Option<(Range<usize>, String)> {
    use ParseErrorKind::{UnterminatedArray, UnterminatedObject};
    let written = text.get(slip.clone())?;
    match error.kind() {
        UnterminatedObject => return Some((text.len()..text.len(), "}".to_owned())),
        UnterminatedArray => return Some((text.len()..text.len(), "]".to_owned())),
        _ if written.starts_with('#') => return Some((slip.clone(), " ".repeat(slip.len()))),
        _ => {}
    }
    let (_, meant) = MEANT.iter().find(|(foreign, _)| *foreign == written)?;
    Some((slip.clone(), (*meant).to_owned()))
}
