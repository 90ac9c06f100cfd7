//! Guards on fields as they are.

use super::{PatternError, Refusal, glob};
use glob::Pattern;
use serde_json::Value;

#[derive(Debug, Clone)]
struct Rule {
    written: String,
    pointer: String,
    matches: Option<Pattern>,
}

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new(allow: &[String], deny: &[String]) -> Result<Self, PatternError> {
        Ok(Self { allow: super::each(allow, Rule::new)?, deny: super::each(deny, Rule::new)? })
    }

    pub(crate) fn judge(&self, input: &Value) -> Option<Refusal> {
        if let Some(rule) = self.deny.iter().find(|rule| rule.finds_one(input)) {
            return Some(Refusal::denied(&format!("the field `{}`", rule.pointer), &rule.written));
        }
        let allowed = self.allow.is_empty() || self.allow.iter().any(|rule| rule.finds_all(input));
        (!allowed).then(|| Refusal::not_allowed("the input"))
    }
}

impl Rule {
    fn new(written: &str) -> Result<Self, PatternError> {
        let (pointer, pattern) = match written.split_once('=') {
            Some((pointer, pattern)) => (pointer, Some(glob(pattern)?)),
            None => (written, None),
        };
        if pattern.as_ref().is_some_and(|pattern| pattern.as_str().starts_with('!')) {
            let message = format!(
                "`{written}` has a glob that starts with `!`, which does not negate here: write what may pass \
                 in `allow`; for a text that begins with the sign write `?` in its place"
            );
            return Err(PatternError { message });
        }
        if !pointer.starts_with('/') {
            let message = format!(
                "`{written}` is not a rule for JSON: write `/field` or `/field=glob`, `/a/b` for a field in a field"
            );
            return Err(PatternError { message });
        }
        Ok(Self { written: written.to_owned(), pointer: pointer.to_owned(), matches: pattern })
    }

    fn finds_one(&self, input: &Value) -> bool {
        let Some(value) = input.pointer(&self.pointer) else { return false };
        let Some(pattern) = &self.matches else { return true };
        leaves(value).iter().any(|leaf| pattern.matches(leaf))
    }

    fn finds_all(&self, input: &Value) -> bool {
        let Some(value) = input.pointer(&self.pointer) else { return false };
        let Some(pattern) = &self.matches else { return true };
        let leaves = leaves(value);
        !leaves.is_empty() && leaves.iter().all(|leaf| pattern.matches(leaf))
    }
}

/// The texts in a value: a string is itself, a number or a boolean is its JSON.
fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            other => found.push(other.to_string()),
        }
    }
    found
}
