//! What agent.json may say has to work (R10.11): a field that this version does not serve is refused, not ignored.

use super::channels;
use super::document::{Field, Kind, Node};
use super::report::Problem;
use pintle_policy::shell::is_variable_name;

/// Everything that is written well and would have no effect.
pub(super) fn check(file: &Node) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let inline = file.table("personalities");
    let personalities = inline.iter().map(|field| &field.value);
    problems.extend(std::iter::once(file).chain(personalities).filter_map(plugins));
    problems.extend(channels::check(file));
    let servers = file.table("mcpServers");
    problems.extend(servers.iter().flat_map(variables).filter_map(bad_reference));
    problems
}

/// Plugins, of the file or of a personality.
pub(super) fn plugins(of: &Node) -> Option<Problem> {
    unserved(of, "plugins")
}

fn unserved(of: &Node, key: &str) -> Option<Problem> {
    let field = of.fields().iter().find(|field| field.key == key)?;
    let is_empty = match &field.value.kind {
        Kind::List(items) => items.is_empty(),
        Kind::Object(fields) => fields.is_empty(),
        // The schema says what is wrong with it.
        _ => true,
    };
    (!is_empty).then(|| {
        let message = format!("this version does not serve `{key}`");
        let help = "remove it, or leave it empty";
        Problem::at(field.key_span.clone(), message, "would have no effect", help)
    })
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
