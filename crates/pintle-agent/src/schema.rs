//! Checks the arguments of a tool call against the tool's JSON Schema.
//!
//! Each keyword of [`keywords::KEYWORDS`] is checked or only describes. A schema with any other keyword, or one that is not well formed, is
//! refused, and with it every call of its tool: what cannot be checked in full does not run.

mod keywords;
mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Number, Value};

/// References may go in circles, and alternatives of alternatives may be many: more than this is refused.
const DEEPEST: usize = 100;
const MOST_STEPS: usize = 200_000;

/// A schema that can be checked in full.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    patterns: BTreeMap<String, Regex>,
}

impl Schema {
    /// Reads a schema, or says why it cannot be checked in full.
    pub(crate) fn new(root: &Value) -> Result<Self, String> {
        Ok(Self { root: root.clone(), patterns: keywords::read(root)? })
    }

    /// Everything in `value` that does not fit.
    pub(crate) fn problems(&self, value: &Value) -> Vec<String> {
        let mut check = Check { schema: self, steps: 0 };
        let problems = check.value(&self.root, value, "", 0);
        // Whatever was found so far may be wrong: the other side of a `not` was not looked at.
        if check.steps > MOST_STEPS {
            return vec!["it takes too long to check them against the schema".to_owned()];
        }
        problems
    }
}

