//! What agent.json may say has to work (R10.11): a field that this version does not serve is refused, not ignored.

use super::channels;
use super::document::{Field, Node};
use super::report::Problem;
use pintle::points::PersonalityConfig;
use pintle::similar::nearest;
use pintle_policy::shell::is_variable_name;
use std::collections::BTreeMap;
use std::ops::Range;

/// Everything that is written well and would have no effect. `known` are the plugins that were added, if that is known; `folders` the
/// personalities that have one.
pub(super) fn check(
    file: &Node,
    known: Option<&[String]>,
    folders: &BTreeMap<String, PersonalityConfig>,
) -> Vec<Problem> {
    let mut problems = plugins(file, known);
    let listed = file.get("plugins").filter(|list| list.is_list());
    let is_listed = |id: &str| listed.is_none_or(|it| names(it).any(|(_, name)| name == id));
    for Field { key, value, .. } in file.table("personalities") {
        problems.extend(plugins(value, known));
        for (span, id) in value.get("plugins").into_iter().flat_map(names) {
            if !is_listed(id) {
                problems.push(unlisted(span, key, id));
            }
        }
    }
    for (name, config) in folders {
        for id in config.plugins.iter().flatten().filter(|id| !is_listed(id)) {
            let span = listed.map(|list| list.span.clone()).unwrap_or_default();
            problems.push(unlisted(span, name, id));
        }
    }
    problems.extend(channels::check(file));
    let servers = file.table("mcpServers");
    problems.extend(servers.iter().flat_map(variables).filter_map(bad_reference));
    problems
}

/// The texts of a list.
fn names(list: &Node) -> impl Iterator<Item = (Range<usize>, &str)> {
    list.items().iter().filter_map(|item| Some((item.span.clone(), item.text()?)))
}

fn unlisted(span: Range<usize>, personality: &str, id: &str) -> Problem {
    let message = format!(
        "the personality `{personality}` has the plugin `{id}`, which `plugins` of agent.json does not list"
    );
    let help = "add it to `plugins` at the top of agent.json, or leave that list out";
    Problem::at(span, message, "would never fire", help)
}

/// Plugins that the file or a personality names and that are not added.
pub(super) fn plugins(of: &Node, known: Option<&[String]>) -> Vec<Problem> {
    let (Some(list), Some(known)) = (of.get("plugins"), known) else { return Vec::new() };
    let unknown = names(list).filter(|(_, id)| !known.iter().any(|it| it == id));
    unknown
        .map(|(span, id)| {
            let near = nearest(id, known.iter().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean `{near}`? `pintle plugins` lists them"),
                None => "add it with `pintle plugins add DIR`, or remove it here".to_owned(),
            };
            Problem::at(span, format!("there is no plugin `{id}`"), "was not added", help)
        })
        .collect()
}

/// The values of a server's `env`.
pub(super) fn variables(server: &Field) -> impl Iterator<Item = &Node> {
    server.value.table("env").iter().map(|field| &field.value)
}

/// The variable of pintle's own environment that a value of `env` stands for: `${NAME}`, and nothing beside it.
#[must_use]
pub fn variable_of(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${")?.strip_suffix('}')?;
    is_variable_name(name).then_some(name)
}

fn bad_reference(value: &Node) -> Option<Problem> {
    let text = value.text()?;
    let bare = text.strip_prefix('$').filter(|name| is_variable_name(name));
    let help = match bare {
        Some(name) => format!("write `${{{name}}}`"),
        None if text.contains("${") && variable_of(text).is_none() => {
            "`${NAME}` stands alone, and NAME is the name of a variable".to_owned()
        }
        None => return None,
    };
    let message = "this does not name a variable of the environment";
    Some(Problem::at(value.span.clone(), message, "would be passed on as it is written", help))
}
