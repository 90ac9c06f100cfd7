//! Rules between fields, which no schema can say.

use super::document::{Field, Kind, Node};
use super::formats::{bad_program, is_saved_as};
use super::report::{Problem, nearest};
use super::{Bucket, HOOKS_FOLDER, hook_commands};
use crate::guard::{Guard, GuardKind};
use crate::paths::{normal, resolve};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Everything in agent.json that fits the schema and is wrong all the same. `folders` are the personalities that have one.
pub(crate) fn check(
    file: &Node,
    folder: &Path,
    folders: &BTreeSet<String>,
    data: Option<&Path>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let words = hook_commands::words(file);
    let scripts = words.iter().filter_map(|word| hook_commands::path_in(folder, word)).collect();
    hooks(file, &Saving { folder, data, scripts }, &mut problems);
    personalities(file, folders, &mut problems);
    servers(file, &mut problems);
    channels(file, &mut problems);
    policies(file, &mut problems);
    approvers(file, &mut problems);
    problems
}

fn field<'n>(node: &'n Node, key: &str) -> &'n [Field] {
    node.get(key).map(Node::fields).unwrap_or_default()
}

fn hooks(file: &Node, saving: &Saving<'_>, problems: &mut Vec<Problem>) {
    let mut names = BTreeSet::new();
    for bucket in field(file, "hooks") {
        let Some(kind) = Bucket::parse(&bucket.key) else { continue };
        for action in bucket.value.items() {
            let what = action.get("action").and_then(Node::text).unwrap_or_default();
            if what == "approve" && kind != Bucket::OnToolCall {
                let span = action.get("action").map_or(action.span.clone(), |a| a.span.clone());
                let problem =
                    Problem::new(span, format!("`approve` cannot stand in `{}`", bucket.key))
                        .label("there is no call to approve here");
                problems.push(
                    problem.help("move it to `onToolCall`: only a tool call can wait for a person"),
                );
            }
            if !kind.has_tool()
                && what != "approve"
                && let Some(tools) = action.fields().iter().find(|f| f.key == "tools")
            {
                let problem = Problem::new(
                    tools.key_span.clone(),
                    format!("`tools` has no meaning in `{}`", bucket.key),
                )
                .label("there is no tool at this moment");
                problems.push(
                    problem.help("remove it, or move the action to `onToolCall` or `onToolEnd`"),
                );
            }
            if let Some(name) = action.get("name").filter(|n| n.text().is_some())
                && !names.insert(name.text().unwrap_or_default().to_owned())
            {
                let problem = Problem::new(
                    name.span.clone(),
                    format!("another hook is called `{}` already", name.text().unwrap_or_default()),
                );
                problems.push(
                    problem.help(
                        "give each hook a name of its own, so that records can tell them apart",
                    ),
                );
            }
            match what {
                "command" => command(action, saving.folder, problems),
                "save_json" => save(action, saving, problems),
                _ => {}
            }
        }
    }
}

/// Hooks that are called as one of the program's own is: records could not tell them apart.
pub(super) fn taken_names(file: &Node, taken: &[&str]) -> Vec<Problem> {
    let actions = field(file, "hooks").iter().flat_map(|bucket| bucket.value.items());
    let is_taken = |name: &&Node| name.text().is_some_and(|text| taken.contains(&text));
    let told = |name: &Node| {
        let text = name.text().unwrap_or_default();
        Problem::new(name.span.clone(), format!("`{text}` is the name of a built-in hook"))
            .label("taken")
            .help("give it a name of its own, so that records can tell them apart")
    };
    actions.filter_map(|action| action.get("name")).filter(is_taken).map(told).collect()
}

fn command(action: &Node, folder: &Path, problems: &mut Vec<Problem>) {
    let head = action.span.start..action.span.start.saturating_add(1);
    match (action.get("command"), action.get("argv")) {
        (None, None) => problems.push(
            Problem::new(head, "the action `command` has neither `command` nor `argv`")
                .label("nothing to run")
                .help("add \"argv\": [\"hooks/check.sh\"], or \"command\": a line for the shell"),
        ),
        (Some(_), Some(argv)) => problems.push(
            Problem::new(argv.span.clone(), "the action `command` has both `command` and `argv`")
                .label("which one should run?")
                .help("keep `argv` if no shell is needed, `command` otherwise"),
        ),
        (None, Some(argv)) => match argv.items() {
            [] if matches!(argv.kind, Kind::List(_)) => problems.push(
                Problem::new(argv.span.clone(), "`argv` is empty")
                    .label("nothing to run")
                    .help("its first text is the program"),
            ),
            [program, ..] => {
                if let Some(text) = program.text() {
                    if text.is_empty() {
                        problems.push(
                            Problem::new(program.span.clone(), "the program's name is empty")
                                .help("name a program"),
                        );
                    }
                    problems.extend(bad_program(text, &program.span, folder));
                }
            }
            [] => {}
        },
        (Some(_), None) => {}
    }
}