struct Check<'s> {
    schema: &'s Schema,
    steps: usize,
}

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Value, value: &Value, at: &str, depth: usize) -> Vec<String> {
        self.steps += if depth > DEEPEST { MOST_STEPS } else { 1 };
        if self.steps > MOST_STEPS {
            return Vec::new();
        }
        match schema {
            Value::Object(keywords) => {
                let mut problems = Vec::new();
                for (keyword, rule) in keywords {
                    let mut found = self.keyword(keyword, rule, keywords, value, at, depth + 1);
                    problems.append(&mut found);
                }
                problems
            }
            Value::Bool(true) => Vec::new(),
            _ => vec![problem(at, "nothing is allowed here")],
        }
    }

    fn fits(&mut self, schema: &'s Value, value: &Value, depth: usize) -> bool {
        self.value(schema, value, "", depth).is_empty()
    }

    fn keyword(
        &mut self,
        keyword: &str,
        rule: &'s Value,
        keywords: &'s Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Vec<String> {
        let unless = |fits: bool, say: &dyn Fn() -> String| {
            if fits { Vec::new() } else { vec![problem(at, &say())] }
        };
        let count = |name: &str| keywords.get(name).and_then(Value::as_u64);
        match (keyword, value) {
            ("type", _) => unless(listed(rule).iter().any(|name| is_a(value, name)), &|| {
                let names: Vec<_> = listed(rule).iter().filter_map(Value::as_str).collect();
                format!("{} is not of type {}", short(value), names.join(" or "))
            }),
            ("const", _) => {
                unless(same(rule, value), &|| format!("{} is not {}", short(value), short(rule)))
            }
            ("enum", _) => unless(listed(rule).iter().any(|one| same(one, value)), &|| {
                format!("{} is not one of {}", short(value), short(rule))
            }),
            ("$ref", _) => {
                let target = rule.as_str().and_then(|to| target(&self.schema.root, to));
                // It was found when the schema was read.
                target.map_or_else(Vec::new, |target| self.value(target, value, at, depth))
            }
            ("allOf", _) => {
                listed(rule).iter().flat_map(|one| self.value(one, value, at, depth)).collect()
            }
            ("anyOf" | "oneOf", _) => {
                let fitting =
                    listed(rule).iter().filter(|one| self.fits(one, value, depth)).count();
                let fits = fitting == 1 || (keyword == "anyOf" && fitting > 1);
                let which = if fitting > 1 { "more than one" } else { "none" };
                unless(fits, &|| format!("{} fits {which} of the alternatives", short(value)))
            }
            ("not", _) => {
                let fits = !self.fits(rule, value, depth);
                unless(fits, &|| format!("{} is not allowed", short(value)))
            }
            ("if", _) => {
                let branch = if self.fits(rule, value, depth) { "then" } else { "else" };
                keywords.get(branch).map_or_else(Vec::new, |one| self.value(one, value, at, depth))
            }
            (_, Value::Number(number)) => unless(number_fits(keyword, number, rule), &|| {
                format!("{number} does not fit `{keyword}`: {rule}")
            }),
            ("pattern", Value::String(text)) => {
                let found = rule.as_str().and_then(|pattern| self.schema.patterns.get(pattern));
                unless(found.is_some_and(|pattern| pattern.is_match(text)), &|| {
                    format!("{} does not match the pattern {rule}", short(value))
                })
            }
            ("minLength" | "maxLength", Value::String(text)) => {
                unless(size_fits(keyword, text.chars().count(), rule), &|| {
                    format!("{} does not fit `{keyword}`: {rule}", short(value))
                })
            }
            ("minItems" | "maxItems", Value::Array(items)) => {
                unless(size_fits(keyword, items.len(), rule), &|| {
                    format!("{} items do not fit `{keyword}`: {rule}", items.len())
                })
            }
            ("uniqueItems", Value::Array(items)) if *rule == Value::Bool(true) => {
                self.steps = self.steps.saturating_add(items.len().saturating_mul(items.len()));
                let mut pairs = items.iter().enumerate();
                let unique = self.steps > MOST_STEPS
                    || pairs.all(|(n, item)| items.iter().skip(n + 1).all(|two| !same(item, two)));
                unless(unique, &|| "two items are the same".to_owned())
            }
            ("prefixItems" | "items" | "additionalItems", Value::Array(items)) => {
                let first = [keywords.get("prefixItems"), keywords.get("items")];
                let first = first.into_iter().flatten().find_map(Value::as_array);
                let prefix = first.map(Vec::as_slice).unwrap_or_default();
                let is_first = first.is_some_and(|first| rule.as_array() == Some(first));
                let is_rest = match keyword {
                    "items" => !rule.is_array(),
                    // Without a list of first items it says nothing, as in the drafts that have it.
                    _ => keyword == "additionalItems" && first.is_some(),
                };
                let mut problems = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let one = match prefix.get(index) {
                        Some(one) if is_first => one,
                        None if is_rest => rule,
                        _ => continue,
                    };
                    problems.extend(self.value(one, item, &format!("{at}/{index}"), depth));
                }
                problems
            }
            ("contains", Value::Array(items)) => {
                let found = items.iter().filter(|item| self.fits(rule, item, depth)).count();
                let found = u64::try_from(found).unwrap_or(u64::MAX);
                let (least, most) = (count("minContains").unwrap_or(1), count("maxContains"));
                unless(found >= least && most.is_none_or(|most| found <= most), &|| {
                    format!("{found} of its items fit `contains`")
                })
            }
            ("required", Value::Object(fields)) => missing(rule, fields, at),
            ("dependentRequired", Value::Object(fields)) => rule
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(field, _)| fields.contains_key(*field))
                .flat_map(|(_, needed)| missing(needed, fields, at))
                .collect(),
            ("dependentSchemas", Value::Object(fields)) => {
                let dependent = rule.as_object().into_iter().flatten();
                let bound = dependent.filter(|(field, _)| fields.contains_key(*field));
                bound.flat_map(|(_, one)| self.value(one, value, at, depth)).collect()
            }
            ("minProperties" | "maxProperties", Value::Object(fields)) => {
                unless(size_fits(keyword, fields.len(), rule), &|| {
                    format!("{} properties do not fit `{keyword}`: {rule}", fields.len())
                })
            }
            ("propertyNames", Value::Object(fields)) => {
                let names = fields.keys().map(|name| Value::from(name.as_str()));
                names.flat_map(|name| self.value(rule, &name, at, depth)).collect()
            }
            (
                "properties" | "patternProperties" | "additionalProperties",
                Value::Object(fields),
            ) => {
                let mut problems = Vec::new();
                for (name, field) in fields {
                    let inner = format!("{at}/{name}");
                    for one in self.of_property(keyword, rule, keywords, name) {
                        match one {
                            Value::Bool(false) => {
                                problems.push(problem(at, &format!("`{name}` is not allowed")));
                            }
                            one => problems.extend(self.value(one, field, &inner, depth)),
                        }
                    }
                }
                problems
            }
            _ => Vec::new(),
        }
    }

    /// What one of the three keywords about properties says of the property `name`.
    fn of_property(
        &self,
        keyword: &str,
        rule: &'s Value,
        keywords: &'s Map<String, Value>,
        name: &str,
    ) -> Vec<&'s Value> {
        let named = |rule: &'s Value| rule.get(name);
        let matching = |rule: &'s Value| {
            let patterns = rule.as_object().into_iter().flatten();
            let found = |pattern: &str| self.schema.patterns.get(pattern);
            patterns
                .filter(|(pattern, _)| found(pattern).is_none_or(|found| found.is_match(name)))
                .map(|(_, one)| one)
                .collect::<Vec<_>>()
        };
        match keyword {
            "properties" => named(rule).into_iter().collect(),
            "patternProperties" => matching(rule),
            _ => {
                let is_named = keywords.get("properties").and_then(named).is_some();
                let patterns = keywords.get("patternProperties");
                let matches = patterns.is_some_and(|rule| !matching(rule).is_empty());
                if is_named || matches { Vec::new() } else { vec![rule] }
            }
        }
    }
}

