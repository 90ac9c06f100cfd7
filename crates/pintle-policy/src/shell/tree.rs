//! Walks the syntax tree and lists the simple commands in it.

use super::check::Ledger;
use super::heredoc;
use super::later::{
    decides_later, hides_in_an_index, is_steering_variable, names_a_steering_variable,
    sets_in_expansion,
};
use super::reserved::{is_grammar, is_reserved};
use super::word::decode;
use super::{Redirect, ShellError, SimpleCommand, Word};
use tree_sitter::{Node, Parser};

/// Deeper trees are refused: the walk would not overflow, but looking up from each node would take its time.
const MAX_TREE_DEPTH: usize = 400;

/// What one text holds: its commands, and the texts inside it that are scripts of their own.
pub(crate) struct Found {
    pub(crate) commands: Vec<SimpleCommand>,
    pub(crate) scripts: Vec<String>,
    pub(crate) multiplies: bool,
}

struct Walk<'s> {
    source: &'s str,
    ledger: Ledger<'s>,
    found: Found,
}

pub(crate) fn walk(source: &str) -> Result<Found, ShellError> {
    let unreadable = |why| ShellError::Unparsable { near: source.chars().take(24).collect(), why };
    if source.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(unreadable("a control character"));
    }
    if heredoc::too_much_to_remember(source) {
        return Err(unreadable("too many or too long here-document markers"));
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .map_err(|_| unreadable("no grammar"))?;
    let tree = parser.parse(stand_in(source), None).ok_or_else(|| unreadable("no tree"))?;
    let found = Found { commands: Vec::new(), scripts: Vec::new(), multiplies: false };
    let mut walk = Walk { source, ledger: Ledger::new(source), found };

    // One flag per level: are we inside double quotes (where single quotes do not quote)?
    let mut quoted = vec![false];
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let inside = quoted.last().copied().unwrap_or_default();
        if quoted.len() > MAX_TREE_DEPTH {
            return Err(ShellError::TooDeep);
        }
        let descend = walk.visit(&node, inside)?;
        if descend && cursor.goto_first_child() {
            quoted.push(match node.kind() {
                "string" | "heredoc_body" => true,
                "command_substitution" | "process_substitution" => false,
                _ => inside,
            });
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                walk.ledger.settle()?;
                return Ok(walk.found);
            }
            quoted.pop();
        }
    }
}

/// The source with every byte outside ASCII replaced by a letter, so that all offsets stay.
///
/// The grammar's C scanner hands code points to `isdigit`, which reads outside its table for most of them: `${` and an
/// emoji can crash the process. To a shell such bytes are letters like any other; only the end marker of a here-document
/// is compared by its letters, so that one is refused in [`Walk::here_document`].
fn stand_in(source: &str) -> Vec<u8> {
    source.bytes().map(|byte| if byte.is_ascii() { byte } else { b'Q' }).collect()
}

impl<'s> Walk<'s> {
    fn text(&self, node: &Node<'_>) -> &'s str {
        self.source.get(node.start_byte()..node.end_byte()).unwrap_or_default()
    }

    /// Looks at one node; says whether its children are to be looked at too.
    fn visit(&mut self, node: &Node<'_>, quoted: bool) -> Result<bool, ShellError> {
        if node.is_error() || node.is_missing() {
            return Err(self.ledger.trouble(node.start_byte(), "a syntax error"));
        }
        self.look_for_later(node);
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => self.command(node)?,
            "variable_assignment" if stands_alone(node) => self.bare_assignment(node)?,
            // `{fd}` is a word to a shell: only a blank makes the brace a group's.
            "{" if is_glued(self.source, node) => {
                return Err(self.ledger.trouble(node.start_byte(), "a brace that starts a word"));
            }
            "for_statement" => self.loop_words(node)?,
            "compound_statement" => self.double_parentheses(node),
            "test_command" => self.double_brackets(node),
            "redirected_statement" => self.compound_redirects(node)?,
            "function_definition" => self.function(node),
            "comment" => self.ledger.comment(node)?,
            "raw_string" | "ansi_c_string" if quoted => {
                return Err(self
                    .ledger
                    .trouble(node.start_byte(), "single quotes inside double quotes"));
            }
            // To a shell that does not know `$'…'` it ends at the first quote, escaped or not.
            "ansi_c_string" if self.text(node).matches('\'').count() > 2 => {
                return Err(self.ledger.trouble(node.start_byte(), "a quote inside $'…'"));
            }
            "raw_string" | "ansi_c_string" => self.ledger.make_inert(node),
            "heredoc_redirect" => self.here_document(node)?,
            "process_substitution" | "arithmetic_expansion" => self.ledger.mark(node.start_byte()),
            "command_substitution" => {
                self.ledger.mark(node.start_byte());
                let text = self.text(node);
                if let Some(inner) = text.strip_prefix('`') {
                    // Backquotes nest by escaping: only the unescaped text is a script, and it is read on its own.
                    let inner = inner.strip_suffix('`').unwrap_or(inner);
                    self.found.scripts.push(unescape_backquoted(inner, quoted));
                    self.ledger.cover(node)?;
                    self.ledger.make_inert(node);
                    return Ok(false);
                }
            }
            _ => {}
        }
        if node.child_count() == 0 {
            self.ledger.cover(node)?;
        }
        Ok(true)
    }

