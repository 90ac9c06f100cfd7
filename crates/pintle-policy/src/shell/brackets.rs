//! What stands between double parentheses, brackets and braces: a shell calculates with it, or asks for files.

use super::tree::{Walk, children, walk};
use super::unwrap::is_name;
use super::{Scope, ShellError, SimpleCommand, Step, Word};
use tree_sitter::Node;

impl Walk<'_> {
    /// Texts that are taken for numbers, and variables that are set by other means than a command.
    pub(super) fn look_for_numbers(&mut self, node: &Node<'_>) {
        let text = self.text(node);
        let field = |name: &str| node.child_by_field_name(name).map(|child| self.text(&child));
        let calculated = match node.kind() {
            "arithmetic_expansion" => {
                let text = text.trim_start_matches([' ', '\t', '\n']);
                vec![text.trim_start_matches("$((").trim_end_matches("))")]
            }
            "compound_statement" if text.starts_with("((") => {
                vec![text.trim_start_matches("((").trim_end_matches("))")]
            }
            "c_style_for_statement" => {
                let parts = ["initializer", "condition", "update"].into_iter();
                parts.filter_map(field).collect()
            }
            "subscript" => field("index").into_iter().collect(),
            "binary_expression" if self.is_in_double_brackets() => {
                match children(node).as_slice() {
                    [left, operator, right] if compares_numbers(self.text(operator)) => {
                        vec![self.text(left), self.text(right)]
                    }
                    _ => Vec::new(),
                }
            }
            "expansion" => return self.found.values.expansion(text),
            _ => return,
        };
        calculated.into_iter().for_each(|text| self.found.values.calculate(text));
    }

    fn is_in_double_brackets(&self) -> bool {
        let test = self.around.iter().rfind(|node| node.kind() == "test_command");
        test.is_some_and(|test| self.text(test).starts_with("[["))
    }

    /// `seq 5 | while read i`: what the loop reads is what stands before it.
    pub(super) fn piped(&mut self, node: &Node<'_>) {
        self.found.pipes = true;
        let parts = children(node);
        let [.., printing, pipe, reader] = parts.as_slice() else { return };
        let mut cursor = reader.walk();
        let conditions = reader.children_by_field_name("condition", &mut cursor);
        let conditions: Vec<&str> =
            conditions.filter(Node::is_named).map(|part| self.text(&part)).collect();
        let [condition] = conditions.as_slice() else { return };
        let words: Vec<&str> = condition.split_whitespace().collect();
        if let ["read", name] | ["read", "-r", name] = words.as_slice()
            && is_name(name)
            && self.text(pipe) == "|"
            && reader.kind() == "while_statement"
            && printing.kind() == "command"
            && self.around.last().is_none_or(|parent| parent.kind() != "redirected_statement")
        {
            let (printing, name) = (self.text(printing), (*name).to_owned());
            self.found.values.read_from(printing, &name);
        }
    }

    /// In a here-document the grammar takes `$((1 + 1))` for a subshell in a substitution. Between double quotes it reads it as a
    /// shell does, so there it is read once more.
    pub(super) fn arithmetic_in_document(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let (start, text) = self.bare(node);
        let is_plain = !text.contains(['"', '\'', '\\', '`', '#', '\n']) && text.ends_with("))");
        if !is_plain {
            return Err(self.ledger.trouble(start, "`((` that is no arithmetic"));
        }
        let read = walk(&format!(": \"{text}\""))?;
        self.found.values.append(read.values);
        self.found.multiplies |= read.multiplies;
        let is_first = |step: &Step| step.command().is_some_and(|it| it.program() == Some(":"));
        let mut steps = read.steps.into_iter().peekable();
        steps.next_if(is_first);
        self.found.steps.extend(steps);
        self.ledger.cover(node)?;
        self.ledger.make_inert(node.start_byte(), node.end_byte());
        Ok(())
    }

    /// `((a || b))` is arithmetic to bash and two subshells to other shells: those would run it.
    pub(super) fn double_parentheses(&mut self, node: &Node<'_>) {
        let inside = self.text(node).strip_prefix("((").and_then(|text| text.strip_suffix("))"));
        let apart =
            |text: &str| [Step::Enter(Scope::Apart), Step::Script(text.to_owned()), Step::Leave];
        self.found.steps.extend(inside.into_iter().flat_map(apart));
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

    /// What stands before `=~` is kept in a variable: listed as the words of a loop are.
    pub(super) fn matched(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        if let [left, operator, _] = children(node).as_slice()
            && operator.kind() == "=~"
        {
            let words = vec![self.node_word(left)?];
            self.lists(SimpleCommand::new(Word::Literal(String::new()), words));
        }
        if let [left, operator, right] = children(node).as_slice()
            && matches!(self.text(operator), "-nt" | "-ot" | "-ef")
        {
            let words = vec![self.node_word(left)?, self.node_word(right)?];
            self.lists(SimpleCommand::new(Word::Literal(String::new()), words));
        }
        Ok(())
    }

    /// `[ -f name ]` asks for a file: listed in the same way.
    pub(super) fn tested(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        if let [operator, name] = children(node).as_slice()
            && matches!(self.text(operator), "-v" | "-R")
        {
            let name = self.node_word(name)?;
            self.found.values.named(&name);
        }
        if let [operator, name] = children(node).as_slice()
            && operator.kind() == "test_operator"
            && !matches!(self.text(operator), "-n" | "-z" | "-t" | "-o" | "-v" | "-R")
            && let Ok(word) = self.node_word(name)
            && word.text().contains(['/', '.', '~', '$'])
        {
            self.lists(SimpleCommand::new(Word::Literal(String::new()), vec![word]));
        }
        Ok(())
    }
}

/// `-eq` and its like: between double brackets both sides are arithmetic.
fn compares_numbers(operator: &str) -> bool {
    matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}
