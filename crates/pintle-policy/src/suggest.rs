//! Which tool was meant.

use pintle::similar::nearest;

use crate::ToolSpec;

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
