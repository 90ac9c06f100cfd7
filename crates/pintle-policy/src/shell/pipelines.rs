//! Who gets what others print.

use super::stand_in::stand_in;
use super::tree::children;
use tree_sitter::Parser;

/// One part of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// As it is written.
    pub(crate) text: String,
    /// Whether it is one command, and no loop or group, of which a part may read the input.
    pub(crate) is_command: bool,
}

/// The parts of each pipeline in a text that was parsed before, wherever it stands.
pub(crate) fn pipelines(source: &str) -> Vec<Vec<Part>> {
    let mut parser = Parser::new();
    let is_set = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    let Some(tree) = is_set.then(|| parser.parse(stand_in(source), None)).flatten() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        let inner = children(&node);
        if node.kind() == "pipeline" {
            let parts = inner.iter().filter(|part| part.is_named()).map(|part| {
                let body = part.child_by_field_name("body").unwrap_or(*part);
                let text = source.get(part.start_byte()..part.end_byte()).unwrap_or_default();
                Part { text: text.to_owned(), is_command: body.kind() == "command" }
            });
            found.push(parts.collect());
        }
        pending.extend(inner);
    }
    found
}
