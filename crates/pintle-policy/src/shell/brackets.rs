//! What stands between double parentheses and brackets: bash calculates or tests with it, and other shells run it.

use super::tree::{Walk, walk};
use super::{ShellError, SimpleCommand, Step};
use tree_sitter::Node;

impl Walk<'_> {
    /// In a here-document the grammar takes `$((1 + 1))` for a subshell in a substitution. Between double quotes it reads it as a
    /// shell does, so there it is read once more.
    pub(super) fn arithmetic_in_document(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let (start, text) = self.bare(node);
        let is_plain = !text.contains(['"', '\'', '\\', '`', '#', '\n']) && text.ends_with("))");
        if !is_plain {
            return Err(self.ledger.trouble(start, "`((` that is not arithmetic"));
        }
        let read = walk(&format!(": \"{text}\""))?;
        self.found.multiplies |= read.multiplies;
        // The first step is the `:` that was put in front.
        self.found.steps.extend(read.steps.into_iter().skip(1));
        self.ledger.cover(node)?;
        self.ledger.make_inert(node.start_byte(), node.end_byte());
        Ok(())
    }

    /// `((a || b))` is arithmetic to bash and two subshells to other shells: those would run it.
    pub(super) fn double_parentheses(&mut self, node: &Node<'_>) {
        let inside = self.text(node).strip_prefix("((").and_then(|text| text.strip_suffix("))"));
        self.found.steps.extend(inside.map(|text| Step::Script(text.to_owned())));
    }

    /// `[[ a || b ]]` is a test to bash; to other shells `[[` is a program they do not find, and `b` is the next one.
    pub(super) fn double_brackets(&mut self, node: &Node<'_>) {
        let text = self.text(node);
        let starts_with_a_name = |part: &str| {
            !part.trim_start_matches(['!', ' ', '\t', '&', '|']).starts_with(['-', ']'])
        };
        let others = text.split(['&', '|', ';', '\n']).skip(1).filter(|part| !part.is_empty());
        let redirects = text.contains(['<', '>']);
        // After `&&` nothing runs: the one before it is not found.
        let is_chain = !text.replace("&&", "").contains(['&', '|', ';', '\n']);
        let runs = !is_chain && others.into_iter().any(starts_with_a_name);
        if text.starts_with("[[") && (redirects || runs) {
            self.lists(SimpleCommand::undecidable(text));
        }
    }
}
