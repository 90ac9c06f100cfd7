//! `pintle.toml`, held against its schema like a profile's files, so that everything wrong with it shows at once.

use super::approvals::{self, WrittenRule};
use super::consumers::ConsumerSettings;
use super::records::RecordSettings;
use super::sandbox::{self, SandboxSettings};
use crate::document::{Field, Kind, Node};
use crate::report::{Problem, place};
use crate::webhook::allowlist_entry;
use crate::{schema::schema_of, schema_check};
use pintle_policy::{Level, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// The operator's file in the data folder.
pub const OPERATOR_FILE: &str = "pintle.toml";

/// Everything in it may be left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorFile {
    /// The loosest level that a profile may have.
    pub level: Level,
    /// The profile to use where none is found nearer: a path from this file's folder, or with `~/`. `PINTLE_PROFILE` goes before it.
    #[schemars(extend("format" = "non-empty"))]
    pub profile: Option<String>,
    /// Whether profiles may run programs: command hooks, and MCP servers that are started. `PINTLE_ALLOW_COMMAND_HOOKS` goes before it.
    pub allow_command_hooks: bool,
    /// Switches observers off (`log`, `save_json`, `webhook`, and plugins that only watch). Gates stay on. `PINTLE_DISABLE_HOOKS` goes before it.
    pub disable_hooks: bool,
    /// Where webhooks may go, by origin and path; this machine only if it is left out. `PINTLE_WEBHOOK_ALLOWLIST` goes before it.
    pub(super) webhook_allowlist: Vec<String>,
    /// Who may answer questions: users of this machine, and `operator` for the user who runs pintle. Default: `operator`.
    pub(super) approvers: Option<Vec<String>>,
    /// How long a question waits for an answer, in milliseconds. Default: 30 minutes.
    #[schemars(range(min = 1))]
    pub(super) approval_timeout_ms: Option<u64>,
    /// The most model rounds of a run.
    #[schemars(range(min = 1))]
    pub(super) max_turns: Option<u32>,
    /// The most money that a run may cost, in US dollars.
    #[schemars(range(min = 0))]
    pub(super) max_cost_usd: Option<f64>,
    /// The most time that a run may take, in seconds.
    #[schemars(range(min = 1))]
    pub(super) max_seconds: Option<u64>,
    /// Names of variables whose values are removed from everything that hooks, webhooks and logs get.
    pub secrets: Vec<String>,
    /// Variables that command hooks get.
    pub hook_env: BTreeMap<String, String>,
    /// The proxy for webhooks to other machines. `http_proxy` and its like are ignored.
    #[schemars(extend("format" = "proxy-url"))]
    pub webhook_proxy: Option<String>,
    /// Calls that run without a question.
    pub approvals: Vec<WrittenRule>,
    /// What confined processes may read, write and reach.
    pub sandbox: SandboxSettings,
    /// The built-in consumers: which are off, and how the others work.
    pub consumers: ConsumerSettings,
    /// The OTLP/HTTP endpoint that gets every run as a trace, like `http://localhost:4318`: https, or http to this machine.
    #[schemars(extend("format" = "http-url"))]
    pub otlp: Option<String>,
    /// Whether traces have prompts, answers, arguments and results too.
    pub otlp_content: bool,
    /// How many records of runs are kept.
    pub records: RecordSettings,
}

/// Read several times in a start.
static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<OperatorFile>);

/// The JSON Schema of pintle.toml.
#[must_use]
pub fn operator_schema() -> Value {
    SCHEMA.clone()
}

/// What the file says, as far as it can be read, and everything that is wrong with it.
pub(super) fn read(text: &str, tools: &[ToolSpec]) -> (OperatorFile, Node, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems = syntax(&errors, text);
    let document = node_of_table(table.get_ref(), 0..text.len());
    let shape = schema_check::check(&document, &SCHEMA, Path::new(""), &[]);
    // A value that could not be read is reported once.
    let reported = |at: &Range<usize>| {
        problems.iter().any(|it| it.span.start <= at.end && at.start <= it.span.end)
    };
    let shape: Vec<Problem> = shape.into_iter().filter(|it| !reported(&it.span)).collect();
    problems.extend(shape);
    problems.extend(between_fields(&document, tools));
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
            _ => "a line is `key = value`; strings are in quotes, lists in [ ]",
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
fn between_fields(file: &Node, tools: &[ToolSpec]) -> Vec<Problem> {
    let items = |key: &str| file.list(key);
    let mut problems = Vec::new();
    if let Some(named) = file.get("approvers") {
        let blank = |it: &&Node| it.text().is_some_and(|who| who.trim().is_empty());
        let empty = (named.is_list() && named.items().is_empty()).then_some(named);
        for missing in empty.into_iter().chain(named.items().iter().filter(blank)) {
            let (what, label) = ("`approvers` is empty", "then nothing could be approved");
            let help = "name users of this machine, or `operator`, or leave it out";
            problems.push(Problem::at(missing.span.clone(), what, label, help));
        }
    }
    for entry in items("webhook_allowlist") {
        let Some(Err(why)) = entry.text().map(allowlist_entry) else { continue };
        problems.push(bad_entry(entry.span.clone(), why));
    }
    for name in items("secrets") {
        if name.text().is_some_and(|name| !pintle_policy::shell::is_variable_name(name)) {
            let (what, label) =
                ("this is not the name of a variable", "expected a name like `DEPLOY_TOKEN`");
            let help = "write the variable's name, never its value";
            problems.push(Problem::at(name.span.clone(), what, label, help));
        }
    }
    for variable in file.table("hook_env") {
        if variable.key.is_empty() || variable.key.contains(['=', '\0']) {
            let message = format!("`hook_env`: `{}` is not the name of a variable", variable.key);
            let label = "expected a name like `TEAM`";
            problems.push(Problem::at(variable.key_span.clone(), message, label, "rename it"));
        }
    }
    problems.extend(approvals::check(file, tools));
    problems
}

pub(super) fn bad_entry(span: Range<usize>, why: String) -> Problem {
    let what = "this entry of the webhook allowlist cannot be used";
    Problem::at(span, what, "expected an origin and a path", why)
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
