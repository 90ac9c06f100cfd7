//! The reference pages of agent.json and pintle.toml are made from the schemas that validate these files, and the example of
//! each page has every key. `PINTLE_UPDATE=1` writes the tables anew.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use serde_json::Value;

const BEGIN: &str = "<!-- These tables are made from the schema. -->\n";
const END: &str = "<!-- The end of the tables. -->\n";

/// Writes a section for an object of a schema, then one for each object in it.
struct Tables<'a> {
    schema: &'a Value,
    text: String,
    keys: BTreeSet<String>,
}

impl<'a> Tables<'a> {
    fn resolved(&self, node: &'a Value) -> &'a Value {
        let reference = node["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|path| self.schema.pointer(path)).unwrap_or(node)
    }

    /// In a word or two: what is written there.
    fn kind(&self, node: &'a Value) -> String {
        let node = self.resolved(node);
        let constants =
            node["oneOf"].as_array().into_iter().flatten().filter_map(|one| one.get("const"));
        let listed = node["enum"].as_array().into_iter().flatten();
        let values: Vec<String> =
            constants.chain(listed).map(|value| format!("`{value}`")).collect();
        if !values.is_empty() {
            return values.join(", ");
        }
        match node["type"].as_str() {
            Some("array") => format!("list of {}", self.kind(&node["items"])),
            Some("object") if node["additionalProperties"].is_object() => {
                format!("by name: {}", self.kind(&node["additionalProperties"]))
            }
            Some("string") => "string".into(),
            Some("integer" | "number") => "number".into(),
            Some("boolean") => "`true` or `false`".into(),
            _ => "object".into(),
        }
    }

    fn section(&mut self, heading: &str, node: &'a Value) {
        let node = self.resolved(node);
        if let Some(kinds) =
            node["oneOf"].as_array().filter(|kinds| kinds[0]["properties"].is_object())
        {
            for kind in kinds {
                let name = kind["properties"]["action"]["const"].as_str().unwrap_or_default();
                self.section(&format!("{heading}: `{name}`"), kind);
            }
            return;
        }
        let Some(properties) = node["properties"].as_object() else { return };
        let about = node["description"].as_str().unwrap_or_default();
        let about = without_rule(about.lines().next().unwrap_or_default());
        write!(self.text, "\n## {heading}\n\n{about}\n\n| key | value | |\n|---|---|---|\n")
            .unwrap();
        let required: Vec<&str> =
            node["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, field) in properties {
            if field == &Value::Bool(false) || field["const"].is_string() && key == "action" {
                continue;
            }
            self.keys.insert(key.clone());
            let about =
                field["description"].as_str().or(self.resolved(field)["description"].as_str());
            let about =
                without_rule(about.unwrap_or_default()).replace('\n', " ").replace('|', "\\|");
            let needed = if required.contains(&key.as_str()) { " Required." } else { "" };
            writeln!(self.text, "| `{key}` | {} | {about}{needed} |", self.kind(field)).unwrap();
        }
        for (key, field) in properties {
            let field = self.resolved(field);
            let name = if heading.starts_with('`') {
                format!("`{}.{key}`", heading.trim_matches('`'))
            } else {
                format!("`{key}`")
            };
            let inner = match field["type"].as_str() {
                Some("array") => self.resolved(&field["items"]),
                Some("object") if field["additionalProperties"].is_object() => {
                    self.resolved(&field["additionalProperties"])
                }
                _ => field,
            };
            // Every bucket has the same actions: they are written once.
            if !self.text.contains("An action: ") || inner["oneOf"].is_null() {
                let is_action = inner["oneOf"][0]["properties"].is_object();
                self.section(if is_action { "An action" } else { &name }, inner);
            }
        }
    }
}

/// A description for readers, who do not know the numbers of rules.
fn without_rule(about: &str) -> String {
    match (about.find(" (R"), about.find(')')) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{}", &about[..start], &about[end + 1..])
        }
        _ => about.to_string(),
    }
}

/// Compares the tables of a page with the schema, and its example with the keys.
fn check(page: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let mut tables = Tables { schema, text: String::new(), keys: BTreeSet::new() };
    tables.section("The file", schema);
    let should_be = format!("{before}{BEGIN}{}\n{END}{after}", tables.text);
    if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &should_be).unwrap();
    } else {
        assert!(text == should_be, "docs/{page} is out of date (PINTLE_UPDATE=1 mends it)");
    }
    let missing: Vec<_> = tables
        .keys
        .iter()
        .filter(|key| {
            !after.contains(&format!("\"{key}\""))
                && !after.contains(&format!("\n{key} ="))
                && !after.contains(&format!("[{key}"))
                && !after.contains(&format!(".{key}"))
        })
        .collect();
    assert!(missing.is_empty(), "docs/{page}: the example has no {missing:?}");
}

#[test]
fn the_page_on_agent_json_has_every_key_with_an_example() {
    let schema = include_str!("../../../../schemas/agent.schema.json");
    check("agent-json.md", &serde_json::from_str(schema).unwrap());
}

#[test]
fn the_page_on_pintle_toml_has_every_key_with_an_example() {
    check("pintle-toml.md", &pintle_profile::operator_schema());
}
