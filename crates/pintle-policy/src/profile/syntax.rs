//! The grammar of JSON, read to the end: each slip with its place and how to write it, and what was meant.

use super::brackets;
use super::document::{Field, Kind, Node, Parsed};
use super::report::Problem;
use super::tokens::{self, Lexeme, Shape, Token};
use std::ops::Range;

const MAX_DEPTH: usize = 64;
/// More entries than anybody writes; checking them would take longer than anybody waits.
const MAX_ENTRIES: usize = 256;

/// Parses strict JSON; only comments are allowed on top, so that a profile can explain itself. Where a slip leaves no doubt what
/// was meant, the file is read as it was meant, so that everything else in it can be told too.
pub(crate) fn parse(source: &str) -> Parsed {
    let lexed = tokens::read(source);
    let mut problems = lexed.slips;
    let fatal = |mut problems: Vec<Problem>, problem| {
        problems.push(problem);
        Parsed { document: None, problems }
    };
    if let Some(problem) = lexed.unreadable {
        return fatal(problems, problem);
    }
    let Some(first) = lexed.tokens.first() else {
        let empty = Problem::new(0..0, "the file is empty").help("write at least `{}`");
        return fatal(problems, empty);
    };
    let second = lexed.tokens.get(1).map(|second| &second.token);
    if !begins_a_value(&first.token) || second == Some(&Token::Colon) {
        // Of another language, most likely: its slips would be all of it.
        let begin = first.span.clone();
        let problem = not_json(begin, "an object is missing").label("expected `{`");
        let help = "the file is JSON: it begins with `{` and ends with `}`";
        return fatal(Vec::new(), not_checked(problem.help(help)));
    }
    let tokens = match brackets::balanced(lexed.tokens, source) {
        Ok((tokens, slips)) => {
            problems.extend(slips);
            tokens
        }
        Err(problem) => return fatal(problems, problem),
    };
    let mut parser = Parser { source, tokens: &tokens, at: 0, problems, too_much: None };
    let document = parser.value(0);
    if let (Some(behind), None) = (parser.peek_span(), &parser.too_much) {
        let problem = not_json(behind, "something stands behind the end of the file's object");
        let help = "the file is one object { … }: remove what stands behind it, or the bracket too many before it";
        parser.problems.push(not_checked(problem.help(help)));
    }
    if parser.problems.is_empty() && parser.too_much.is_none() {
        parser.problems.extend(refused(source, &lexed.comments));
    }
    match parser.too_much {
        Some(problem) => fatal(parser.problems, problem),
        None => Parsed { document, problems: parser.problems },
    }
}

