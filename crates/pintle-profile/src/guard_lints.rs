//! What a guard does that its author may not expect.

use super::document::Node;
use super::tools::{Tools, fits_a_server};
use pintle_policy::ToolSpec;
use pintle_policy::guard::name_meant;
use std::collections::BTreeSet;

/// Fields in which a tool that takes no `command` may take one all the same.
const LIKE_A_COMMAND: &str =
    "argv bash cmd code command_line commandline commands exec run script shell";

pub(super) fn of_guard(policy: &Node, tools: &Tools<'_>) -> Vec<String> {
    let mut found = of_its_tools(policy, tools);
    let kind = policy.str("kind").unwrap_or_default();
    let rules = ["allow", "deny"].into_iter().filter_map(|key| policy.get(key));
    for rule in rules.flat_map(Node::items).filter_map(Node::text) {
        found.extend(of_rule(kind, rule));
    }
    found
}

/// What loads, and means something else to other programs.
fn of_rule(kind: &str, rule: &str) -> Option<String> {
    if kind == "path" {
        let (part, meant) = rule.split('/').find_map(|part| Some((part, name_meant(part)?)))?;
        return Some(format!(
            "`{part}` in `{rule}` is one letter of these: what is called so is `{meant}`"
        ));
    }
    // Of paths, `.*` is what is hidden.
    if is_an_expression(rule) || (kind == "shell" && ends_as_an_expression(rule)) {
        return Some(format!(
            "`{rule}` reads like a regular expression, and rules are globs: `*` is any text, a dot is a dot"
        ));
    }
    let (_, glob) = rule.split_once('=').filter(|_| kind == "json")?;
    let is_list = |sign: char, is_one: fn(&str) -> bool| {
        glob.contains(sign) && glob.split(sign).all(|one| is_one(one.trim()))
    };
    let is_word = |one: &str| !one.is_empty() && !one.contains([' ', '"', '[', '{']);
    let is_plain = |one: &str| !one.is_empty() && one.bytes().all(|it| it.is_ascii_alphanumeric());
    let sign = match (is_list(',', is_word), is_list('|', is_plain)) {
        (true, _) => ',',
        (_, true) => '|',
        _ => return None,
    };
    Some(format!(
        "`{rule}` reads like a list, and a `{sign}` parts nothing: write one rule for each if that is meant"
    ))
}

/// `rm .*`, `/command=.*rm.*`, `^rm`: with `.*` for any text a guard would only cover what begins with a dot.
fn is_an_expression(rule: &str) -> bool {
    let begins = |word: &str| [".*", ".+", "^"].iter().any(|start| word.starts_with(start));
    rule.split([' ', '=']).any(begins)
}

/// `git push.*`, but not `rm *.*` or `cat /home/.*`: files with an ending, and hidden ones.
fn ends_as_an_expression(rule: &str) -> bool {
    let start = |word: &str| word.strip_suffix(".*").or(word.strip_suffix(".+")).map(str::to_owned);
    rule.split_whitespace().filter_map(start).any(|start| !start.ends_with(['*', '/']))
}

fn of_its_tools(policy: &Node, tools: &Tools<'_>) -> Vec<String> {
    let glob = policy.str("tool").unwrap_or_default();
    let has_allow = policy.get("allow").is_some_and(|allow| !allow.items().is_empty());
    let covered = tools.fitting(glob);
    let undeclared = |tool: &&&ToolSpec| tool.paths.is_none();
    match policy.str("kind") {
        Some("shell") => {
            let unseen =
                covered.iter().filter(undeclared).filter(|tool| !takes(tool, &["command"]));
            unseen.filter_map(|tool| not_judged(tool, glob)).collect()
        }
        Some("path") => {
            let mut found = Vec::new();
            if let Some(tool) = covered.iter().find(|tool| tool.runs_commands) {
                found.push(format!(
                    "of `{}` a path guard sees the `cwd` and no file that a command names: guard commands by \
                     `kind: \"shell\"`",
                    tool.name
                ));
            }
            let names: Vec<&str> =
                covered.iter().filter(undeclared).map(|tool| tool.name.as_str()).collect();
            let whose = match names.as_slice() {
                [] if tools.more_to_come && fits_a_server(glob) => "MCP servers' tools".to_owned(),
                [] => return found,
                names => listed(names),
            };
            found.push(format!(
                "of {whose} a path guard sees only `path`, `file_path`, `filePath` and `cwd`: guard other fields by \
                 `kind: \"json\"`"
            ));
            found
        }
        Some("json") if has_allow => {
            let fields = allowed_fields(policy);
            let wanted: Vec<&str> = fields.iter().map(String::as_str).collect();
            let refused: Vec<&str> = covered
                .iter()
                .filter(|tool| tool.fields().is_some() && !takes(tool, &wanted))
                .map(|tool| tool.name.as_str())
                .collect();
            match refused.as_slice() {
                [] => Vec::new(),
                refused => vec![format!(
                    "every call of {} is refused: {} none of the fields in `allow`",
                    listed(refused),
                    if refused.len() == 1 { "it has" } else { "they have" }
                )],
            }
        }
        _ => Vec::new(),
    }
}

fn takes(tool: &ToolSpec, wanted: &[&str]) -> bool {
    tool.fields().is_some_and(|mut fields| fields.any(|field| wanted.contains(&field)))
}

/// A tool of a server that a shell guard covers, without a `command`: the guard for all lets it through, another refuses it.
fn not_judged(tool: &ToolSpec, glob: &str) -> Option<String> {
    let mut fields = tool.fields()?;
    let name = &tool.name;
    if !glob.bytes().all(|byte| byte == b'*') {
        return Some(format!(
            "every call of `{name}` is refused: it takes no `command` to look at"
        ));
    }
    let like = fields.find(|it| LIKE_A_COMMAND.split(' ').any(|name| name == it.to_lowercase()))?;
    Some(format!(
        "`{name}` is not looked at, for it takes no `command`: guard its `{like}` by `kind: \"json\"`"
    ))
}

/// The outermost field of each rule in `allow`.
fn allowed_fields(policy: &Node) -> BTreeSet<String> {
    let rules = policy.list("allow");
    let field = |rule: &Node| {
        let pointer = rule.text()?.split('=').next()?.strip_prefix('/')?.to_owned();
        Some(pointer.split('/').next()?.to_owned())
    };
    rules.iter().filter_map(field).collect()
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
