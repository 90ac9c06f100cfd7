//! What a loop goes through, and what a function that is defined in the line means for the rest of it.

use super::later::is_steering_variable;
use super::tree::Walk;
use super::{ShellError, SimpleCommand, Word};
use tree_sitter::Node;

impl Walk<'_> {
    /// The words that a loop goes through, as a command without a name: they become a variable's value.
    pub(super) fn loop_words(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let name = node.child_by_field_name("variable").map(|n| self.text(&n)).unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
        let words = values.iter().map(|n| self.node_word(n)).collect::<Result<Vec<_>, _>>()?;
        if is_steering_variable(name) {
            self.lists(SimpleCommand::undecidable(format!("for {name}")));
        }
        if words.is_empty() {
            self.found.values.set(name, Some(Word::Dynamic("$@".into())));
        }
        words.iter().for_each(|word| self.found.values.set(name, Some(word.clone())));
        if !words.is_empty() {
            self.lists(SimpleCommand::new(Word::Literal(String::new()), words));
        }
        Ok(())
    }

    /// `:(){ :|:& };:` and its kin: a function that calls itself in a pipe or in the background.
    pub(super) fn function(&mut self, node: &Node<'_>) {
        let Some(name) = node.child_by_field_name("name").map(|n| self.text(&n)) else { return };
        let Some(body) = node.child_by_field_name("body").map(|b| self.text(&b)) else { return };
        self.found.values.function(name);
        // What these are read as here would be something else.
        if matches!(name, "[[" | "cd" | "chdir" | "exit" | "popd" | "pushd") {
            self.lists(SimpleCommand::undecidable(name));
        }
        let calls = body
            .split(|c: char| c.is_whitespace() || ";|&(){}`$".contains(c))
            .filter(|word| *word == name)
            .count();
        self.found.multiplies |= calls > 0 && body.contains(['|', '&']);
    }
}