fn save(action: &Node, saving: &Saving<'_>, problems: &mut Vec<Problem>) {
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
    let problem = Problem::new(path.span.clone(), format!("`{text}` {what}")).label(label);
    problems.push(problem.help("save to a file of its own, like `logs/events.jsonl`"));
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

fn personalities(file: &Node, folders: &BTreeSet<String>, problems: &mut Vec<Problem>) {
    let inline = field(file, "personalities");
    for both in inline.iter().filter(|f| folders.contains(&f.key)) {
        let problem = Problem::new(
            both.key_span.clone(),
            format!("the personality `{}` is written here and in a folder", both.key),
        )
        .label(format!("also in `personalities/{}/`", both.key));
        problems.push(problem.help("keep one of them"));
    }
    let known: Vec<&str> =
        inline.iter().map(|f| f.key.as_str()).chain(folders.iter().map(String::as_str)).collect();
    let chosen = file.get("personality").into_iter();
    let in_channels = field(file, "channels").iter().filter_map(|c| c.value.get("personality"));
    for name in chosen.chain(in_channels) {
        let Some(text) = name.text().filter(|t| !t.trim().is_empty() && !known.contains(t)) else {
            continue;
        };
        let mut problem =
            Problem::new(name.span.clone(), format!("there is no personality `{text}`"))
                .label("not in `personalities`")
                .nearest(text, known.iter().copied());
        if problem.helps.is_empty() {
            problem = problem.help(format!("add it to `personalities`, or make a folder `personalities/{text}/` with a `SOUL.md`"));
        }
        problems.push(problem);
    }
}

fn servers(file: &Node, problems: &mut Vec<Problem>) {
    for server in field(file, "mcpServers") {
        if !matches!(server.value.kind, Kind::Object(_)) {
            continue;
        }
        let has = |key: &str| server.value.get(key).is_some();
        let problem = match (has("command"), has("url")) {
            (false, false) => Problem::new(
                server.key_span.clone(),
                format!("the MCP server `{}` has neither `command` nor `url`", server.key),
            )
            .label("cannot be reached")
            .help("add `command` (and `args`) for a program, or `url` for an address"),
            (true, true) => Problem::new(
                server.key_span.clone(),
                format!("the MCP server `{}` has both `command` and `url`", server.key),
            )
            .label("which one is it?")
            .help("keep `command` for a program, or `url` for an address"),
            (false, true) if has("args") || has("env") || has("zone") => Problem::new(
                server.key_span.clone(),
                format!(
                    "the MCP server `{}` is an address: `args`, `env` and `zone` have no meaning",
                    server.key
                ),
            )
            .label("has `url`")
            .help("remove `args`, `env` and `zone`, or use `command`"),
            _ => continue,
        };
        problems.push(problem);
    }
}

fn channels(file: &Node, problems: &mut Vec<Problem>) {
    for channel in field(file, "channels") {
        let kind = channel.value.get("kind").and_then(Node::text).unwrap_or_default();
        if kind == "telegram" && channel.value.get("tokenEnv").is_none() {
            let problem = Problem::new(
                channel.key_span.clone(),
                format!("the channel `{}` has no `tokenEnv`", channel.key),
            )
            .label("Telegram needs a token");
            problems.push(problem.help(
                "add \"tokenEnv\": \"TELEGRAM_TOKEN\": the variable's name, never the token",
            ));
        }
        for (key, owner) in [("url", "webhook"), ("baseUrl", "telegram")] {
            if let Some(stray) = channel
                .value
                .fields()
                .iter()
                .find(|f| f.key == key && !kind.is_empty() && kind != owner)
            {
                let problem = Problem::new(
                    stray.key_span.clone(),
                    format!("`{key}` has no meaning for a `{kind}` channel"),
                );
                problems.push(
                    problem
                        .label(format!("only for `{owner}`"))
                        .help("remove it, or change `kind`"),
                );
            }
        }
    }
}

fn policies(file: &Node, problems: &mut Vec<Problem>) {
    for policy in file.get("policies").map(Node::items).unwrap_or_default() {
        let rules = |key: &str| policy.get(key).map(Node::items).unwrap_or_default();
        // What stands there misspelt, or as something else, was told as that.
        let is_list = |field: &Field| matches!(&field.value.kind, Kind::List(_));
        let told = policy.fields().iter().any(|field| match field.key.as_str() {
            "allow" | "deny" => !is_list(field),
            "tool" | "kind" => false,
            other => nearest(other, ["allow", "deny"]).is_some(),
        });
        if matches!(policy.kind, Kind::Object(_))
            && !told
            && rules("allow").is_empty()
            && rules("deny").is_empty()
        {
            let head = policy.span.start..policy.span.start.saturating_add(1);
            let problem =
                Problem::new(head, "this guard has no rules").label("neither `allow` nor `deny`");
            problems.push(
                problem.help(
                    "add \"deny\": [\"rm -rf *\"], or remove the guard: it would guard nothing",
                ),
            );
        }
        let kind = match policy.get("kind").and_then(Node::text) {
            Some("shell") => GuardKind::Shell,
            Some("path") => GuardKind::Path,
            Some("json") => GuardKind::Json,
            _ => continue,
        };
        for rule in rules("allow").iter().chain(rules("deny")) {
            if let Some(error) = rule.text().and_then(|text| Guard::check_rule(kind, text).err()) {
                let expected = match kind {
                    GuardKind::Shell => "expected a program and its words",
                    GuardKind::Path => "expected a glob of paths",
                    GuardKind::Json => "expected a field, or a field and a glob",
                };
                let problem = Problem::new(rule.span.clone(), "this rule cannot be used");
                problems.push(problem.label(expected).help(error.message));
            }
        }
    }
}

/// Nobody is not the same as not saying who: a call that needs a yes could never get one.
fn approvers(file: &Node, problems: &mut Vec<Problem>) {
    let Some(named) = file.get("security").and_then(|security| security.get("approvers")) else {
        return;
    };
    if matches!(named.kind, Kind::List(_)) && named.items().is_empty() {
        let problem = Problem::new(named.span.clone(), "`approvers` names nobody")
            .label("then nothing could be approved");
        problems.push(problem.help("leave it out for the operator's list, or name some of it"));
    }
}