/// The part of this document that a reference names; nothing else is ever fetched.
fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
    root.pointer(pointer)
}

/// A list, or the one value that stands for a list.
fn listed(rule: &Value) -> &[Value] {
    rule.as_array().map_or_else(|| std::slice::from_ref(rule), Vec::as_slice)
}

fn missing(needed: &Value, fields: &Map<String, Value>, at: &str) -> Vec<String> {
    let needed = listed(needed).iter().filter_map(Value::as_str);
    let needed = needed.filter(|name| !fields.contains_key(*name));
    needed.map(|name| problem(at, &format!("`{name}` is missing"))).collect()
}

fn is_a(value: &Value, name: &Value) -> bool {
    match (name.as_str().unwrap_or_default(), value) {
        ("array", Value::Array(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("number", Value::Number(_))
        | ("object", Value::Object(_))
        | ("string", Value::String(_)) => true,
        ("integer", Value::Number(number)) => {
            number.as_i128().is_some() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

/// Equal as JSON: `1` is `1.0`.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => compare(one, two).is_some_and(|o| o.is_eq()),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            let is_in_two = |(name, value): (&String, &Value)| {
                two.get(name).is_some_and(|other| same(value, other))
            };
            one.len() == two.len() && one.iter().all(is_in_two)
        }
        _ => one == two,
    }
}

fn compare(one: &Number, two: &Number) -> Option<std::cmp::Ordering> {
    match (one.as_i128(), two.as_i128()) {
        (Some(one), Some(two)) => Some(one.cmp(&two)),
        _ => one.as_f64()?.partial_cmp(&two.as_f64()?),
    }
}

/// Whether a number keeps to a keyword about numbers; other keywords say nothing of it.
fn number_fits(keyword: &str, number: &Number, rule: &Value) -> bool {
    let Value::Number(limit) = rule else { return true };
    let ordering = compare(number, limit);
    match keyword {
        "minimum" => ordering.is_some_and(|ordering| ordering.is_ge()),
        "maximum" => ordering.is_some_and(|ordering| ordering.is_le()),
        "exclusiveMinimum" => ordering.is_some_and(|ordering| ordering.is_gt()),
        "exclusiveMaximum" => ordering.is_some_and(|ordering| ordering.is_lt()),
        "multipleOf" => match (number.as_i128(), limit.as_i128()) {
            (Some(number), Some(divisor)) => number % divisor == 0,
            _ => {
                let times = number.as_f64().zip(limit.as_f64()).map(|(n, d)| n / d);
                // 0.3 is three times 0.1, which no two binary fractions are.
                times.is_some_and(|times| (times - times.round()).abs() <= 1e-9 * times.abs())
            }
        },
        _ => true,
    }
}

fn size_fits(keyword: &str, size: usize, rule: &Value) -> bool {
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    let is_least = keyword.starts_with("min");
    rule.as_u64().is_some_and(|limit| if is_least { size >= limit } else { size <= limit })
}

fn problem(at: &str, what: &str) -> String {
    if at.is_empty() { what.to_owned() } else { format!("{what} (at {at})") }
}

/// The beginning of a value: arguments may be pages.
fn short(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
