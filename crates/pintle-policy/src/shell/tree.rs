//! Walks the syntax tree and lists the simple commands in it.

use super::ascii_source::ascii_source;
use super::check::Ledger;
use super::heredoc;
use super::redirects::redirecting;
use super::reserved::{is_grammar, is_reserved};
use super::word::decode;
use super::{MAX_STEPS, ShellError, SimpleCommand, Step, Word};
use tree_sitter::{Node, Parser};

/// Deeper trees are refused: the walk would not overflow, but looking up from each node would take its time.
const MAX_TREE_DEPTH: usize = 400;

/// More than anybody puts into one pipe.
const MAX_PIPE: u32 = 500;

/// What one text holds.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) steps: Vec<Step>,
    pub(crate) multiplies: bool,
}

pub(super) struct Walk<'s> {
    pub(super) source: &'s str,
    pub(super) ledger: Ledger<'s>,
    pub(super) found: Found,
    pub(super) documents: Vec<heredoc::Span>,
    /// What stands around the node that is looked at, outermost first: asking the tree for it takes long in a long line.
    pub(super) around: Vec<Node<'s>>,
}

/// What holds for all the children of a node.
#[derive(Clone, Copy, Default)]
struct Level {
    /// They are inside double quotes, where single quotes do not quote.
    quoted: bool,
    /// They are evaluated: to a shell, single quotes and a `#` hide nothing there.
    evaluated: bool,
    /// They stand in the text of a here-document.
    is_document: bool,
}

pub(crate) fn walk(source: &str) -> Result<Found, ShellError> {
    let unreadable = |why| ShellError::Unparsable { near: source.chars().take(24).collect(), why };
    if source.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(unreadable("a control character"));
    }
    // A long pipe takes the grammar a time that grows with the square of its length.
    if source.lines().any(|line| line.matches('|').count() > MAX_PIPE as usize * 2) {
        return Err(ShellError::TooMany(MAX_PIPE, "commands in one pipe"));
    }
    if heredoc::too_much_to_remember(source) {
        return Err(unreadable("too many or too long here-document markers"));
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .map_err(|_| unreadable("no grammar"))?;
    let tree = parser.parse(ascii_source(source), None).ok_or_else(|| unreadable("no tree"))?;
    let (found, ledger) = (Found::default(), Ledger::new(source));
    let mut walk = Walk { source, ledger, found, documents: Vec::new(), around: Vec::new() };

    let mut levels = vec![Level::default()];
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let Level { quoted, evaluated, is_document } = levels.last().copied().unwrap_or_default();
        if levels.len() > MAX_TREE_DEPTH {
            return Err(ShellError::TooDeep);
        }
        if walk.found.steps.len() > MAX_STEPS as usize {
            return Err(ShellError::TooMany(MAX_STEPS, "commands"));
        }
        if is_document {
            walk.ledger.text_before(&node);
        }
        if evaluated {
            walk.hides_nothing(&node)?;
        }
        let descend = walk.visit(&node, quoted)?;
        if descend && cursor.goto_first_child() {
            let quoted = match node.kind() {
                "string" | "heredoc_body" => true,
                "command_substitution" | "process_substitution" => false,
                _ => quoted,
            };
            let evaluated = match node.kind() {
                "arithmetic_expansion" | "subscript" | "c_style_for_statement" => true,
                "compound_statement" => walk.text(&node).starts_with("(("),
                "command_substitution" | "process_substitution" | "do_group" => false,
                _ => evaluated,
            };
            let is_document = node.kind() == "heredoc_body";
            levels.push(Level { quoted, evaluated, is_document });
            walk.around.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                walk.ledger.settle()?;
                return Ok(walk.found);
            }
            walk.around.pop();
            levels.pop();
        }
    }
}

