//! Rules between fields, which no schema can say.

use super::document::{Field, Kind, Node};
use super::formats::{bad_program, is_saved_as};
use super::report::Problem;
use super::{Bucket, HOOKS_FOLDER, hook_commands};
use pintle_policy::{Guard, GuardKind, nearest, normal, resolve};
use std::collections::BTreeSet;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Everything in agent.json that fits the schema and is wrong all the same. `folders` are the personalities that have one.
pub(crate) fn check(
    file: &Node,
    folder: &Path,
    folders: &BTreeSet<String>,
    data: Option<&Path>,
) -> Vec<Problem> {
    let mut found = Found::default();
    let words = hook_commands::words(file);
    let scripts = words.iter().filter_map(|word| hook_commands::path_in(folder, word)).collect();
    hooks(file, &Saving { folder, data, scripts }, &mut found);
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

fn field<'n>(node: &'n Node, key: &str) -> &'n [Field] {
    node.get(key).map(Node::fields).unwrap_or_default()
}

/// The opening bracket: where something that is missing is shown.
fn head(node: &Node) -> Range<usize> {
    node.span.start..node.span.start.saturating_add(1)
}

const OWN_NAME: &str = "give it a name of its own, so that records can tell them apart";

fn hooks(file: &Node, saving: &Saving<'_>, found: &mut Found) {
    let mut names = BTreeSet::new();
    for bucket in field(file, "hooks") {
        let Some(kind) = Bucket::parse(&bucket.key) else { continue };
        for action in bucket.value.items() {
            let Some(tag) = action.get("action") else { continue };
            let what = tag.text().unwrap_or_default();
            if what == "approve" && kind != Bucket::OnToolCall {
                let message = format!("`approve` cannot stand in `{}`", bucket.key);
                let help = "move it to `onToolCall`: only a tool call can wait for a person";
                found.say(&tag.span, message, "there is no call to approve here", help);
            }
            if !kind.has_tool()
                && what != "approve"
                && let Some(tools) = action.fields().iter().find(|f| f.key == "tools")
            {
                let message = format!("`tools` has no meaning in `{}`", bucket.key);
                let help = "remove it, or move the action to `onToolCall` or `onToolEnd`";
                found.say(&tools.key_span, message, "there is no tool at this moment", help);
            }
            if let Some(node) = action.get("name")
                && let Some(name) = node.text()
                && !names.insert(name.to_owned())
            {
                found.say(
                    &node.span,
                    format!("another hook is called `{name}` already"),
                    "",
                    OWN_NAME,
                );
            }
            match what {
                "command" => command(action, saving.folder, found),
                "save_json" => save(action, saving, found),
                _ => {}
            }
        }
    }
}

/// Hooks that are called as one of the program's own is: records could not tell them apart.
pub(super) fn taken_names(file: &Node, taken: &[&str]) -> Vec<Problem> {
    let mut found = Found::default();
    for action in field(file, "hooks").iter().flat_map(|bucket| bucket.value.items()) {
        if let Some(node) = action.get("name")
            && let Some(name) = node.text().filter(|name| taken.contains(name))
        {
            let message = format!("`{name}` is the name of a built-in hook");
            found.say(&node.span, message, "taken", OWN_NAME);
        }
    }
    found.problems
}

fn command(action: &Node, folder: &Path, found: &mut Found) {
    match (action.get("command"), action.get("argv")) {
        (None, None) => {
            let message = "the action `command` has neither `command` nor `argv`";
            let help = "add \"argv\": [\"hooks/check.sh\"], or \"command\": a line for the shell";
            found.say(&head(action), message, "nothing to run", help);
        }
        (Some(_), Some(argv)) => {
            let message = "the action `command` has both `command` and `argv`";
            let help = "keep `argv` if no shell is needed, `command` otherwise";
            found.say(&argv.span, message, "which one should run?", help);
        }
        (None, Some(argv)) => match argv.items() {
            [] if matches!(argv.kind, Kind::List(_)) => {
                let help = "its first text is the program";
                found.say(&argv.span, "`argv` is empty", "nothing to run", help);
            }
            [program, ..] => {
                let text = program.text();
                if text == Some("") {
                    found.say(&program.span, "the program's name is empty", "", "name a program");
                }
                let wrong = text.and_then(|text| bad_program(text, &program.span, folder));
                found.problems.extend(wrong);
            }
            [] => {}
        },
        (Some(_), None) => {}
    }
}