    /// Texts that a shell may run when it evaluates them: an index with a substitution in it, `${x@P}`.
    fn look_for_later(&mut self, node: &Node<'_>) {
        let text = self.text(node);
        let runs = match node.kind() {
            "word" | "raw_string" | "ansi_c_string" | "string" | "concatenation" => {
                decode(text).is_ok_and(|word| word.literal().is_some_and(hides_in_an_index))
            }
            "heredoc_body" => hides_in_an_index(text),
            "expansion" => text.ends_with("@P}") || sets_in_expansion(text),
            "arithmetic_expansion" => names_a_steering_variable(text),
            "compound_statement" if text.starts_with("((") => names_a_steering_variable(text),
            "c_style_for_statement" => {
                names_a_steering_variable(text.split("))").next().unwrap_or(text))
            }
            _ => false,
        };
        if runs {
            self.found.commands.push(SimpleCommand::undecidable(text));
        }
    }

    fn word(&self, start: usize, end: usize) -> Result<Word, ShellError> {
        let raw = self.source.get(start..end).unwrap_or_default();
        decode(raw)
            .map_err(|_| self.ledger.trouble(start, "a word that does not end where it should"))
    }

    fn node_word(&self, node: &Node<'_>) -> Result<Word, ShellError> {
        self.word(node.start_byte(), node.end_byte())
    }

    fn command(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        let mut named = false;
        let mut written = "";
        let mut end = node.start_byte();
        for child in children(node) {
            self.ledger.one_line(end, child.start_byte())?;
            match child.kind() {
                "variable_assignment" if !named => {
                    command.assignments.push(self.assignment(&child)?)
                }
                "file_redirect" | "herestring_redirect" => self.redirect(&child, &mut command)?,
                "heredoc_redirect" => {}
                "comment" => {}
                _ if !named => {
                    named = true;
                    command.name = self.node_word(&child)?;
                    self.check_name(&child, &command.name)?;
                    written = self.text(&child);
                }
                kind => {
                    if child.start_byte() == end {
                        return Err(self
                            .ledger
                            .trouble(end, "two words with nothing between them"));
                    }
                    self.no_second_command(&command, end)?;
                    let word = match kind {
                        // What it sets is looked at where every other way to set it is.
                        "variable_assignment" => self.assignment_word(&child)?,
                        _ => self.node_word(&child)?,
                    };
                    command.args.push(word);
                }
            }
            end = child.end_byte();
        }
        if let Some(outer) = node.parent().filter(|p| p.kind() == "redirected_statement") {
            for redirect in children(&outer).into_iter().filter(|c| c.id() != node.id()) {
                self.redirect(&redirect, &mut command)?;
            }
        }
        // These two are grammar as well, and more of it may follow them.
        let follow = match written {
            "time" => 1,
            "coproc" => 2,
            _ => 0,
        };
        let after =
            command.args.iter().map(Word::text).skip_while(|text| matches!(*text, "-p" | "--"));
        if after.take(follow).any(is_grammar) {
            return Err(self.ledger.trouble(node.start_byte(), "grammar after a reserved word"));
        }
        self.found.commands.push(command);
        Ok(())
    }

    /// `a+=1 rm` or `a[0]=1 rm`: if the grammar took the assignment for the name, the real name is an argument.
    /// And a reserved word in its place says that the grammar lost its way: what follows is not what it seems.
    fn check_name(&self, node: &Node<'_>, name: &Word) -> Result<(), ShellError> {
        if is_reserved(self.text(node)) {
            return Err(self
                .ledger
                .trouble(node.start_byte(), "a reserved word in the place of a name"));
        }
        let looks_assigned = name.text().split_once('=').is_some_and(|(left, _)| {
            !left.is_empty()
                && left.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+[]".contains(&b))
        });
        if looks_assigned {
            return Err(self
                .ledger
                .trouble(node.start_byte(), "an assignment in the place of a name"));
        }
        Ok(())
    }

    /// The assignment as `NAME=value`.
    fn assignment_word(&self, node: &Node<'_>) -> Result<Word, ShellError> {
        let is_array = node.child_by_field_name("value").is_some_and(|v| v.kind() == "array");
        if is_array { Ok(Word::Dynamic(self.text(node).to_owned())) } else { self.node_word(node) }
    }

    fn assignment(&mut self, node: &Node<'_>) -> Result<Word, ShellError> {
        let word = self.assignment_word(node)?;
        if decides_later(&word) {
            self.found.commands.push(SimpleCommand::undecidable(self.text(node)));
        }
        Ok(word)
    }

