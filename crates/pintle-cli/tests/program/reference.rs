//! The reference pages of agent.json and pintle.toml are made from the schemas that validate these files, and the example of
//! each page has every key. The lists of commands and of providers are those of the program. `PINTLE_UPDATE=1` writes the
//! tables anew.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use serde_json::Value;

use crate::support::World;

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

/// Compares what is between two lines of a page, or writes it, and gives what follows.
fn made(page: &str, begin: &str, end: &str, tables: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).expect("the tables end");
    let should_be = format!("{before}{begin}{tables}\n{end}{after}");
    if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &should_be).unwrap();
    } else {
        assert!(text == should_be, "docs/{page} is out of date (PINTLE_UPDATE=1 mends it)");
    }
    after.to_string()
}

/// Compares the tables of a page with the schema, and its example with the keys.
fn check(page: &str, schema: &Value) {
    let mut tables = Tables { schema, text: String::new(), keys: BTreeSet::new() };
    tables.section("The file", schema);
    let after = made(page, BEGIN, END, &tables.text);
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

const CHAT: &str = "chat-and-models.md";
const END_OF_LIST: &str = "<!-- The end of the list. -->\n";

#[test]
fn the_page_on_the_chat_has_every_command_of_help() {
    let help = World::new().piped(&["chat"], b"/help\n");
    let mut table = "\n| command | does |\n|---|---|\n".to_string();
    let lines = format!("{}{}", help.out, help.err);
    for line in lines.lines().filter_map(|line| line.strip_prefix("  /")) {
        let (name, does) = line.split_once(' ').unwrap();
        writeln!(table, "| `/{name}` | {} |", does.trim()).unwrap();
    }
    assert!(table.contains("| `/approvals` |"), "the commands are found: {help}");
    made(CHAT, "<!-- The list of commands is that of /help. -->\n", END_OF_LIST, &table);
}

#[test]
fn the_page_on_models_has_every_provider_with_the_variables_of_its_key_and_address() {
    let mut table = "\n| provider | key | address |\n|---|---|---|\n".to_string();
    for provider in pintle_llm::providers() {
        let key =
            pintle_llm::key_variable(provider).map_or("–".into(), |name| format!("`{name}`"));
        writeln!(table, "| `{provider}` | {key} | `{}_BASE_URL` |", provider.to_uppercase())
            .unwrap();
    }
    let begin = "<!-- The list of providers is that of the program. -->\n";
    made(CHAT, begin, END_OF_LIST, &table);

    // The address is where the program really looks.
    let said = World::new().bare(
        &["chat", "-q", "hi", "--model", "ollama/llama3"],
        &[("OLLAMA_BASE_URL", "http://127.0.0.1:9")],
    );
    assert!(said.err.contains("127.0.0.1:9"), "{said}");
}

#[test]
fn the_page_on_environment_variables_has_each_that_the_program_reads() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(CHAT));
    let page = page.unwrap();
    let read = include_str!("../../src/environment.rs");
    let named: BTreeSet<_> =
        read.split('"').filter(|text| text.starts_with("PINTLE_") && !text.contains(' ')).collect();
    assert!(named.len() > 5, "the variables are found: {named:?}");
    for name in named {
        assert!(page.contains(&format!("| `{name}` |")), "docs/{CHAT} has no `{name}`");
    }
}