fn save(action: &Node, saving: &Saving<'_>, found: &mut Found) {
    let Some(path) = action.get("path") else { return };
    let Some(text) = path.text() else { return };
    let target = normal(text);
    // The check of the format has reported it.
    if !is_saved_as(&target) {
        return;
    }
    let (what, label) = if saving.is_record(&target) {
        ("lies in the operator's data folder", "the records of trust and approvals are there")
    } else if saving.scripts.contains(&target) {
        ("is a script that a hook runs", BECOMES_COMMANDS)
    } else if Path::new(&target.to_lowercase()).starts_with(HOOKS_FOLDER) {
        ("lies in `hooks/`, among the scripts", BECOMES_COMMANDS)
    } else if may_be_run(&saving.folder.join(&target)) {
        ("is a program", BECOMES_COMMANDS)
    } else {
        return;
    };
    let help = "save to a file of its own, like `logs/events.jsonl`";
    found.say(&path.span, format!("`{text}` {what}"), label, help);
}

const BECOMES_COMMANDS: &str = "events would become commands";

/// Where events may not be saved (R10.6).
struct Saving<'a> {
    folder: &'a Path,
    data: Option<&'a Path>,
    /// The paths that hooks and servers name.
    scripts: BTreeSet<String>,
}

/// What the data folder holds that a path of events could name.
const RECORDS: [&str; 5] = ["history.txt", "locks", "trust.json", "trusted", "webhooks"];

impl Saving<'_> {
    /// Whether it is among the operator's records. Where the profile is the data folder itself, only some names are.
    fn is_record(&self, target: &str) -> bool {
        let real = |place: &Path| resolve(place, Path::new("")).ok();
        let Some((folder, data)) = real(self.folder).zip(self.data.and_then(real)) else {
            return false;
        };
        let target = resolve(self.folder, Path::new(target)).unwrap_or_default();
        let is_below = |place: &Path| target.starts_with(place);
        match folder == data {
            true => RECORDS.iter().any(|record| is_below(&data.join(record))),
            false => data.starts_with(&folder) && is_below(&data),
        }
    }
}

/// Whether the file could be run as it is.
fn may_be_run(path: &Path) -> bool {
    let is_executable =
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let has_interpreter = || {
        let mut start = [0; 2];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    is_executable || (path.is_file() && has_interpreter())
}

fn personalities(file: &Node, folders: &BTreeSet<String>, found: &mut Found) {
    let inline = field(file, "personalities");
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
    for Field { key, key_span, value } in field(file, "mcpServers") {
        let has = |key: &str| value.get(key).is_some();
        let (what, label, help) = match (has("command"), has("url")) {
            _ if !matches!(value.kind, Kind::Object(_)) => continue,
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
    for policy in file.get("policies").map(Node::items).unwrap_or_default() {
        let rules = |key: &str| policy.get(key).map(Node::items).unwrap_or_default();
        // What is misspelt there, or something else, was reported as that.
        let is_list = |field: &Field| matches!(&field.value.kind, Kind::List(_));
        let is_reported = policy.fields().iter().any(|field| match field.key.as_str() {
            "allow" | "deny" => !is_list(field),
            "tool" | "kind" => false,
            other => nearest(other, ["allow", "deny"]).is_some(),
        });
        let is_empty = rules("allow").is_empty() && rules("deny").is_empty();
        if matches!(policy.kind, Kind::Object(_)) && !is_reported && is_empty {
            let help = "add \"deny\": [\"rm -rf *\"], or remove the guard: it would guard nothing";
            let label = "neither `allow` nor `deny`";
            found.say(&head(policy), "this guard has no rules", label, help);
        }
        let (kind, expected) = match policy.get("kind").and_then(Node::text) {
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

/// An empty list differs from one that is left out: a call that needs a yes could never get one.
fn approvers(file: &Node, found: &mut Found) {
    let named = file.get("security").and_then(|security| security.get("approvers"));
    if let Some(named) = named.filter(|it| matches!(&it.kind, Kind::List(all) if all.is_empty())) {
        let help = "leave it out for the operator's list, or name some of it";
        found.say(&named.span, "`approvers` names nobody", "then nothing could be approved", help);
    }
}
