//! `pintle.toml`, held against its schema like a profile's files, so that everything wrong with it shows at once.

use super::approvals::{self, WrittenRule};
use super::sandbox::{self, SandboxSettings};
use crate::document::{Field, Kind, Node};
use crate::report::{Problem, place};
use crate::webhook::allowlist_entry;
use crate::{schema::schema_of, schema_check};
use pintle_policy::Level;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// The operator's file in the data folder.
pub const OPERATOR_FILE: &str = "pintle.toml";

/// Everything in it may be left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OperatorFile {
    pub(super) level: Level,
    #[schemars(extend("format" = "non-empty"))]
    pub(super) profile: Option<String>,
    pub(super) allow_command_hooks: bool,
    pub(super) disable_hooks: bool,
    pub(super) webhook_allowlist: Vec<String>,
    pub(super) approvers: Option<Vec<String>>,
    #[schemars(range(min = 1))]
    pub(super) approval_timeout_ms: Option<u64>,
    #[schemars(range(min = 1))]
    pub(super) max_turns: Option<u32>,
    #[schemars(range(min = 0))]
    pub(super) max_cost_usd: Option<f64>,
    #[schemars(range(min = 1))]
    pub(super) max_seconds: Option<u64>,
    pub(super) secrets: Vec<String>,
    pub(super) hook_env: BTreeMap<String, String>,
    #[schemars(extend("format" = "proxy-url"))]
    pub(super) webhook_proxy: Option<String>,
    pub(super) approvals: Vec<WrittenRule>,
    pub(super) sandbox: SandboxSettings,
}

/// What the file says, as far as it can be read, and everything that is wrong with it.
pub(super) fn read(text: &str) -> (OperatorFile, Node, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems = syntax(&errors, text);
    let document = node_of_table(table.get_ref(), 0..text.len());
    let shape = schema_check::check(&document, &schema_of::<OperatorFile>(), Path::new(""));
    // A value that could not be read is told of once.
    let told = |at: &Range<usize>| {
        problems.iter().any(|it| it.span.start <= at.end && at.start <= it.span.end)
    };
    let shape: Vec<Problem> = shape.into_iter().filter(|it| !told(&it.span)).collect();
    problems.extend(shape);
    problems.extend(between_fields(&document));
    problems.extend(sandbox::check(&document));
    let file = match problems.is_empty() {
        true => serde_json::from_value(document.to_json()).unwrap_or_else(|error| {
            // The checks before this one are stricter than serde; should they ever differ, nothing is taken.
            problems.push(Problem::new(0..0, error.to_string()));
            OperatorFile::default()
        }),
        false => OperatorFile::default(),
    };
    (file, document, problems)
}

/// What is not TOML: of each line the first, and of a list that does not end the first too. The rest follows from it.
fn syntax(errors: &[toml::de::Error], text: &str) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let (mut lines, mut lists) = (BTreeSet::new(), 0_usize);
    for error in errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        let message = error.message().replace('\n', ", ");
        let help = match message.as_str() {
            it if it.contains("array") => {
                lists = lists.saturating_add(1);
                "a list is `[\"a\", \"b\"]`: is the `]` of the one before missing?"
            }
            it if it.starts_with("duplicate key") => "keep one of them",
            _ => "a line is `key = value`; texts stand in quotes, lists in [ ]",
        };
        let follows = message.contains("array") && lists > 1;
        if lines.insert(place(text, span.start).0) && !follows {
            let message = format!("this is not TOML: {message}");
            problems.push(Problem::new(span, message).help(help));
        }
    }
    problems
}

/// What no schema can say.
fn between_fields(file: &Node) -> Vec<Problem> {
    let items = |key: &str| file.get(key).map(Node::items).unwrap_or_default();
    let mut problems = Vec::new();
    if let Some(named) = file.get("approvers") {
        let blank = |it: &&Node| it.text().is_some_and(|who| who.trim().is_empty());
        let empty = matches!(&named.kind, Kind::List(items) if items.is_empty()).then_some(named);
        for nobody in empty.into_iter().chain(named.items().iter().filter(blank)) {
            let problem = Problem::new(nobody.span.clone(), "`approvers` names nobody");
            let problem = problem.label("then nothing could be approved");
            problems
                .push(problem.help("name users of this machine, or `operator`, or leave it out"));
        }
    }
    for entry in items("webhook_allowlist") {
        let Some(Err(why)) = entry.text().map(allowlist_entry) else { continue };
        problems.push(bad_entry(entry.span.clone(), why));
    }
    for name in items("secrets") {
        if name.text().is_some_and(|name| !pintle_policy::shell::is_variable_name(name)) {
            let problem = Problem::new(name.span.clone(), "this is no name of a variable");
            let problem = problem.label("expected a name like `DEPLOY_TOKEN`");
            problems.push(problem.help("write the variable's name, never its value"));
        }
    }
    for variable in file.get("hook_env").map(Node::fields).unwrap_or_default() {
        if variable.key.is_empty() || variable.key.contains(['=', '\0']) {
            let message = format!("`hook_env`: `{}` is no name of a variable", variable.key);
            let problem = Problem::new(variable.key_span.clone(), message);
            problems.push(problem.label("expected a name like `TEAM`").help("rename it"));
        }
    }
    problems.extend(approvals::check(file));
    problems
}

pub(super) fn bad_entry(span: Range<usize>, why: String) -> Problem {
    let problem = Problem::new(span, "this entry of the webhook allowlist cannot be used");
    problem.label("expected an origin and a path").help(why)
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Integer(number) => Kind::Number(decimal(number)),
        DeValue::Float(number) => Kind::Number(number.as_str().trim_start_matches('+').to_owned()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(date) => Kind::Text(date.to_string()),
        DeValue::Array(items) => Kind::List(items.iter().map(node).collect()),
        DeValue::Table(table) => return node_of_table(table, span),
    };
    Node { span, kind }
}

fn node_of_table(table: &DeTable<'_>, span: Range<usize>) -> Node {
    let field = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Field { key: key.get_ref().to_string(), key_span: key.span(), value: node(value) }
    };
    Node { span, kind: Kind::Object(table.iter().map(field).collect()) }
}

fn decimal(number: &DeInteger<'_>) -> String {
    let digits = number.as_str().trim_start_matches('+');
    i128::from_str_radix(digits, number.radix())
        .map_or_else(|_| digits.to_owned(), |it| it.to_string())
}
