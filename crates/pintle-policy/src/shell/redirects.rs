//! Where a command's input and output go, as the syntax tree says.

use super::tree::{Walk, children, unescape_backquoted};
use super::{Redirect, ShellError, SimpleCommand, Step, Word, heredoc};
use tree_sitter::Node;

impl Walk<'_> {
    /// To a shell that does not know `&>` the words after it are a command of their own.
    pub(super) fn no_second_command(
        &self,
        command: &SimpleCommand,
        at: usize,
    ) -> Result<(), ShellError> {
        let backgrounds = command.redirects.iter().any(|r| r.operator.starts_with("&>"));
        if backgrounds { Err(self.ledger.trouble(at, "words after `&>`")) } else { Ok(()) }
    }

    /// Reads one redirection into `command`. The grammar lets a redirection swallow the words after its target:
    /// they are the command's arguments.
    pub(super) fn redirect(
        &self,
        node: &Node<'_>,
        command: &mut SimpleCommand,
    ) -> Result<(), ShellError> {
        match node.kind() {
            "file_redirect" | "herestring_redirect" => {
                let mut operator = String::new();
                let mut target = None;
                let mut extra = Vec::new();
                let mut end = node.start_byte();
                for child in children(node) {
                    self.ledger.one_line(end, child.start_byte())?;
                    end = child.end_byte();
                    if child.kind() == "file_descriptor" || child.kind() == "comment" {
                        continue;
                    }
                    if !child.is_named() && target.is_none() && operator.is_empty() {
                        operator = self.text(&child).to_owned();
                    } else if target.is_none() {
                        target = Some(self.node_word(&child)?);
                    } else {
                        extra.push(self.node_word(&child)?);
                    }
                }
                // `>&-` closes a descriptor: the operator holds the target.
                let target = target.unwrap_or_else(|| Word::Literal("-".into()));
                let operator = operator.trim_end_matches('-').to_owned();
                // Bash expands such a target once more.
                let is_copy = operator.ends_with('&');
                if is_copy && target.literal().is_some_and(|text| text.contains(['$', '`'])) {
                    return Err(self.ledger.trouble(node.start_byte(), "quotes that do not quote"));
                }
                command.redirects.push(Redirect { operator, target });
                if !extra.is_empty() {
                    self.no_second_command(command, node.start_byte())?;
                    command.args.append(&mut extra);
                }
            }
            "heredoc_redirect" => {
                for child in children(node) {
                    match child.kind() {
                        "file_redirect" | "herestring_redirect" => {
                            self.redirect(&child, command)?
                        }
                        "heredoc_body" => {
                            let text = self.text(&child).to_owned();
                            command.documents.push(match text.contains(['$', '`', '\\']) {
                                true => Word::Dynamic(text),
                                false => Word::Literal(text),
                            });
                        }
                        "heredoc_start" | "heredoc_end" | "comment" => {}
                        kind if child.is_named() && !is_statement(kind) => {
                            self.no_second_command(command, child.start_byte())?;
                            command.args.push(self.node_word(&child)?);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Redirections around something that is not one simple command: listed as a command without a name.
    pub(super) fn compound_redirects(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let body = node.child_by_field_name("body");
        if body.is_some_and(|body| ends_in_a_command(&body)) {
            return Ok(());
        }
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        for child in children(node).into_iter().filter(|c| body.is_none_or(|b| b.id() != c.id())) {
            self.redirect(&child, &mut command)?;
        }
        if !command.args.is_empty() {
            return Err(self.ledger.trouble(node.start_byte(), "words after a redirection"));
        }
        self.lists(command);
        Ok(())
    }

    pub(super) fn here_document(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let parts = children(node);
        let part = |kind: &str| parts.iter().find(|c| c.kind() == kind);
        let at = node.start_byte();
        let (Some(start), Some(end)) = (part("heredoc_start"), part("heredoc_end")) else {
            return Err(self.ledger.trouble(at, "a here-document without an end"));
        };
        let Some((marker, quoted)) = heredoc::marker(self.text(start)) else {
            return Err(self
                .ledger
                .trouble(at, "a here-document's marker that is not a plain word"));
        };
        let body = part("heredoc_body");
        let from = body.unwrap_or(end).start_byte();
        let indented = self.text(node).starts_with("<<-");
        if !heredoc::ends_there(self.source, from, end.end_byte(), marker, quoted, indented) {
            return Err(self.ledger.trouble(at, "a here-document that may end elsewhere"));
        }
        let span = heredoc::Span { announced: start.start_byte(), from, to: end.end_byte() };
        if !self.documents.iter().all(|other| span.agrees_with(*other)) {
            return Err(self.ledger.trouble(at, "here-documents that change places"));
        }
        self.documents.push(span);
        match body {
            Some(body) if quoted => self.ledger.make_inert(body.start_byte(), body.end_byte()),
            Some(body) => self.backquotes(body)?,
            None => {}
        }
        Ok(())
    }

    /// To the grammar a backquote is a letter in a here-document; to a shell it starts a script there, too.
    fn backquotes(&mut self, body: &Node<'_>) -> Result<(), ShellError> {
        let expansions: Vec<(usize, usize)> = children(body)
            .iter()
            .filter(|child| child.kind() != "heredoc_content")
            .map(|child| (child.start_byte(), child.end_byte()))
            .collect();
        let in_expansion =
            |at: usize| expansions.iter().any(|(from, to)| (*from..*to).contains(&at));
        let text = self.text(body);
        let mut escaped = false;
        let mut opened: Option<usize> = None;
        for (at, byte) in text.bytes().enumerate() {
            let place = body.start_byte().saturating_add(at);
            let is_mark = byte == b'`' && !escaped;
            escaped = byte == b'\\' && !escaped;
            match opened {
                // The grammar has found it itself.
                None if is_mark && in_expansion(place) => {}
                Some(_) if byte == b'`' && in_expansion(place) => {
                    return Err(self.ledger.trouble(place, "backquotes in an expansion"));
                }
                None if is_mark => opened = Some(at),
                Some(from) if is_mark => {
                    let inside = text.get(from.saturating_add(1)..at).unwrap_or_default();
                    // Shells do not agree whether the quote is escaped.
                    if inside.contains("\\\"") {
                        return Err(self.ledger.trouble(place, "an escaped quote in backquotes"));
                    }
                    let start = body.start_byte().saturating_add(from);
                    self.ledger.make_inert(start, place.saturating_add(1));
                    self.found.steps.push(Step::Script(unescape_backquoted(inside, true)));
                    opened = None;
                }
                _ => {}
            }
        }
        match opened {
            Some(from) => {
                let place = body.start_byte().saturating_add(from);
                Err(self.ledger.trouble(place, "a backquote without its end"))
            }
            None => Ok(()),
        }
    }
}

fn is_statement(kind: &str) -> bool {
    kind.ends_with("_statement")
        || matches!(
            kind,
            "command"
                | "pipeline"
                | "list"
                | "subshell"
                | "negated_command"
                | "declaration_command"
                | "unset_command"
                | "test_command"
                | "variable_assignment"
                | "variable_assignments"
                | "function_definition"
        )
}

/// The grammar puts the redirection of `a && b > f` and `a | b > f` around it all; to a shell it belongs to the last command.
fn ends_in_a_command(body: &Node<'_>) -> bool {
    let mut last = *body;
    while matches!(body.kind(), "list" | "pipeline") && is_row(&last) {
        let Some(next) = children(&last).last().copied() else { return false };
        last = next;
    }
    matches!(last.kind(), "command" | "declaration_command" | "unset_command")
}

/// Which of the nodes around a command redirects it, and its body.
pub(super) fn redirecting<'t>(
    command: &Node<'t>,
    around: &[Node<'t>],
) -> Option<(Node<'t>, Node<'t>)> {
    let mut body = *command;
    for parent in around.iter().rev().copied() {
        if parent.kind() == "redirected_statement" {
            let is_body = parent.child_by_field_name("body").is_some_and(|it| it.id() == body.id());
            let is_its = body.id() == command.id() || matches!(body.kind(), "list" | "pipeline");
            return (is_body && is_its).then_some((parent, body));
        }
        let is_last = || children(&parent).last().is_some_and(|last| last.id() == body.id());
        // The first of the two checks is the cheaper one.
        let ends = parent.end_byte() == body.end_byte();
        if !is_row(&parent) || !ends || !is_last() {
            return None;
        }
        body = parent;
    }
    None
}

fn is_row(node: &Node<'_>) -> bool {
    matches!(node.kind(), "list" | "pipeline" | "negated_command")
}
