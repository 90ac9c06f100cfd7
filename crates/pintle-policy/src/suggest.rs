//! "Did you mean …?": the nearest valid name.

use crate::ToolSpec;

/// The valid spelling closest to what was written, if it is close enough to be what was meant.
#[must_use]
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', '.', ' '], "");
    let wanted = plain(written);
    let begins = |name: &str| {
        let name = plain(name);
        wanted.len().min(name.len()) >= 3
            && (name.starts_with(&wanted) || wanted.starts_with(&name))
    };
    valid
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted, &plain(name)), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1) || begins(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The name of the tool that other agents call so; else of the one that is spelt nearly so.
#[must_use]
pub fn tool_meant<'t>(
    written: &str,
    there: impl IntoIterator<Item = &'t ToolSpec>,
) -> Option<&'t str> {
    let there: Vec<&ToolSpec> = there.into_iter().collect();
    let plain = written.to_lowercase().replace(['_', '-'], "");
    let elsewhere = there.iter().find(|tool| tool.aliases.contains(&plain));
    match elsewhere {
        Some(tool) => Some(&tool.name),
        None => nearest(written, there.into_iter().map(|tool| tool.name.as_str())),
    }
}