impl<'s> Walk<'s> {
    pub(super) fn text(&self, node: &Node<'_>) -> &'s str {
        self.source.get(node.start_byte()..node.end_byte()).unwrap_or_default()
    }

    /// Where a substitution starts, and its text: to the grammar the blanks before one in a string belong to it.
    pub(super) fn bare(&self, node: &Node<'_>) -> (usize, &'s str) {
        let text = self.text(node).trim_start_matches([' ', '\t', '\n']);
        (node.end_byte().saturating_sub(text.len()), text)
    }

    fn is_in_document(&self) -> bool {
        self.around.last().is_some_and(|parent| parent.kind() == "heredoc_body")
    }

    fn is_glued(&self, brace: &Node<'_>) -> bool {
        let opens = self.around.last().is_some_and(|it| it.kind() == "compound_statement");
        let next = self.source.as_bytes().get(brace.end_byte());
        opens && next.is_some_and(|byte| !b" \t\n".contains(byte))
    }

    /// Looks at one node; says whether its children are to be looked at too.
    fn visit(&mut self, node: &Node<'_>, quoted: bool) -> Result<bool, ShellError> {
        if node.is_error() || node.is_missing() {
            return Err(self.ledger.trouble(node.start_byte(), "a syntax error"));
        }
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => self.command(node)?,
            "variable_assignment" if stands_alone(self.around.last()) => {
                self.bare_assignment(node)?
            }
            // `{fd}` is a word to a shell: only a blank makes the brace a group's.
            "{" if self.is_glued(node) => {
                return Err(self.ledger.trouble(node.start_byte(), "a brace that starts a word"));
            }
            // The tree of a pipe is as deep as it is long.
            "pipeline" if node.child_count() > MAX_PIPE.saturating_mul(2) => {
                return Err(ShellError::TooMany(MAX_PIPE, "commands in one pipe"));
            }
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
            "raw_string" | "ansi_c_string" => {
                self.ledger.make_inert(node.start_byte(), node.end_byte());
            }
            "heredoc_redirect" => self.here_document(node)?,
            // `$(<file)` is the file's text; `f() { …; } >file` writes whenever it is called.
            "file_redirect" | "herestring_redirect"
                if belongs_to_no_command(self.around.last()) =>
            {
                let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
                self.redirect(node, &mut command)?;
                self.lists(command);
            }
            "command_substitution" if self.is_in_document() && opens_twice(self.text(node)) => {
                self.arithmetic_in_document(node)?;
                return Ok(false);
            }
            // A shell tries it as arithmetic first.
            "command_substitution" | "subshell" if opens_twice(self.bare(node).1) => {
                return Err(self.ledger.trouble(node.start_byte(), "`((` that is not arithmetic"));
            }
            "process_substitution" | "arithmetic_expansion" => self.ledger.mark(self.bare(node).0),
            "command_substitution" => {
                let (start, text) = self.bare(node);
                self.ledger.mark(start);
                if let Some(inner) = text.strip_prefix('`') {
                    // Backquotes nest by escaping: only the unescaped text is a script, and it is read on its own.
                    let inner = inner.strip_suffix('`').unwrap_or(inner);
                    self.found.steps.push(Step::Script(unescape_backquoted(inner, quoted)));
                    self.ledger.cover(node)?;
                    self.ledger.make_inert(node.start_byte(), node.end_byte());
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

    /// In arithmetic and in an index a shell expands the text before it looks at quotes and comments.
    fn hides_nothing(&self, node: &Node<'_>) -> Result<(), ShellError> {
        let hides = match node.kind() {
            "comment" | "ansi_c_string" => true,
            "raw_string" => self.text(node).contains(['$', '`']),
            _ => false,
        };
        match hides {
            true => Err(self.ledger.trouble(node.start_byte(), "quotes that do not quote")),
            false => Ok(()),
        }
    }

    pub(super) fn lists(&mut self, command: SimpleCommand) {
        self.found.steps.push(Step::Command(command));
    }

    fn word(&self, start: usize, end: usize) -> Result<Word, ShellError> {
        let raw = self.source.get(start..end).unwrap_or_default();
        decode(raw)
            .map_err(|_| self.ledger.trouble(start, "a word that does not end where it should"))
    }

    /// The word that the node is, if it is all of one: the grammar cuts `$a:$b/c` in two.
    pub(super) fn node_word(&self, node: &Node<'_>) -> Result<Word, ShellError> {
        self.ends_a_word(node)?;
        self.piece(node)
    }

    fn piece(&self, node: &Node<'_>) -> Result<Word, ShellError> {
        self.word(node.start_byte(), node.end_byte())
    }

    fn ends_a_word(&self, node: &Node<'_>) -> Result<(), ShellError> {
        let after = self.source.as_bytes().get(node.end_byte());
        match after.is_some_and(|byte| !b" \t\n;&|)<>`".contains(byte)) {
            true => Err(self.ledger.trouble(node.end_byte(), "a word that goes on after its end")),
            false => Ok(()),
        }
    }

    fn command(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        let mut named = false;
        let mut written = "";
        let mut end = node.start_byte();
        let mut begins = None;
        for child in children(node) {
            self.ledger.one_line(end, child.start_byte())?;
            match child.kind() {
                // The grammar cuts `X=$a:$b/c` in two, and takes the second for a program; a shell does not.
                kind if begins.is_some()
                    && child.start_byte() == end
                    && !named
                    && is_piece_of_a_value(kind) =>
                {
                    command.assignments.pop();
                    let word = self.word(begins.unwrap_or(end), child.end_byte())?;
                    command.assignments.push(word);
                }
                "variable_assignment" if !named => {
                    begins = Some(child.start_byte());
                    command.assignments.push(self.assignment_word(&child)?);
                }
                "file_redirect" | "herestring_redirect" => self.redirect(&child, &mut command)?,
                "heredoc_redirect" => {}
                "comment" => {}
                _ if !named => {
                    named = true;
                    begins = None;
                    command.name = self.piece(&child)?;
                    self.check_name(&child, &command.name)?;
                    written = self.text(&child);
                }
                // The grammar cuts `a/$b/$c.d` in two; a shell does not.
                kind if child.start_byte() == end => {
                    let glued = begins.filter(|_| is_piece(kind));
                    let Some(start) = glued.filter(|_| command.args.pop().is_some()) else {
                        return Err(self
                            .ledger
                            .trouble(end, "two words with nothing between them"));
                    };
                    command.args.push(self.word(start, child.end_byte())?);
                }
                kind => {
                    self.no_second_command(&command, end)?;
                    let is_open = is_piece(kind) || kind == "variable_assignment";
                    begins = is_open.then_some(child.start_byte());
                    let word = match kind {
                        "variable_assignment" => self.assignment_word(&child)?,
                        _ => self.piece(&child)?,
                    };
                    command.args.push(word);
                }
            }
            end = child.end_byte();
        }
        if let Some((outer, body)) = redirecting(node, &self.around) {
            for redirect in children(&outer).into_iter().filter(|c| c.id() != body.id()) {
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
        self.lists(command);
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
        if is_array { Ok(Word::Dynamic(self.text(node).to_owned())) } else { self.piece(node) }
    }

    fn bare_assignment(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        self.ends_a_word(node)?;
        let mut command = SimpleCommand::new(Word::Literal(String::new()), Vec::new());
        command.assignments.push(self.assignment_word(node)?);
        self.lists(command);
        Ok(())
    }

    /// `:(){ :|:& };:` and its kin: a function that calls itself in a pipe or in the background.
    fn function(&mut self, node: &Node<'_>) {
        let field = |name: &str| node.child_by_field_name(name).map(|child| self.text(&child));
        let Some((name, body)) = field("name").zip(field("body")) else { return };
        let mut words = body.split(|c: char| c.is_whitespace() || ";|&(){}`$".contains(c));
        self.found.multiplies |= words.any(|word| word == name) && body.contains(['|', '&']);
    }
}

fn opens_twice(text: &str) -> bool {
    text.trim_start_matches('$').starts_with("((")
}

/// Whether it is a word or a part of one.
fn is_piece(kind: &str) -> bool {
    matches!(
        kind,
        "word" | "number" | "concatenation" | "simple_expansion" | "expansion" | "string"
    )
}

fn is_piece_of_a_value(kind: &str) -> bool {
    is_piece(kind) || matches!(kind, "command_name" | "variable_assignment")
}

pub(super) fn children<'t>(node: &Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

fn belongs_to_no_command(parent: Option<&Node<'_>>) -> bool {
    parent.is_some_and(|parent| {
        !matches!(
            parent.kind(),
            "command"
                | "declaration_command"
                | "unset_command"
                | "redirected_statement"
                | "heredoc_redirect"
        )
    })
}

fn stands_alone(parent: Option<&Node<'_>>) -> bool {
    parent.is_none_or(|parent| {
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

pub(super) fn unescape_backquoted(inner: &str, quoted: bool) -> String {
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