    fn bare_assignment(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        command.assignments.push(self.assignment(node)?);
        self.found.commands.push(command);
        Ok(())
    }

    /// `((a || b))` is arithmetic to bash and two subshells to other shells: those would run it.
    fn double_parentheses(&mut self, node: &Node<'_>) {
        let inside = self.text(node).strip_prefix("((").and_then(|text| text.strip_suffix("))"));
        self.found.scripts.extend(inside.map(str::to_owned));
    }

    /// `[[ a || b ]]` is a test to bash; to other shells `[[` is a program, and so is `b`.
    fn double_brackets(&mut self, node: &Node<'_>) {
        let text = self.text(node);
        let starts_with_a_name = |part: &str| {
            !part.trim_start_matches(['!', ' ', '\t', '&', '|']).starts_with(['-', ']'])
        };
        let others = text.split(['&', '|', ';', '\n']).skip(1).filter(|part| !part.is_empty());
        let redirects = text.split_whitespace().any(|word| matches!(word, "<" | ">"));
        if text.starts_with("[[") && (redirects || others.into_iter().any(starts_with_a_name)) {
            self.found.commands.push(SimpleCommand::undecidable(text));
        }
    }

    /// The words that a loop goes through, as a command without a name: they become a variable's value.
    fn loop_words(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let name = node.child_by_field_name("variable").map(|n| self.text(&n)).unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
        let words = values.iter().map(|n| self.node_word(n)).collect::<Result<Vec<_>, _>>()?;
        if is_steering_variable(name) {
            self.found.commands.push(SimpleCommand::undecidable(format!("for {name}")));
        }
        if !words.is_empty() {
            self.found.commands.push(SimpleCommand::new(Word::Literal(String::new()), words));
        }
        Ok(())
    }

    /// To a shell that does not know `&>` the words after it are a command of their own.
    fn no_second_command(&self, command: &SimpleCommand, at: usize) -> Result<(), ShellError> {
        let backgrounds = command.redirects.iter().any(|r| r.operator.starts_with("&>"));
        if backgrounds { Err(self.ledger.trouble(at, "words after `&>`")) } else { Ok(()) }
    }

    /// Reads one redirection into `command`. The grammar lets a redirection swallow the words after its target:
    /// they are the command's arguments.
    fn redirect(&self, node: &Node<'_>, command: &mut SimpleCommand) -> Result<(), ShellError> {
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
                        "heredoc_start" | "heredoc_body" | "heredoc_end" | "comment" => {}
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
    fn compound_redirects(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let body = node.child_by_field_name("body");
        if body.is_some_and(|b| {
            matches!(b.kind(), "command" | "declaration_command" | "unset_command")
        }) {
            return Ok(());
        }
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        for child in children(node).into_iter().filter(|c| body.is_none_or(|b| b.id() != c.id())) {
            self.redirect(&child, &mut command)?;
        }
        if !command.args.is_empty() {
            return Err(self.ledger.trouble(node.start_byte(), "words after a redirection"));
        }
        self.found.commands.push(command);
        Ok(())
    }

    fn here_document(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
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
        if let Some(body) = body.filter(|_| quoted) {
            self.ledger.make_inert(body);
        }
        Ok(())
    }

    /// `:(){ :|:& };:` and its kin: a function that calls itself in a pipe or in the background.
    fn function(&mut self, node: &Node<'_>) {
        let Some(name) = node.child_by_field_name("name").map(|n| self.text(&n)) else { return };
        let Some(body) = node.child_by_field_name("body").map(|b| self.text(&b)) else { return };
        let calls = body
            .split(|c: char| c.is_whitespace() || ";|&(){}`$".contains(c))
            .filter(|word| *word == name)
            .count();
        self.found.multiplies |= calls > 0 && body.contains(['|', '&']);
    }
}

fn children<'t>(node: &Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

fn is_glued(source: &str, brace: &Node<'_>) -> bool {
    let opens = brace.parent().is_some_and(|parent| parent.kind() == "compound_statement");
    let next = source.as_bytes().get(brace.end_byte());
    opens && next.is_some_and(|byte| !b" \t\n".contains(byte))
}

fn stands_alone(node: &Node<'_>) -> bool {
    node.parent().is_none_or(|parent| {
        !matches!(
            parent.kind(),
            "command"
                | "declaration_command"
                | "c_style_for_statement"
                | "arithmetic_expansion"
                | "binary_expression"
                | "parenthesized_expression"
        )
    })
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

fn unescape_backquoted(inner: &str, quoted: bool) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&next)
                if c == '\\' && (matches!(next, '`' | '\\' | '$') || (quoted && next == '"')) =>
            {
                text.push(next);
                chars.next();
            }
            _ => text.push(c),
        }
    }
    text
}
