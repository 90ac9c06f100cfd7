//! The parts of a command that a person should see at a glance.

use std::ops::Range;

use tree_sitter::{Node, Parser};

use super::{MAX_COMMAND_BYTES, ascii_source::ascii_source, heredoc::too_much_to_remember};

/// A part of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// The name of a program.
    Program,
    /// A pipe, a redirection, a keyword or another sign of the shell.
    Operator,
    /// Quoted text, or the text of a here-document.
    Text,
}

/// The tokens of a command for display, in order; none for a command that is too long to read. Judging reads with
/// [`super::simple_commands`].
#[must_use]
pub fn tokens(command: &str) -> Vec<(Range<usize>, Token)> {
    let mut parser = Parser::new();
    let is_long = command.len() > MAX_COMMAND_BYTES || too_much_to_remember(command);
    if is_long || parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(ascii_source(command), None) else { return Vec::new() };
    let (mut tokens, mut around) = (Vec::new(), vec![None]);
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let inside = within(&node, around.last().copied().flatten());
        if cursor.goto_first_child() {
            around.push(inside);
            continue;
        }
        let is_sign = !node.is_named() && node.end_byte() > node.start_byte();
        if let Some(token) = inside.or_else(|| is_sign.then_some(Token::Operator)) {
            tokens.push((node.byte_range(), token));
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return tokens;
            }
            around.pop();
        }
    }
}

/// The kind of everything in this node: a substitution in quoted text holds commands.
fn within(node: &Node<'_>, around: Option<Token>) -> Option<Token> {
    match node.kind() {
        "command_name" => Some(Token::Program),
        "string" | "raw_string" | "ansi_c_string" | "translated_string" | "heredoc_body" => {
            Some(Token::Text)
        }
        "command_substitution" | "process_substitution" => None,
        _ => around,
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[test]
    fn programs_operators_and_quoted_text_are_told_apart() {
        let command = "é=1; sudo cat 'a b' | grep \"x $(rm y)\" > out";
        let seen: Vec<_> = tokens(command)
            .into_iter()
            .map(|(range, token)| (command.get(range).unwrap().trim(), token))
            .collect();
        for part in [
            ("sudo", Token::Program),
            ("'a b'", Token::Text),
            ("|", Token::Operator),
            ("grep", Token::Program),
            ("rm", Token::Program),
            (">", Token::Operator),
        ] {
            assert!(seen.contains(&part), "{part:?}: {seen:?}");
        }
        assert!(!seen.iter().any(|(text, _)| ["cat", "y", "out"].contains(text)), "{seen:?}");
    }
}
