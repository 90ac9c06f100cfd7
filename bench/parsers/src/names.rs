//! Names of commands, in a form that can be compared between grammars.

use pintle_policy::shell::{Word, simple_commands};

/// Sorted, without what some grammars count as syntax and others as commands.
pub fn plain(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !matches!(name.as_str(), "" | "-" | "[" | "[[" | "((" | "time" | "coproc"));
    names.sort();
    names
}

/// A name as it is written, with its quotes taken off; `?` when it is decided at run time.
pub fn read(written: &str) -> String {
    if written == "[" || written.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return written.into();
    }
    if written.replace("$'", "").contains(['$', '`']) {
        return "?".into();
    }
    match simple_commands(written).ok().and_then(|found| found.into_iter().next()) {
        Some(command) => match command.name {
            Word::Literal(name) => name,
            Word::Dynamic(_) => "?".into(),
        },
        None => "?".into(),
    }
}

/// The product's own reading, without the commands it looks for inside arguments (`sh -c`, `env`, `xargs`): those are its
/// own work and no grammar's. So only what it refuses and what it leaves out can be compared.
pub fn of_pintle(command: &str) -> Result<Vec<String>, String> {
    let found = simple_commands(command).map_err(|error| error.to_string())?;
    Ok(found
        .into_iter()
        .map(|command| match command.name {
            Word::Literal(name) => name,
            Word::Dynamic(_) => "?".into(),
        })
        .collect())
}