/// What a parser that forgives nothing says of the file: reading on must never let anything pass.
fn refused(source: &str, comments: &[Range<usize>]) -> Option<Problem> {
    let mut plain = source.as_bytes().to_vec();
    for comment in comments {
        let inside = plain.get_mut(comment.clone())?.iter_mut();
        inside.filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    let error = serde_json::from_slice::<serde_json::Value>(&plain).err()?;
    let line = source.split_inclusive('\n').take(error.line().saturating_sub(1));
    let at = line.map(str::len).sum::<usize>().saturating_add(error.column());
    let at = source.floor_char_boundary(at.saturating_sub(1).min(source.len()));
    Some(not_json(at..at, error).help("write it as JSON has it"))
}

struct Parser<'s> {
    source: &'s str,
    tokens: &'s [Lexeme],
    at: usize,
    problems: Vec<Problem>,
    /// What ends the reading: no file of a person's is like that.
    too_much: Option<Problem>,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Option<&'s Token> {
        self.tokens.get(self.at).map(|lexeme| &lexeme.token)
    }

    fn peek_span(&self) -> Option<Range<usize>> {
        self.tokens.get(self.at).map(|lexeme| lexeme.span.clone())
    }

    fn behind(&self) -> Option<&'s Token> {
        self.tokens.get(self.at.saturating_add(1)).map(|lexeme| &lexeme.token)
    }

    fn take(&mut self) -> Option<&'s Lexeme> {
        let lexeme = self.tokens.get(self.at);
        self.at = self.at.saturating_add(1);
        lexeme
    }

    fn slip(&mut self, problem: Problem) {
        // What follows from where the reading stopped is none.
        if self.too_much.is_none() {
            self.problems.push(problem);
        }
    }

    /// Where the last word ends.
    fn here(&self) -> Range<usize> {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let end = last.map_or(0, |lexeme| lexeme.span.end);
        end..end
    }

    /// The value that begins here; none, and nothing taken, if none does.
    fn value(&mut self, depth: usize) -> Option<Node> {
        let lexeme = self.tokens.get(self.at).filter(|it| begins_a_value(&it.token))?;
        self.at = self.at.saturating_add(1);
        let span = lexeme.span.clone();
        let kind = match &lexeme.token {
            Token::Text(text) => Kind::Text(text.clone()),
            Token::Number(number) => Kind::Number(number.clone()),
            Token::Word(word) => return Some(self.bare(word, span)),
            Token::Open(shape) => return self.inside(*shape, span.start, depth),
            Token::Close(_) | Token::Comma | Token::Colon => return None,
        };
        Some(Node { span, kind })
    }

    fn inside(&mut self, shape: Shape, start: usize, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            let span = start..start.saturating_add(1);
            let problem = Problem::new(span, format!("nested more than {MAX_DEPTH} deep"));
            self.too_much = Some(problem.help("no field of a profile nests like this"));
            return None;
        }
        let deeper = depth.saturating_add(1);
        let (kind, entries) = match shape {
            Shape::Object => {
                let fields = self.fields(deeper);
                let entries = fields.len();
                (Kind::Object(fields), entries)
            }
            Shape::List => {
                let items = self.items(deeper);
                let entries = items.len();
                (Kind::List(items), entries)
            }
        };
        if entries > MAX_ENTRIES && self.too_much.is_none() {
            let span = start..start.saturating_add(1);
            let message = format!("{entries} entries, and at most {MAX_ENTRIES} are read");
            let problem = Problem::new(span, message);
            self.too_much = Some(problem.help("a profile is a page of text: move data elsewhere"));
        }
        Some(Node { span: start..self.here().end, kind })
    }

    /// `true`, `false`, `null`, and texts without quotes.
    fn bare(&mut self, word: &str, mut span: Range<usize>) -> Node {
        let kind = match word {
            "true" => Some(Kind::Bool(true)),
            "false" => Some(Kind::Bool(false)),
            "null" => Some(Kind::Null),
            _ => None,
        };
        if let Some(kind) = kind {
            return Node { span, kind };
        }
        let (kind, help) = match word.to_lowercase().as_str() {
            "true" => (Kind::Bool(true), "write true"),
            "false" => (Kind::Bool(false), "write false"),
            "null" | "none" | "nil" | "undefined" => {
                (Kind::Null, "leave the field out to say nothing")
            }
            _ => {
                while let (Some(Token::Word(_)), Some(next)) = (self.peek(), self.peek_span()) {
                    let between = self.source.get(span.end..next.start).unwrap_or_default();
                    if between.contains(['\n', '\r']) || self.behind() == Some(&Token::Colon) {
                        break;
                    }
                    span.end = next.end;
                    self.take();
                }
                let text = self.source.get(span.clone()).unwrap_or(word);
                let what = "this text stands without quotes";
                self.slip(tokens::without_quotes(span.clone(), what, text));
                return Node { kind: Kind::Text(text.to_owned()), span };
            }
        };
        let problem = not_json(span.clone(), format!("`{word}` is not a word that it knows"));
        self.slip(problem.label("expected true, false or a value").help(help));
        Node { span, kind }
    }

    fn fields(&mut self, depth: usize) -> Vec<Field> {
        let mut fields = Vec::new();
        while self.goes_on() {
            let Some((key, key_span)) = self.key() else {
                let span = self.peek_span().unwrap_or_else(|| self.here());
                let problem = not_json(span, "a value without a name").label("expected a name");
                let help = "each entry of an object has a name in quotes: { \"name\": … }";
                self.slip(problem.help(help));
                if self.peek() == Some(&Token::Colon) {
                    self.take();
                }
                drop(self.value(depth));
                self.between(Shape::Object, depth);
                continue;
            };
            self.colon();
            // A name where a value should be is the next one's.
            let is_next_name = self.behind() == Some(&Token::Colon);
            let value = if is_next_name { None } else { self.value(depth) };
            let value = value.unwrap_or_else(|| {
                let span = self.here();
                let problem = not_json(span.clone(), format!("`{key}` has no value"));
                let help =
                    "write one: a \"text\", a number, true, false, a list [ … ] or an object { … }";
                self.slip(problem.label("expected a value").help(help));
                Node { span, kind: Kind::Null }
            });
            fields.push(Field { key, key_span, value });
            self.between(Shape::Object, depth);
        }
        fields
    }

    fn items(&mut self, depth: usize) -> Vec<Node> {
        let mut items = Vec::new();
        while self.goes_on() {
            let named = self.behind() == Some(&Token::Colon) || self.peek() == Some(&Token::Colon);
            if named && let Some(span) = self.peek_span() {
                let problem = not_json(span, "a name in a list").label("a list has no names");
                self.slip(
                    problem.help("put { } around the name and its value, or remove the name"),
                );
                // What it names is an item at least.
                while self.peek() != Some(&Token::Colon) && self.take().is_some() {}
                self.take();
            }
            match self.value(depth) {
                Some(item) => items.push(item),
                None if !named => drop(self.take()),
                None => {}
            }
            self.between(Shape::List, depth);
        }
        items
    }

    /// Whether another entry begins here; else the closing bracket is taken.
    fn goes_on(&mut self) -> bool {
        loop {
            if self.too_much.is_some() {
                return false;
            }
            match self.peek() {
                None => return false,
                Some(Token::Close(_)) => {
                    self.take();
                    return false;
                }
                Some(Token::Comma) => {
                    let span = self.peek_span().unwrap_or_else(|| self.here());
                    let problem = not_json(span, "a comma with nothing before it");
                    self.slip(problem.label("one too many").help("remove it"));
                    self.take();
                }
                Some(_) => return true,
            }
        }
    }

    fn key(&mut self) -> Option<(String, Range<usize>)> {
        let lexeme = self.tokens.get(self.at)?;
        let span = lexeme.span.clone();
        let key = match &lexeme.token {
            Token::Text(key) => key.clone(),
            Token::Word(word) | Token::Number(word) => {
                let written = self.source.get(span.clone()).unwrap_or(word);
                let what = "this name stands without quotes";
                self.slip(tokens::without_quotes(span.clone(), what, written));
                written.to_owned()
            }
            _ => return None,
        };
        self.take();
        Some((key, span))
    }

    fn colon(&mut self) {
        if self.peek() == Some(&Token::Colon) {
            self.take();
            while let (Some(Token::Colon), Some(span)) = (self.peek(), self.peek_span()) {
                let problem = not_json(span, "a second colon");
                self.slip(problem.label("one too many").help("remove it"));
                self.take();
            }
            return;
        }
        // `"a" "b": 1`: what follows is the next name, so it is the value that is missing.
        let is_next_name = self.behind() == Some(&Token::Colon);
        if self.peek().is_some_and(begins_a_value) && !is_next_name {
            let problem = not_json(self.here(), "a colon is missing here").label("expected `:`");
            self.slip(problem.help("write a `:` between a name and its value"));
        }
    }

    /// What stands between two entries.
    fn between(&mut self, shape: Shape, depth: usize) {
        // `"a": "b": 1`: nobody can say what it names.
        while let (Some(Token::Colon), Some(span)) = (self.peek(), self.peek_span()) {
            let problem = not_json(span, "a colon behind a value").label("expected `,`");
            let help = match shape {
                Shape::Object => "an entry is one name and one value: \"name\": \"value\"",
                Shape::List => "a list has no names",
            };
            self.slip(problem.help(help));
            self.take();
            drop(self.value(depth));
        }
        match self.peek() {
            Some(Token::Comma) => {
                let span = self.peek_span().unwrap_or_else(|| self.here());
                self.take();
                if matches!(self.peek(), Some(Token::Close(_))) {
                    let problem = not_json(span, "a comma with nothing behind it");
                    self.slip(problem.label("one too many").help("remove it"));
                }
            }
            Some(token) if begins_a_value(token) => {
                let problem =
                    not_json(self.here(), "a comma is missing here").label("expected `,`");
                self.slip(problem.help("write a `,` between two entries"));
            }
            _ => {}
        }
    }
}

