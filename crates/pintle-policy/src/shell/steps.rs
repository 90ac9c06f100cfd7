//! In which order, and how surely, the commands of a text run: what following `cd` needs to know.

use super::{SimpleCommand, tree::children};
use tree_sitter::Node;

/// One thing after the other, as written.
#[derive(Debug)]
pub(crate) enum Step {
    Command(SimpleCommand),
    /// A text that is a script of its own.
    Script(String),
    Enter(Scope),
    Leave,
}

impl Step {
    pub(crate) fn command(&self) -> Option<&SimpleCommand> {
        match self {
            Self::Command(command) => Some(command),
            _ => None,
        }
    }
}

/// What a part of a script has to do with the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A process of its own, which starts where the shell is and leaves it there.
    Apart,
    /// The same; what it prints becomes the words of a command: `$(…)`.
    Words,
    /// The same; what it prints becomes one word: `"$(…)"`.
    Word,
    /// What the command before it runs.
    Inside,
    /// Several commands where one could stand.
    Group,
    /// Each runs only when the one before it went well: `a && b`.
    Chain {
        /// The first of them is a single command.
        led: bool,
    },
    /// All of it went well, or the script ends here: `a || exit`.
    Sure,
    /// It may run or not.
    Branch,
    /// It may run again and again.
    Loop,
    /// It may run at any time: a function, a trap.
    Later,
}

/// The scope that a node of the syntax tree opens.
pub(super) fn scope_of(
    node: &Node<'_>,
    parent: Option<&Node<'_>>,
    source: &str,
    quoted: bool,
) -> Option<Scope> {
    let in_background = || {
        let after = source.get(node.end_byte()..).unwrap_or_default();
        let after = after.trim_start_matches([' ', '\t']).strip_prefix('&');
        after.is_some_and(|rest| !rest.starts_with(['&', '>']))
    };
    match node.kind() {
        "subshell" | "process_substitution" => Some(Scope::Apart),
        "command_substitution" if quoted => Some(Scope::Word),
        "command_substitution" => Some(Scope::Words),
        "for_statement" | "c_style_for_statement" | "while_statement" => Some(Scope::Loop),
        "function_definition" => Some(Scope::Later),
        "if_statement" | "case_statement" | "pipeline" | "negated_command" => Some(Scope::Branch),
        "command"
        | "redirected_statement"
        | "compound_statement"
        | "variable_assignment"
        | "variable_assignments"
            if in_background() =>
        {
            Some(Scope::Branch)
        }
        // It does not run when its files cannot be opened.
        "redirected_statement" => {
            let body = node.child_by_field_name("body");
            body.is_some_and(|body| body.kind() != "command").then_some(Scope::Branch)
        }
        "compound_statement" => Some(Scope::Group),
        "list" if parent.is_some_and(|parent| parent.kind() == "list") => None,
        "list" => Some(list(node, source).filter(|_| !in_background()).unwrap_or(Scope::Branch)),
        _ => None,
    }
}

fn list(node: &Node<'_>, source: &str) -> Option<Scope> {
    let parts = children(node);
    let [left, operator, right] = parts.as_slice() else { return None };
    match operator.kind() {
        "&&" => is_chain(left).then(|| Scope::Chain { led: is_led(left) }),
        "||" => {
            let last = source.get(right.start_byte()..right.end_byte()).unwrap_or_default();
            let words: Vec<&str> = last.split_whitespace().collect();
            let is_number = |word: &str| word.len() < 4 && word.bytes().all(|b| b.is_ascii_digit());
            let ends = match words.as_slice() {
                ["exit"] => true,
                ["exit", number] => is_number(number),
                _ => false,
            };
            // In a pipe it would end no more than its part of it.
            (ends && right.kind() == "command" && is_chain(left)).then_some(Scope::Sure)
        }
        _ => None,
    }
}

fn is_chain(node: &Node<'_>) -> bool {
    firsts(node).iter().all(|node| {
        node.kind() != "list" || node.child(1).is_some_and(|operator| operator.kind() == "&&")
    })
}

fn is_led(node: &Node<'_>) -> bool {
    firsts(node).last().is_some_and(|first| first.kind() == "command")
}

/// The node, and whatever stands first in it as long as that is a list.
fn firsts<'t>(node: &Node<'t>) -> Vec<Node<'t>> {
    let mut found = vec![*node];
    while let Some(left) = found.last().filter(|n| n.kind() == "list").and_then(|n| n.child(0)) {
        found.push(left);
    }
    found
}
