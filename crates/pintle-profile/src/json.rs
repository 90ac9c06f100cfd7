//! Reads JSON with the place of everything in it. After a slip it reads on: each slip is reported with how to write it, and the
//! rest of the file is checked as it was meant.

mod text;

use super::AGENT_FILE;
use super::document::{Field, Kind, Node, Parsed};
use super::report::{Problem, ProfileErrors, place};
use std::collections::HashSet;
use std::ops::Range;
use text::{in_quotes, is_quote};

const MAX_DEPTH: usize = 64;
/// More entries than a person writes; checking them would take longer than a person waits.
const MAX_ENTRIES: usize = 256;
/// A person does not forget more brackets.
const MOST_MISSING: usize = 16;

/// Parses strict JSON; only comments are allowed on top, so that a profile can explain itself.
pub(crate) fn parse(source: &str) -> Parsed {
    let attempt = |brackets| {
        let mut reader = Reader { source, brackets, line: 1, balanced: true, ..Reader::default() };
        let document = reader.file();
        (reader, document)
    };
    let mut found = attempt(Brackets::AsWritten);
    if !found.0.balanced {
        found = attempt(Brackets::Added);
    }
    if !found.0.balanced {
        let swapped = attempt(Brackets::Swapped);
        found = if swapped.0.balanced { swapped } else { found };
    }
    let (Reader { mut problems, comments, stop, .. }, document) = found;
    if problems.is_empty() && stop.is_none() {
        problems.extend(refused(source, &comments));
    }
    // A comma that is missing behind two brackets is found at both.
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert((problem.span.clone(), problem.message.clone())));
    let document = document.filter(|_| stop.is_none());
    problems.extend(stop);
    Parsed { document, problems }
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
    Some(not_json(at..at, &error.to_string()).help("write it as JSON has it"))
}

/// What is done about brackets that do not fit.
#[derive(Clone, Copy, PartialEq, Default)]
enum Brackets {
    /// Nothing: the reading ends.
    #[default]
    AsWritten,
    /// One is added before a bracket that closes something further out, before a line that is not indented further than the
    /// one that opened, and at the end.
    Added,
    /// `[1, 2}`: one of the wrong kind closes all the same.
    Swapped,
}

struct Open {
    close: char,
    at: usize,
    line: usize,
    indent: usize,
}

#[derive(Default)]
struct Reader<'s> {
    source: &'s str,
    brackets: Brackets,
    /// Whether every bracket has its like, and nothing stands behind the last.
    balanced: bool,
    at: usize,
    line: usize,
    line_start: usize,
    /// Where the last word ends, and its line.
    end: usize,
    last_line: usize,
    open: Vec<Open>,
    missing: usize,
    problems: Vec<Problem>,
    comments: Vec<Range<usize>>,
    /// What ends the reading.
    stop: Option<Problem>,
}

impl<'s> Reader<'s> {
    fn file(&mut self) -> Option<Node> {
        if self.source.starts_with('\u{feff}') {
            let mark = Problem::new(self.take(3), "the file begins with a byte order mark");
            let help = "save it as UTF-8 without one (in editors: `UTF-8`, not `UTF-8 with BOM`)";
            self.slip(mark.label("JSON has none").help(help));
        }
        let first = self.peek();
        if first.is_none() {
            let empty = Problem::new(0..0, "the file is empty").help("write at least `{}`");
            self.stop.get_or_insert(empty);
            return None;
        }
        if !first.is_some_and(begins_a_value) || self.is_named() {
            // Of another language, most likely: its slips would be all of it.
            let span = self.word();
            let problem = not_json(span, "an object is missing").label("expected `{`");
            let help = "the file is JSON: it begins with `{` and ends with `}`";
            self.problems.clear();
            self.stop = Some(not_checked(problem.help(help)));
            return None;
        }
        let document = self.value();
        if let Some(next) = self.peek().filter(|_| self.stop.is_none()) {
            self.balanced = false;
            let span = self.at..self.at.saturating_add(next.len_utf8());
            let problem = not_json(span, "unexpected text after the end of the object");
            let help =
                "the file is one object { … }: remove the rest, or the extra bracket before it";
            self.slip(not_checked(problem.help(help)));
        }
        document
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.at;
        let text = self.source.get(start..start.saturating_add(length)).unwrap_or_default();
        self.at = start.saturating_add(text.len());
        if let Some(last) = text.rfind('\n') {
            self.line = self.line.saturating_add(text.matches('\n').count());
            self.line_start = start.saturating_add(last).saturating_add(1);
        }
        start..self.at
    }