fn begins_a_value(token: &Token) -> bool {
    matches!(token, Token::Open(_) | Token::Text(_) | Token::Number(_) | Token::Word(_))
}

pub(super) fn not_json(span: Range<usize>, what: impl std::fmt::Display) -> Problem {
    Problem::new(span, format!("this is not JSON: {what}"))
}

/// What keeps the rest of the file from being read.
pub(super) fn not_checked(problem: Problem) -> Problem {
    problem.help("the rest of the file was not checked: fix this first")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::{
        Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest,
    };
    use serde_json::Value;

    /// What an independent reader makes of it.
    fn same_as_serde(text: &str) -> Result<(), String> {
        let Parsed { document, problems } = parse(text);
        let ours = document.filter(|_| problems.is_empty()).map(|it| it.to_json());
        let theirs: Option<Value> = serde_json::from_str(text).ok();
        if ours == theirs { Ok(()) } else { Err(format!("{text:?}: {ours:?}, not {theirs:?}")) }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("{".to_owned()),
            Just("}".to_owned()),
            Just("[".to_owned()),
            Just("]".to_owned()),
            Just(",".to_owned()),
            Just(":".to_owned()),
            Just(" \n".to_owned()),
            Just("\"a\"".to_owned()),
            Just("\"a\":".to_owned()),
            "(true|false|null|True|a|é|“a”|'a'|\"|;|=|\u{a0})",
            "-?[0-9]{1,3}(\\.[0-9]{0,2})?([eE][+-]?[0-9]?)?",
            "\"[ -~]{0,4}\"",
            "\"\\\\(u[0-9a-g]{3,4}|[bfnrtux\"/\\\\'])\"",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        // R10.4: to forgive is to read on, never to let pass.
        #[test]
        fn whatever_is_no_json_is_told_and_nothing_else_is(text in pieces()) {
            prop_assert_eq!(same_as_serde(&text), Ok(()));
        }

        #[test]
        fn what_is_json_is_read_as_it_is(value in document()) {
            prop_assert_eq!(same_as_serde(&value.to_string()), Ok(()));
            prop_assert_eq!(same_as_serde(&format!("{value:#}")), Ok(()));
        }
    }

    #[test]
    fn a_parser_that_forgives_nothing_has_the_last_word() {
        let file = "{ // é\n  /* é\n */ \"a\": \"\\x\"\n}";
        let comments = tokens::read(file).comments;
        assert_eq!(comments.len(), 2);
        let told = refused(file, &comments).map(|problem| (problem.span.start, problem.message));
        let place = file.find("\\x").map(|at| at.saturating_add(1));
        assert_eq!(told.as_ref().map(|(at, _)| *at), place, "{told:?}");
        assert_eq!(
            refused("{} // é", &tokens::read("{} // é").comments).map(|it| it.message),
            None
        );
        for open in ["\"\\\"", "{\"a\\\"", "\"", "'\\'", "1e400", "{\"a\": -1e999}"] {
            assert!(!parse(open).problems.is_empty(), "{open}");
        }
    }

    #[test]
    fn a_hostile_file_takes_no_longer_than_a_long_one() {
        let many = |text: &str| text.repeat(300_000 / text.len());
        let files = [
            many("["),
            many("{\"a\":["),
            format!("{}{}", many("["), many("}")),
            format!("{}{}", many("{["), many("}")),
            format!("{{\n\"{}", many("\n")),
            format!("{{\"{}", many("”,")),
            format!("{{\n{}", many("[\n")),
            format!("{{\n{}", many("“\n")),
            format!("{{{}", many(": [")),
            format!("{{\"a\":1{}", many(":1")),
            many("'\n"),
            many("\\"),
            format!("{{{}", many("a ")),
        ];
        for file in files {
            assert!(!parse(&file).problems.is_empty());
        }
    }
}
