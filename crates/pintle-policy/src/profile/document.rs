//! A JSON file that remembers where everything is written.

use super::report::Problem;
use super::syntax;
use jsonc_parser::ast::{ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::borrow::Cow;
use std::ops::Range;

const MAX_DEPTH: usize = 64;
/// More entries than anybody writes; checking them would take longer than anybody waits.
const MAX_ENTRIES: usize = 256;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Field>),
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.fields().iter().find(|f| f.key == key).map(|f| &f.value)
    }

    pub(crate) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Object(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    /// The value without places; for a file that has been checked.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => serde_json::from_str(n).unwrap_or(Value::Null),
            Kind::Text(t) => Value::String(t.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Kind::Object(fields) => {
                Value::Object(fields.iter().map(|f| (f.key.clone(), f.value.to_json())).collect())
            }
        }
    }
}

/// What came of reading a file.
pub(crate) struct Parsed {
    /// What is in it; none if nobody can say.
    pub(crate) document: Option<Node>,
    /// What is wrong with the writing of it: then it is only for checking the rest.
    pub(crate) problems: Vec<Problem>,
}

/// Parses strict JSON; only comments are allowed on top, so that a profile can explain itself. Where a slip leaves no doubt what
/// was meant, the file is read as it was meant, so that everything else in it can be told too.
pub(crate) fn parse(source: &str) -> Parsed {
    let mut problems = Vec::new();
    let mut text = Cow::Borrowed(source);
    if let Some(rest) = source.strip_prefix('\u{feff}') {
        let mark = Problem::new(0..3, "the file begins with a byte order mark");
        problems.push(
            mark.label("JSON has none")
                .help("save it as UTF-8 without one (in editors: `UTF-8`, not `UTF-8 with BOM`)"),
        );
        // Everything stays where it is.
        text = Cow::Owned(format!("   {rest}"));
    }
    let collect = CollectOptions { tokens: true, ..CollectOptions::default() };
    if parse_to_ast(&text, &collect, &STRICT).is_err()
        && let Some((zeros, mended)) = syntax::zeros(&text)
    {
        problems.extend(zeros);
        text = Cow::Owned(mended);
    }
    let read = |options: &ParseOptions| parse_to_ast(&text, &collect, options);
    let strict = read(&STRICT);
    let refused = strict.as_ref().err().map(|error| syntax::fatal(error, source));
    let parsed = strict
        .or_else(|_| read(&ParseOptions::default()))
        .map_err(|error| syntax::fatal(&error, source))
        .and_then(|parsed| {
            let slips = syntax::slips(parsed.tokens.as_deref().unwrap_or_default(), source);
            match refused.filter(|_| slips.is_empty()) {
                Some(refused) => Err(refused),
                None => {
                    problems.extend(slips);
                    Ok(parsed)
                }
            }
        });
    let document = parsed.and_then(|parsed| match parsed.value {
        Some(value) => convert(&value, 0),
        None => Err(Problem::new(0..0, "the file is empty").help("write at least `{}`")),
    });
    let document = document.map_err(|problem| problems.push(problem)).ok();
    Parsed { document, problems }
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
};

fn convert(value: &Ast<'_>, depth: usize) -> Result<Node, Problem> {
    let range = value.range();
    let span = range.start..range.end;
    if depth > MAX_DEPTH {
        return Err(Problem::new(span, format!("nested more than {MAX_DEPTH} deep"))
            .help("no field of a profile nests like this"));
    }
    let entries = match value {
        Ast::Array(list) => list.elements.len(),
        Ast::Object(object) => object.properties.len(),
        _ => 0,
    };
    if entries > MAX_ENTRIES {
        let start = span.start..span.start.saturating_add(1);
        return Err(Problem::new(
            start,
            format!("{entries} entries, and at most {MAX_ENTRIES} are read"),
        )
        .help("a profile is a page of text: move data elsewhere"));
    }
    let deeper = depth.saturating_add(1);
    let kind = match value {
        Ast::NullKeyword(_) => Kind::Null,
        Ast::BooleanLit(b) => Kind::Bool(b.value),
        Ast::NumberLit(n) => Kind::Number(n.value.to_owned()),
        Ast::StringLit(s) => Kind::Text(s.value.clone().into_owned()),
        Ast::Array(list) => {
            Kind::List(list.elements.iter().map(|e| convert(e, deeper)).collect::<Result<_, _>>()?)
        }
        Ast::Object(object) => {
            let mut fields = Vec::with_capacity(object.properties.len());
            for prop in &object.properties {
                let range = prop.name.range();
                let key = match &prop.name {
                    ObjectPropName::String(s) => s.value.clone().into_owned(),
                    ObjectPropName::Word(w) => w.value.to_owned(),
                };
                fields.push(Field {
                    key,
                    key_span: range.start..range.end,
                    value: convert(&prop.value, deeper)?,
                });
            }
            Kind::Object(fields)
        }
    };
    Ok(Node { span, kind })
}