    fn slip(&mut self, problem: Problem) {
        // What follows from where the reading stopped is not reported.
        if self.stop.is_none() {
            self.problems.push(problem);
        }
    }

    fn say(&mut self, span: Range<usize>, what: &str, label: &str, help: &str) {
        self.slip(not_json(span, what).label(label).help(help));
    }

    /// Behind the last word.
    fn here(&self) -> Range<usize> {
        self.end..self.end
    }

    /// What stands here, behind blanks and comments. `;` and `=` are taken for what they mean in other languages.
    fn peek(&mut self) -> Option<char> {
        loop {
            let (rest, first) = (self.rest(), self.rest().chars().next()?);
            let line = || rest.find(['\n', '\r']).unwrap_or(rest.len());
            match first {
                ' ' | '\t' | '\n' | '\r' => drop(self.take(1)),
                '#' => {
                    let span = self.take(line());
                    let help = "comments are written `// …` or `/* … */`";
                    self.say(span, "a comment that begins with `#`", "", help);
                }
                '/' if rest.starts_with("//") => {
                    let span = self.take(line());
                    self.comments.push(span);
                }
                '/' if rest.starts_with("/*") => {
                    let end = rest.find("*/").map_or(rest.len(), |end| end.saturating_add(2));
                    let span = self.take(end);
                    if !rest.contains("*/") {
                        let begin = span.start..span.start.saturating_add(1);
                        let problem = not_json(begin, "unterminated comment");
                        let help = "a comment that begins with `/*` ends with `*/`";
                        let problem = problem.label("this one is not closed").help(help);
                        self.stop.get_or_insert(not_checked(problem));
                    }
                    self.comments.push(span);
                }
                _ if first.is_whitespace() => {
                    let what = format!("not an ordinary space: {}", first.escape_unicode());
                    let span = self.take(first.len_utf8());
                    self.say(span, &what, "", "write an ordinary space, or remove it");
                }
                ';' => return Some(','),
                '=' => return Some(':'),
                _ => return Some(first),
            }
        }
    }

    /// Takes the sign that stands here.
    fn sign(&mut self) -> Range<usize> {
        let rest = self.rest();
        let written = rest.chars().next().unwrap_or_default();
        let span = self.take(if rest.starts_with("=>") { 2 } else { 1 });
        (self.end, self.last_line) = (self.at, self.line);
        if let ';' | '=' = written {
            let meant = if written == ';' { ',' } else { ':' };
            let what = format!("`{written}` is unexpected here");
            let label = format!("expected `{meant}`");
            self.say(span.clone(), &what, &label, &format!("write `{meant}`"));
        }
        span
    }

    /// A slip about the sign that stands here, which is passed over.
    fn stray(&mut self, what: &str, label: &str, help: &str) {
        let span = self.sign();
        self.say(span, what, label, help);
    }

    /// The name that begins here.
    fn key(&mut self) -> Option<(String, Range<usize>)> {
        let first = self.peek().filter(|c| begins_a_value(*c) && !"{[".contains(*c))?;
        let start = self.at;
        let key = match is_quote(first) {
            true => self.text(first),
            false => {
                let span = self.word();
                let word = self.source.get(span.clone()).unwrap_or_default();
                self.slip(in_quotes(span, "this name has no quotes", word));
                word.to_owned()
            }
        };
        (self.end, self.last_line) = (self.at, self.line);
        Some((key, start..self.end))
    }

    /// Whether what stands here is a name: a colon follows it.
    fn is_named(&mut self) -> bool {
        let place = (self.at, self.line, self.line_start, self.end, self.last_line);
        let known = (self.problems.len(), self.comments.len(), self.stop.take());
        let is_named = self.key().is_some() && self.peek() == Some(':');
        (self.at, self.line, self.line_start, self.end, self.last_line) = place;
        self.problems.truncate(known.0);
        self.comments.truncate(known.1);
        self.stop = known.2;
        is_named
    }

