//! Holds a file against its schema and says everything that does not fit.

use super::document::{Field, Kind, Node};
use super::report::Problem;
use super::{ActionKind, Bucket, formats, suggestions};
use pintle::similar::nearest;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// Lists whose texts are names or patterns.
const IDENTITIES: [&str; 5] = ["approvers", "plugins", "allow", "deny", "tools"];

/// Every way in which `node` does not fit `schema`. `folder` is where paths start.
pub(crate) fn check(
    node: &Node,
    schema: &Value,
    folder: &Path,
    actions: &[ActionKind],
) -> Vec<Problem> {
    let mut checker = Checker { root: schema, folder, actions, problems: Vec::new() };
    checker.value(node, schema, "the file");
    checker.problems
}

struct Checker<'a> {
    root: &'a Value,
    folder: &'a Path,
    actions: &'a [ActionKind],
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn say(&mut self, span: &Range<usize>, message: String, label: &str, help: impl Into<String>) {
        self.problems.push(Problem::at(span.clone(), message, label, help));
    }

    fn follow(&self, schema: &'a Value) -> &'a Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
        target.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(schema)
    }

    fn value(&mut self, node: &Node, schema: &'a Value, called: &str) {
        let schema = self.follow(schema);
        if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
            return match names_of(branches) {
                Some(names) => self.one_of_names(node, &names, called),
                None => self.tagged(node, branches, called),
            };
        }
        if let Some(names) = schema.get("enum").and_then(Value::as_array) {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            return self.one_of_names(node, &names, called);
        }
        let expected = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        match (&node.kind, expected) {
            (Kind::Object(_), "object") => self.object(node, schema, called, None),
            (Kind::List(items), "array") => {
                let globs = schema.get("format").is_some_and(|f| f == "globs");
                for item in items {
                    if let Some(of) = schema.get("items") {
                        self.value(item, of, called);
                    }
                    if let Some(text) = item.text().filter(|_| globs) {
                        let wrong = formats::check("glob", text, item.span.clone(), self.folder);
                        self.problems.extend(wrong);
                    }
                }
            }
            (Kind::Text(text), "string") => self.text(node, text, schema, called),
            (Kind::Number(written), "integer" | "number") => {
                self.number(node, written, expected, schema, called)
            }
            (Kind::Bool(_), "boolean") | (_, "") => {}
            _ => self.wrong_type(node, expected, called),
        }
    }

    fn wrong_type(&mut self, node: &Node, expected: &str, called: &str) {
        let wanted = match expected {
            "object" => "an object `{ … }`",
            "array" => "a list `[ … ]`",
            "string" => "a string in quotes",
            "integer" => "a whole number",
            "number" => "a number",
            _ => "`true` or `false`",
        };
        let number = || node.text().and_then(|text| suggestions::duration(called, text));
        let meant = suggestions::example(called, node, expected)
            .or_else(|| number().map(|number| format!("write {number}")));
        let help = meant.unwrap_or_else(|| match (&node.kind, expected) {
            (Kind::Null, _) => "leave the field out instead of writing `null`".to_owned(),
            (Kind::Text(text), "array") => format!("put it in a list: [\"{text}\"]"),
            (Kind::Object(_), "array") => "put it in a list: [{ … }]".to_owned(),
            (Kind::Text(text), "integer" | "number") if text.parse::<f64>().is_ok() => {
                format!("write it without quotes: {text}")
            }
            (Kind::Text(text), "boolean") if text == "true" || text == "false" => {
                format!("write it without quotes: {text}")
            }
            (Kind::Number(n), "string") => format!("write it in quotes: \"{n}\""),
            _ => format!("write {wanted}"),
        });
        let message = format!("{called} must be {wanted}, not {}", node.what());
        self.say(&node.span, message, &format!("expected {wanted}"), help);
    }

    fn one_of_names(&mut self, node: &Node, names: &[&str], called: &str) {
        let message = match node.text() {
            Some(written) if names.contains(&written) => return,
            Some(written) => format!("{called} cannot be `{written}`"),
            None if matches!(node.kind, Kind::Null) => {
                return self.wrong_type(node, "string", called);
            }
            None => format!("{called} must be a string in quotes, not {}", node.what()),
        };
        let near = node.text().and_then(|written| nearest(written, names.iter().copied()));
        let help = near.map_or_else(
            || format!("write one of {}", listed(names)),
            |near| format!("did you mean `{near}`?"),
        );
        self.say(&node.span, message, &format!("expected one of {}", listed(names)), help);
    }

    /// One of several objects, told apart by a field with a fixed value.
    fn tagged(&mut self, node: &Node, branches: &'a [Value], called: &str) {
        let tags: Vec<(&str, &str, &Value)> = branches.iter().filter_map(tag_of).collect();
        let Some((key, _, _)) = tags.first().copied() else { return };
        let names: Vec<&str> = tags.iter().map(|(_, name, _)| *name).collect();
        if let Some(written) = node.text().filter(|written| names.contains(written)) {
            let message = format!("{called} must be an object `{{ … }}`, not a string");
            let help = format!("write {{ \"{key}\": \"{written}\" }}");
            return self.say(&node.span, message, "expected an object `{ … }`", help);
        }
        if !node.is_object() {
            return self.wrong_type(node, "object", called);
        }
        let Some(tag) = node.get(key) else {
            let keys: Vec<&str> = node.fields().iter().map(|f| f.key.as_str()).collect();
            let misspelt = keys.iter().find(|k| nearest(k, [key]).is_some());
            let help = match (misspelt, suggestions::action_without(node, key, &names)) {
                (Some(wrong), _) => format!("did you mean `{key}` where `{wrong}` is written?"),
                (None, Some(help)) => help,
                (None, None) => match with_all(&tags, &keys) {
                    Some(name) => format!("add \"{key}\": \"{name}\""),
                    None => format!("write one of {}", listed(&names)),
                },
            };
            let label = format!("`{key}` must be one of {}", listed(&names));
            return self.say(&node.head(), format!("{called} has no `{key}`"), &label, help);
        };
        let Some(written) = tag.text() else {
            return self.one_of_names(tag, &names, &format!("`{key}`"));
        };
        match tags.iter().find(|(_, name, _)| *name == written) {
            Some((_, name, schema)) => {
                self.object(node, schema, &format!("the action `{name}`"), Some(key))
            }
            None => {
                let lower = written.to_lowercase();
                let is_meant = |kind: &&ActionKind| kind.also_called.contains(&lower.as_str());
                let meant = self.actions.iter().find(is_meant).map_or(written, |kind| kind.name);
                let near = nearest(meant, names.iter().copied());
                let help = match (near, suggestions::refusal(written)) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, Some(refuses)) => refuses.to_owned(),
                    (None, None) => format!("write one of {}", listed(&names)),
                };
                let label = format!("expected one of {}", listed(&names));
                self.say(&tag.span, format!("there is no {key} `{written}`"), &label, help);
                if let Some((_, name, schema)) =
                    tags.iter().find(|(_, name, _)| Some(*name) == near)
                {
                    self.object(node, schema, &format!("the action `{name}`"), Some(key));
                }
            }
        }
    }

    fn object(&mut self, node: &Node, schema: &'a Value, called: &str, tag: Option<&str>) {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let extra = schema.get("additionalProperties");
        let closed = extra == Some(&Value::Bool(false));
        // Sorted here: a build may keep a JSON map's keys in any order.
        let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
        names.sort_unstable();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut meant: Vec<&str> = Vec::new();
        for field in node.fields() {
            if !seen.insert(&field.key) {
                let message = format!("`{}` is written twice in {called}", field.key);
                let help = "keep one of them: readers differ in which one they believe";
                self.say(&field.key_span, message, "the second one", help);
                continue;
            }
            if tag == Some(field.key.as_str()) {
                continue;
            }
            let inner = format!("`{}`", field.key);
            // By name from the schema's own map, so that what is found lives as long as the schema.
            match schema.get("properties").and_then(|p| p.get(&field.key)) {
                Some(schema) => self.value(&field.value, schema, &inner),
                None if closed => meant.extend(self.unknown(field, schema, &names, called)),
                None => {
                    let hidden = formats::hidden(&field.key, field.key_span.clone(), false);
                    self.problems.extend(hidden);
                    if field.key.trim().is_empty() {
                        let message = format!("a name in {called} is empty");
                        self.say(&field.key_span, message, "", "give it a name");
                    }
                    if let Some(schema) = extra.filter(|e| e.is_object()) {
                        self.value(&field.value, schema, &inner);
                    }
                }
            }
        }
        let required =
            schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // A misspelt one was reported as that.
        let is_missing = |key: &&str| node.get(key).is_none() && !meant.contains(key);
        for key in required.iter().filter_map(Value::as_str).filter(is_missing) {
            let about =
                properties.get(key).and_then(|p| p.get("description")).and_then(Value::as_str);
            let help = match about {
                Some(about) => format!("add `{key}`: {}", lower(about).trim_end_matches('.')),
                None => format!("add `{key}`"),
            };
            let label = format!("`{key}` is missing here");
            self.say(&node.head(), format!("{called} has no `{key}`"), &label, help);
        }
    }

    /// A field that there is not. If it is plain which one is meant, what is in it is looked at as that one's.
    fn unknown<'n>(
        &mut self,
        field: &Field,
        schema: &'a Value,
        names: &[&'n str],
        called: &str,
    ) -> Option<&'n str> {
        let written = match called {
            "`hooks`" => Bucket::meant_by(&field.key).map_or(&*field.key, |meant| meant.name),
            _ => &field.key,
        };
        let meant = nearest(written, names.iter().copied());
        let elsewhere = || {
            suggestions::elsewhere(called, &field.key, &field.value)
                .map(str::to_owned)
                .or_else(|| suggestions::belongs(self.root, &field.key, called == "the file"))
        };
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => elsewhere().unwrap_or_else(|| match names {
                [] => "remove it".to_owned(),
                names => format!("remove it; the fields are {}", listed(names)),
            }),
        };
        let message = format!("{called} has no field `{}`", field.key);
        self.say(&field.key_span, message, "unknown field", help);
        if let Some(schema) = meant.and_then(|meant| schema.get("properties")?.get(meant)) {
            self.value(&field.value, schema, &format!("`{}`", field.key));
        }
        meant
    }

    fn text(&mut self, node: &Node, text: &str, schema: &Value, called: &str) {
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        // Prompts and scripts are pages; everything else is shown on one line, and compared.
        let is_page = format.is_empty() && !IDENTITIES.contains(&called.trim_matches('`'));
        let problem = formats::hidden(text, node.span.clone(), is_page)
            .or_else(|| formats::check(format, text, node.span.clone(), self.folder));
        self.problems.extend(problem);
    }

    fn number(&mut self, node: &Node, written: &str, expected: &str, schema: &Value, called: &str) {
        let Ok(number) = written.parse::<f64>() else {
            return self.wrong_type(node, expected, called);
        };
        let whole = written.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if expected == "integer" && !whole {
            let help = "write it without a fraction or an exponent";
            let message = format!("{called} must be a whole number");
            return self.say(&node.span, message, "expected a whole number", help);
        }
        let least = schema.get("minimum").and_then(Value::as_f64).unwrap_or(f64::MIN);
        let most = schema.get("maximum").and_then(Value::as_f64).unwrap_or(f64::MAX);
        if number < least || number > most || !number.is_finite() {
            let label = format!("expected at least {least} and at most {most}");
            let help = "leave the field out for the default";
            self.say(&node.span, format!("{called} cannot be {written}"), &label, help);
        }
    }
}

/// The names, if every branch is one fixed text (an enum whose variants have descriptions).
fn names_of(branches: &[Value]) -> Option<Vec<&str>> {
    branches.iter().map(|b| b.get("const").and_then(Value::as_str)).collect()
}

fn tag_of(branch: &Value) -> Option<(&str, &str, &Value)> {
    let properties = branch.get("properties")?.as_object()?;
    let (key, schema) = properties.iter().find(|(_, s)| s.get("const").is_some())?;
    Some((key, schema.get("const")?.as_str()?, branch))
}

/// The first branch that has every field written here, of those that some branch has.
fn with_all<'t>(tags: &[(&str, &'t str, &Value)], keys: &[&str]) -> Option<&'t str> {
    let has =
        |branch: &Value, key: &str| branch.get("properties").is_some_and(|p| p.get(key).is_some());
    let known = |key: &&&str| tags.iter().any(|(_, _, branch)| has(branch, key));
    let fits = |branch: &Value| keys.iter().filter(known).all(|key| has(branch, key));
    tags.iter().find(|(_, _, branch)| fits(branch)).map(|(_, name, _)| *name)
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    quoted.join(", ")
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
