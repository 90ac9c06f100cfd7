//! The keywords that are understood, and the reader that refuses every other one.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::{DEEPEST, listed, pattern, short, target};

/// Reads a schema with everything it refers to, and gives its patterns.
pub(super) fn read(root: &Value) -> Result<BTreeMap<String, Regex>, String> {
    let mut reader = Reader { root, patterns: BTreeMap::new(), followed: BTreeSet::new() };
    reader.schema(root, 0)?;
    Ok(reader.patterns)
}

/// What the value of a keyword has to be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Describes, and is not checked.
    Note,
    Any,
    Count,
    Flag,
    Number,
    Divisor,
    Types,
    Texts,
    TextLists,
    List,
    Pattern,
    Reference,
    Schema,
    Schemas,
    SchemaOrSchemas,
    NamedSchemas,
    PatternSchemas,
}

/// Every keyword that is understood: drafts 6 to 2020-12, without what follows references to other documents.
pub(super) const KEYWORDS: &[(&str, Shape)] = &[
    ("$comment", Shape::Note),
    ("$defs", Shape::NamedSchemas),
    ("$ref", Shape::Reference),
    ("$schema", Shape::Note),
    ("additionalItems", Shape::Schema),
    ("additionalProperties", Shape::Schema),
    ("allOf", Shape::Schemas),
    ("anyOf", Shape::Schemas),
    ("const", Shape::Any),
    ("contains", Shape::Schema),
    ("contentEncoding", Shape::Note),
    ("contentMediaType", Shape::Note),
    ("default", Shape::Note),
    ("definitions", Shape::NamedSchemas),
    ("dependentRequired", Shape::TextLists),
    ("dependentSchemas", Shape::NamedSchemas),
    ("deprecated", Shape::Note),
    ("description", Shape::Note),
    ("else", Shape::Schema),
    ("enum", Shape::List),
    ("example", Shape::Note),
    ("examples", Shape::Note),
    ("exclusiveMaximum", Shape::Number),
    ("exclusiveMinimum", Shape::Number),
    ("format", Shape::Note),
    ("if", Shape::Schema),
    ("items", Shape::SchemaOrSchemas),
    ("maxContains", Shape::Count),
    ("maxItems", Shape::Count),
    ("maxLength", Shape::Count),
    ("maxProperties", Shape::Count),
    ("maximum", Shape::Number),
    ("minContains", Shape::Count),
    ("minItems", Shape::Count),
    ("minLength", Shape::Count),
    ("minProperties", Shape::Count),
    ("minimum", Shape::Number),
    ("multipleOf", Shape::Divisor),
    ("not", Shape::Schema),
    ("nullable", Shape::Note),
    ("oneOf", Shape::Schemas),
    ("pattern", Shape::Pattern),
    ("patternProperties", Shape::PatternSchemas),
    ("prefixItems", Shape::Schemas),
    ("properties", Shape::NamedSchemas),
    ("propertyNames", Shape::Schema),
    ("readOnly", Shape::Note),
    ("required", Shape::Texts),
    ("then", Shape::Schema),
    ("title", Shape::Note),
    ("type", Shape::Types),
    ("uniqueItems", Shape::Flag),
    ("writeOnly", Shape::Note),
    // Labels for people and editors, by the tools that generate schemas.
    ("discriminator", Shape::Note),
    ("enumNames", Shape::Note),
    ("errorMessage", Shape::Note),
    ("markdownDescription", Shape::Note),
    ("propertyOrdering", Shape::Note),
];

pub(super) const TYPES: [&str; 7] =
    ["array", "boolean", "integer", "null", "number", "object", "string"];
struct Reader<'s> {
    root: &'s Value,
    patterns: BTreeMap<String, Regex>,
    followed: BTreeSet<&'s str>,
}

impl<'s> Reader<'s> {
    fn schema(&mut self, schema: &'s Value, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => return Err(format!("{} is not a schema", short(other))),
        };
        for (keyword, rule) in keywords {
            let is_root_id = keyword == "$id" && depth == 0;
            let shape = KEYWORDS.iter().find(|(known, _)| known == keyword).map(|(_, shape)| shape);
            match shape {
                Some(shape) => self
                    .keyword(*shape, rule, depth + 1)?
                    .then_some(())
                    .ok_or_else(|| format!("`{keyword}` cannot be {}", short(rule)))?,
                None if is_root_id || keyword.starts_with("x-") => {}
                None => return Err(format!("`{keyword}` is not a keyword that can be checked")),
            }
        }
        Ok(())
    }

    fn keyword(&mut self, shape: Shape, rule: &'s Value, depth: usize) -> Result<bool, String> {
        let texts =
            |rule: &Value| rule.as_array().is_some_and(|texts| texts.iter().all(Value::is_string));
        Ok(match shape {
            Shape::Note | Shape::Any => true,
            Shape::Count => rule.is_u64(),
            Shape::Flag => rule.is_boolean(),
            Shape::Number => rule.is_number(),
            Shape::Divisor => rule.as_f64().is_some_and(|divisor| divisor > 0.0),
            Shape::List => rule.is_array(),
            Shape::Texts => texts(rule),
            Shape::TextLists => rule.as_object().is_some_and(|lists| lists.values().all(texts)),
            Shape::Types => {
                let named = listed(rule);
                let is_type =
                    |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                !named.is_empty() && named.iter().all(is_type)
            }
            Shape::Pattern => match rule.as_str() {
                Some(pattern) => self.pattern(pattern)?,
                None => false,
            },
            Shape::Reference => match rule.as_str() {
                Some(reference) => self.reference(reference, depth)?,
                None => false,
            },
            Shape::Schema => self.all([rule], depth)?,
            Shape::Schemas => rule.is_array() && self.all(listed(rule), depth)?,
            Shape::SchemaOrSchemas => self.all(listed(rule), depth)?,
            Shape::NamedSchemas => match rule.as_object() {
                Some(named) => self.all(named.values(), depth)?,
                None => false,
            },
            Shape::PatternSchemas => match rule.as_object() {
                Some(named) => {
                    for pattern in named.keys() {
                        self.pattern(pattern)?;
                    }
                    self.all(named.values(), depth)?
                }
                None => false,
            },
        })
    }

    fn all(
        &mut self,
        schemas: impl IntoIterator<Item = &'s Value>,
        depth: usize,
    ) -> Result<bool, String> {
        schemas.into_iter().try_for_each(|schema| self.schema(schema, depth))?;
        Ok(true)
    }

    fn pattern(&mut self, pattern: &str) -> Result<bool, String> {
        if !self.patterns.contains_key(pattern) {
            self.patterns.insert(pattern.to_owned(), pattern::compile(pattern)?);
        }
        Ok(true)
    }

    /// What a reference leads to is a schema too, wherever in the document it lies.
    fn reference(&mut self, reference: &'s str, depth: usize) -> Result<bool, String> {
        let Some(target) = target(self.root, reference) else {
            return Err(format!("`$ref` leads to {reference:?}, which is not in the schema"));
        };
        if self.followed.insert(reference) {
            self.schema(target, depth)?;
        }
        Ok(true)
    }
}