    /// The value that begins here; none, and nothing taken, if none does.
    fn value(&mut self) -> Option<Node> {
        let first = self.peek().filter(|c| begins_a_value(*c))?;
        let start = self.at;
        let kind = match first {
            '{' | '[' => return self.inside(first),
            _ if is_quote(first) => Kind::Text(self.text(first)),
            _ => {
                let span = self.word();
                self.number(span.clone()).map_or_else(|| self.bare(span), Kind::Number)
            }
        };
        (self.end, self.last_line) = (self.at, self.line);
        Some(Node { span: start..self.end, kind })
    }

    fn indent(&self) -> usize {
        let line = self.source.get(self.line_start..).unwrap_or_default();
        line.len().saturating_sub(line.trim_start_matches([' ', '\t']).len())
    }

    fn inside(&mut self, open: char) -> Option<Node> {
        let (indent, head) = (self.indent(), self.sign());
        if self.open.len() > MAX_DEPTH {
            let problem = Problem::new(head, format!("nested more than {MAX_DEPTH} deep"));
            self.stop = Some(problem.help("no field of a profile nests like this"));
            return None;
        }
        let close = if open == '{' { '}' } else { ']' };
        self.open.push(Open { close, at: head.start, line: self.line, indent });
        let kind = match open {
            '{' => Kind::Object(self.fields()),
            _ => Kind::List(self.items()),
        };
        let node = Node { span: head.start..self.end, kind };
        let entries = node.fields().len().max(node.items().len());
        if entries > MAX_ENTRIES && self.stop.is_none() {
            let message = format!("{entries} entries, and at most {MAX_ENTRIES} are read");
            let help = "a profile is a page of text: move data elsewhere";
            self.stop = Some(Problem::new(head, message).help(help));
        }
        Some(node)
    }

    /// `true`, `false`, `null`, and texts without quotes.
    fn bare(&mut self, mut span: Range<usize>) -> Kind {
        let word = self.source.get(span.clone()).unwrap_or_default();
        let (kind, written, help) = match word.to_lowercase().as_str() {
            "true" => (Kind::Bool(true), "true", "write true"),
            "false" => (Kind::Bool(false), "false", "write false"),
            "null" | "none" | "nil" | "undefined" => {
                (Kind::Null, "null", "leave the field out to say nothing")
            }
            _ => {
                // More words in the same line, up to a name.
                let blank = [' ', '\t'];
                let is_word = |c: char| !" \t\r\n#/,:;={}[]".contains(c) && !is_quote(c);
                while self.rest().trim_start_matches(blank).starts_with(is_word) && !self.is_named()
                {
                    self.peek();
                    span.end = self.word().end;
                }
                let text = self.source.get(span.clone()).unwrap_or_default();
                self.slip(in_quotes(span, "this string has no quotes", text));
                return Kind::Text(text.to_owned());
            }
        };
        if word != written {
            let what = format!("`{word}` is not a JSON value");
            self.say(span, &what, "expected true, false or a value", help);
        }
        kind
    }

