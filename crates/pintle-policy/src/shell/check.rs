//! Holds the grammar to its word: nothing in the source may be unaccounted for.

use super::ShellError;
use std::collections::HashSet;
use tree_sitter::Node;

/// What the walk has seen so far, for the final comparison with the source.
pub(crate) struct Ledger<'s> {
    source: &'s str,
    /// Where the last leaf ended.
    end: usize,
    /// Offsets at which a substitution starts, or a backquoted one ends.
    marks: HashSet<usize>,
    /// Bytes in which `$(` and backquotes mean nothing.
    inert: Vec<bool>,
}

impl<'s> Ledger<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, end: 0, marks: HashSet::new(), inert: vec![false; source.len()] }
    }

    pub(crate) fn trouble(&self, at: usize, why: &'static str) -> ShellError {
        let rest = self.source.get(at..).unwrap_or_default();
        let near: String = rest.chars().take(24).collect();
        ShellError::Unparsable { near, why }
    }

    /// A leaf (or a node whose inside is read separately) covers its bytes; what lies before it must be blank.
    pub(crate) fn cover(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        if node.start_byte() > self.end {
            self.blank(self.end, node.start_byte())?;
        }
        self.end = self.end.max(node.end_byte());
        Ok(())
    }

    /// In a here-document all that is before and between its substitutions is text; the grammar has no leaf for its first piece.
    pub(crate) fn text_before(&mut self, node: &Node<'_>) {
        self.end = self.end.max(node.start_byte());
    }

    /// Between two words of one command no line may end.
    pub(crate) fn one_line(&self, from: usize, to: usize) -> Result<(), ShellError> {
        let between = self.source.get(from..to).unwrap_or_default();
        match between.replace("\\\n", "").contains('\n') {
            true => Err(self.trouble(from, "a command over two lines")),
            false => Ok(()),
        }
    }

    pub(crate) fn mark(&mut self, at: usize) {
        self.marks.insert(at);
    }

    pub(crate) fn make_inert(&mut self, from: usize, to: usize) {
        if let Some(bytes) = self.inert.get_mut(from..to) {
            bytes.fill(true);
        }
    }

    /// A comment starts a word; a `#` inside one would hide what follows it.
    pub(crate) fn comment(&mut self, node: &Node<'_>) -> Result<(), ShellError> {
        let before = self.source.get(..node.start_byte()).unwrap_or_default().as_bytes();
        let starts_word = match before {
            [] => true,
            [.., b'\\', b' ' | b'\t'] => false,
            [.., last] => b" \t\n;&|()".contains(last),
        };
        if !starts_word {
            return Err(self.trouble(node.start_byte(), "a `#` inside a word"));
        }
        self.make_inert(node.start_byte(), node.end_byte());
        Ok(())
    }

    fn blank(&self, from: usize, to: usize) -> Result<(), ShellError> {
        let mut bytes = self.source.as_bytes().get(from..to).unwrap_or_default();
        let (mut separated, mut continued, mut ended) = (false, false, false);
        loop {
            bytes = match bytes {
                // The grammar goes on with the command; a shell ended it at the plain one of the two line ends.
                [] if continued && ended => {
                    return Err(self.trouble(from, "a line that goes on after its end"));
                }
                // `r\` newline `m` is one word to a shell and two to the grammar.
                [] if continued && !separated => {
                    return Err(self.trouble(from, "a word over two lines"));
                }
                [] => return Ok(()),
                [b'\\', b'\n', rest @ ..] => {
                    continued = true;
                    rest
                }
                [blank @ (b' ' | b'\t' | b'\n'), rest @ ..] => {
                    separated = true;
                    ended |= *blank == b'\n';
                    rest
                }
                _ => return Err(self.trouble(from, "text that belongs to nothing")),
            };
        }
    }

    /// After the walk: the rest is blank, and every substitution in the source was one in the tree.
    pub(crate) fn settle(&self) -> Result<(), ShellError> {
        self.blank(self.end.min(self.source.len()), self.source.len())?;
        let bytes = self.source.as_bytes();
        let mut escaped = false;
        for (at, &byte) in bytes.iter().enumerate() {
            if self.inert.get(at).copied().unwrap_or_default() {
                escaped = false;
                continue;
            }
            let next = bytes.get(at.saturating_add(1)).copied();
            let opens = byte == b'`' || (byte == b'$' && next == Some(b'('));
            if opens && !escaped && !self.marks.contains(&at) {
                return Err(self.trouble(at, "a substitution the grammar did not see"));
            }
            // `${ rm x; }` and `${| rm x; }` run commands in newer shells.
            let inside = bytes.get(at.saturating_add(2)).copied();
            // A shell takes the end of the line out before it looks what follows the `$`.
            if byte == b'$'
                && next == Some(b'\\')
                && !escaped
                && bytes.get(at.saturating_add(2)) == Some(&b'\n')
            {
                return Err(self.trouble(at, "a `$` at the end of a line"));
            }
            if byte == b'$' && next == Some(b'[') && !escaped {
                return Err(self.trouble(at, "an old form of arithmetic"));
            }
            let braces = byte == b'$' && next == Some(b'{');
            if braces && !escaped && inside.is_some_and(|b| b" \t\n|(".contains(&b)) {
                return Err(self.trouble(at, "a substitution in braces"));
            }
            escaped = byte == b'\\' && !escaped;
        }
        Ok(())
    }
}
