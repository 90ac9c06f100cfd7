//! Rules between fields, which no schema can say.

use super::action::actions;
use super::document::{Field, Node};
use super::report::Problem;
use super::{ActionKind, BUCKETS};
use pintle::similar::nearest;
use pintle_policy::{Guard, GuardKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// Everything in agent.json that fits the schema and is wrong all the same. `folders` are the personalities that have one.
pub(crate) fn check(file: &Node, folders: &BTreeSet<String>, kinds: &[ActionKind]) -> Vec<Problem> {
    let mut found = Found::default();
    hooks(file, kinds, &mut found);
    personalities(file, folders, &mut found);
    servers(file, &mut found);
    policies(file, &mut found);
    approvers(file, &mut found);
    found.problems
}

#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
}

impl Found {
    fn say(&mut self, span: &Range<usize>, message: impl Into<String>, label: &str, help: &str) {
        self.problems.push(Problem::at(span.clone(), message, label, help));
    }
}

const OWN_NAME: &str = "give it a name of its own, so that records can tell them apart";

fn hooks(file: &Node, kinds: &[ActionKind], found: &mut Found) {
    let mut names = BTreeSet::new();
    for (bucket, action) in actions(file) {
        let Some(tag) = action.get("action") else { continue };
        let kind = kinds.iter().find(|kind| tag.text() == Some(kind.name));
        let only_in = kind.and_then(|kind| kind.only_in).filter(|it| it.bucket != bucket.name);
        if let Some((only_in, kind)) = only_in.zip(kind) {
            let message = format!("`{}` does not belong in `{}`", kind.name, bucket.name);
            let help = format!("move it to `{}`: {}", only_in.bucket, only_in.why);
            found.say(&tag.span, message, only_in.label, &help);
        } else if let Some(tools) = action.fields().iter().find(|f| f.key == "tools")
            && !bucket.has_tool
        {
            let message = format!("`tools` has no meaning in `{}`", bucket.name);
            let with_tool = BUCKETS.iter().filter(|it| it.has_tool);
            let names: Vec<String> = with_tool.map(|it| format!("`{}`", it.name)).collect();
            let help = format!("remove it, or move the action to {}", names.join(" or "));
            found.say(&tools.key_span, message, "there is no tool at this moment", &help);
        }
        if let Some(node) = action.get("name")
            && let Some(name) = node.text()
            && !names.insert(name)
        {
            found.say(&node.span, format!("another hook is called `{name}` already"), "", OWN_NAME);
        }
    }
}

/// Hooks that are called as one of the program's own is: records could not tell them apart.
pub(super) fn taken_names(file: &Node, taken: &[&str]) -> Vec<Problem> {
    let mut found = Found::default();
    for (_, action) in actions(file) {
        if let Some(node) = action.get("name")
            && let Some(name) = node.text().filter(|name| taken.contains(name))
        {
            let message = format!("`{name}` is the name of a built-in hook");
            found.say(&node.span, message, "taken", OWN_NAME);
        }
    }
    found.problems
}

fn personalities(file: &Node, folders: &BTreeSet<String>, found: &mut Found) {
    let inline = file.table("personalities");
    for both in inline.iter().filter(|f| folders.contains(&f.key)) {
        let message = format!("the personality `{}` is written here and in a folder", both.key);
        let label = format!("also in `personalities/{}/`", both.key);
        found.say(&both.key_span, message, &label, "keep one of them");
    }
    let known: Vec<&str> =
        inline.iter().map(|f| f.key.as_str()).chain(folders.iter().map(String::as_str)).collect();
    let unknown = |name: &&Node| {
        name.text().is_some_and(|text| !text.trim().is_empty() && !known.contains(&text))
    };
    if let Some(name) = file.get("personality").filter(unknown) {
        let text = name.text().unwrap_or_default();
        let help = match nearest(text, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "add it to `personalities`, or make a folder `personalities/{text}/` with a `SOUL.md`"
            ),
        };
        let message = format!("there is no personality `{text}`");
        found.say(&name.span, message, "not in `personalities`", &help);
    }
}

fn servers(file: &Node, found: &mut Found) {
    for Field { key, key_span, value } in file.table("mcpServers") {
        let has = |key: &str| value.get(key).is_some();
        let (what, label, help) = match (has("command"), has("url")) {
            _ if !value.is_object() => continue,
            (false, false) => (
                "has neither `command` nor `url`",
                "cannot be reached",
                "add `command` (and `args`) for a program, or `url` for an address",
            ),
            (true, true) => (
                "has both `command` and `url`",
                "which one is it?",
                "keep `command` for a program, or `url` for an address",
            ),
            (false, true) if has("args") || has("env") || has("zone") => (
                "is an address: `args`, `env` and `zone` have no meaning",
                "has `url`",
                "remove `args`, `env` and `zone`, or use `command`",
            ),
            _ => continue,
        };
        found.say(key_span, format!("the MCP server `{key}` {what}"), label, help);
    }
}

fn policies(file: &Node, found: &mut Found) {
    for policy in file.list("policies") {
        let rules = |key: &str| policy.list(key);
        // What is misspelt there, or something else, was reported as that.
        let is_reported = policy.fields().iter().any(|field| match field.key.as_str() {
            "allow" | "deny" => !field.value.is_list(),
            "tool" | "kind" => false,
            other => nearest(other, ["allow", "deny"]).is_some(),
        });
        let is_empty = rules("allow").is_empty() && rules("deny").is_empty();
        if policy.is_object() && !is_reported && is_empty {
            let help = "add \"deny\": [\"rm -rf *\"], or remove the guard: it would guard nothing";
            let label = "neither `allow` nor `deny`";
            found.say(&policy.head(), "this guard has no rules", label, help);
        }
        let (kind, expected) = match policy.str("kind") {
            Some("shell") => (GuardKind::Shell, "expected a program and its words"),
            Some("path") => (GuardKind::Path, "expected a glob of paths"),
            Some("json") => (GuardKind::Json, "expected a field, or a field and a glob"),
            _ => continue,
        };
        for rule in rules("allow").iter().chain(rules("deny")) {
            if let Some(error) = rule.text().and_then(|text| Guard::check_rule(kind, text).err()) {
                found.say(&rule.span, "this rule cannot be used", expected, &error.message);
            }
        }
    }
}

/// An empty list differs from one that is left out: a call that needs an approval could never get one.
fn approvers(file: &Node, found: &mut Found) {
    let named = file.get("security").and_then(|security| security.get("approvers"));
    if let Some(named) = named.filter(|it| it.is_list() && it.items().is_empty()) {
        let help = "leave it out for the operator's list, or name some of it";
        found.say(&named.span, "`approvers` is empty", "then nothing could be approved", help);
    }
}