    fn fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        while self.goes_on() {
            if let Some((key, key_span)) = self.key() {
                self.colon();
                // A name where a value should be is the next one's.
                let value = if self.is_named() { None } else { self.value() };
                let value = value.unwrap_or_else(|| {
                    let what = format!("`{key}` has no value");
                    let help = "write one: a \"text\", a number, true, false, a list [ … ] or an object { … }";
                    self.say(self.here(), &what, "expected a value", help);
                    Node { span: self.here(), kind: Kind::Null }
                });
                fields.push(Field { key, key_span, value });
            } else {
                let help = "each entry of an object has a name in quotes: { \"name\": … }";
                let span = self.at..self.at.saturating_add(1);
                self.say(span, "a value without a name", "expected a name", help);
                if self.peek() == Some(':') {
                    self.sign();
                }
                drop(self.value());
            }
            self.between("an entry is one name and one value: \"name\": \"value\"");
        }
        fields
    }

    fn items(&mut self) -> Vec<Node> {
        let mut items = Vec::new();
        while self.goes_on() {
            let named = self.is_named() || self.peek() == Some(':');
            if named {
                let sign = self.at..self.at.saturating_add(1);
                let span = self.key().map_or(sign, |(_, span)| span);
                let help = "put { } around the name and its value, or remove the name";
                self.say(span, "a name in a list", "a list has no names", help);
                self.peek();
                self.sign();
            }
            // What it names is an item at least.
            items.extend(self.value());
            self.between("a list has no names");
        }
        items
    }

    /// Whether another entry begins here; else the bracket is closed, or reported as one that is not.
    fn goes_on(&mut self) -> bool {
        while self.peek() == Some(',') && self.stop.is_none() && !self.is_left() {
            self.stray("unexpected comma", "one too many", "remove it");
        }
        let (next, is_left) = (self.peek(), self.is_left());
        let Some((Open { close, at, .. }, outer)) = self.open.split_last() else { return false };
        let (close, head) = (*close, *at..at.saturating_add(1));
        let mut near = outer.iter().rev().take(MOST_MISSING);
        let is_added = self.brackets == Brackets::Added && near.any(|it| Some(it.close) == next);
        let gives_up = !self.balanced && self.brackets == Brackets::AsWritten;
        match next {
            _ if gives_up || self.stop.is_some() => {}
            Some(next) if next == close && !is_left => drop(self.sign()),
            Some(wrong @ ('}' | ']')) if !is_left && !is_added => {
                self.balanced &= self.brackets == Brackets::Swapped;
                let (what, label) =
                    (format!("`{wrong}` closes nothing here"), format!("expected `{close}`"));
                self.stray(&what, &label, &format!("write `{close}`"));
            }
            Some(sign) if !is_left && !"}]".contains(sign) => return true,
            _ => {
                self.balanced &= self.brackets == Brackets::Added;
                self.missing = self.missing.saturating_add(1);
                let line = place(self.source, self.end).0;
                let help = format!("write a `{close}`, probably at the end of line {line}");
                let problem = not_json(head, &format!("a `{close}` is missing"))
                    .label("this one is not closed")
                    .help(help);
                match self.missing > MOST_MISSING {
                    true => self.stop = Some(not_checked(problem)),
                    false => self.slip(problem),
                }
            }
        }
        self.open.pop();
        false
    }

    /// Whether the indentation says that the bracket was closed before this line. The outermost is closed by nothing but its own.
    fn is_left(&self) -> bool {
        let (indent, closes) = (self.indent(), self.rest().starts_with(['}', ']']));
        self.brackets == Brackets::Added
            && self.open.len() > 1
            && self.line != self.last_line
            && self.open.last().is_some_and(|one| {
                let further_out = if closes { one.indent > indent } else { one.indent >= indent };
                one.line < self.line && further_out
            })
    }

    fn colon(&mut self) {
        let next = self.peek();
        if next == Some(':') {
            self.sign();
            while self.peek() == Some(':') {
                self.stray("a second colon", "one too many", "remove it");
            }
        } else if next.is_some_and(begins_a_value) && !self.is_named() {
            // In `"a" "b": 1` the value is missing instead.
            let help = "write a `:` between a name and its value";
            self.say(self.here(), "a colon is missing here", "expected `:`", help);
        }
    }

    /// What stands between two entries.
    fn between(&mut self, about_colons: &str) {
        // `"a": "b": 1` names nothing in particular.
        while self.peek() == Some(':') && self.stop.is_none() {
            self.stray("a colon after a value", "expected `,`", about_colons);
            drop(self.value());
        }
        match self.peek() {
            Some(',') => {
                let span = self.sign();
                if matches!(self.peek(), Some('}' | ']')) {
                    self.say(span, "trailing comma", "one too many", "remove it");
                }
            }
            Some(next) if begins_a_value(next) => {
                let help = "write a `,` between two entries";
                self.say(self.here(), "a comma is missing here", "expected `,`", help);
            }
            _ => {}
        }
    }
}

fn begins_a_value(c: char) -> bool {
    !"}],:".contains(c)
}

fn not_json(span: Range<usize>, what: &str) -> Problem {
    Problem::new(span, format!("this is not JSON: {what}"))
}

/// What keeps the rest of the file from being read.
fn not_checked(problem: Problem) -> Problem {
    problem.help("the rest of the file was not checked: fix this first")
}
