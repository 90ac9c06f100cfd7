//! Checks that a here-document ends where a shell would end it. If the grammar ended it elsewhere, a quote in its text could
//! swallow the commands that follow.

/// More here-documents, or longer markers, than the grammar's scanner can remember.
const MAX_DOCUMENTS: usize = 16;
const MAX_MARKER: usize = 64;

/// Whether the source could make the scanner forget a here-document it has begun: looked at before parsing.
pub(crate) fn too_much_to_remember(source: &str) -> bool {
    let mut starts = source.split("<<");
    starts.next();
    let markers: Vec<usize> = starts.map(marker_length).collect();
    markers.len() > MAX_DOCUMENTS || markers.iter().any(|length| *length > MAX_MARKER)
}

/// How long the word is that `text` starts with, quotes included.
fn marker_length(text: &str) -> usize {
    let mut quote = None;
    let mut length = 0_usize;
    for c in text.trim_start_matches(['-', ' ', '\t']).chars() {
        match (c, quote) {
            ('\n', _) => break,
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            (' ' | '\t' | ';' | '|' | '&' | '<' | '>' | '(' | ')', None) => break,
            _ => {}
        }
        length = length.saturating_add(1);
    }
    length
}

/// The plain marker and whether it was quoted; `None` for anything but a simple word in at most one pair of quotes.
pub(crate) fn marker(written: &str) -> Option<(&str, bool)> {
    let inside =
        ['\'', '"'].iter().find_map(|q| written.strip_prefix(*q).and_then(|w| w.strip_suffix(*q)));
    let word = inside.unwrap_or(written);
    let plain =
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    plain.then_some((word, inside.is_some()))
}

/// Whether `source[from..to]` (the text and its end marker) is what a shell would take as this document.
pub(crate) fn ends_there(
    source: &str,
    from: usize,
    to: usize,
    marker: &str,
    quoted: bool,
    indented: bool,
) -> bool {
    let line_start = source
        .get(..from)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at.saturating_add(1));
    let Some(region) = source.get(line_start..to) else { return false };
    let follows = source.get(to..).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
    // A backslash at a line's end glues the next line to it, the marker too.
    if !follows || line_start == 0 || (!quoted && region.contains("\\\n")) {
        return false;
    }
    let is_end = |line: &str| {
        let line = if indented { line.trim_start_matches('\t') } else { line };
        line == marker
    };
    let lines: Vec<&str> = region.split('\n').collect();
    lines.iter().position(|line| is_end(line)) == Some(lines.len().saturating_sub(1))
}

/// Where a here-document is announced, where its text starts, and where its marker ends.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) announced: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Span {
    /// Whether a shell could read both of them so: those announced on one line follow each other in that order, and another one
    /// is either inside the text or after it.
    pub(crate) fn agrees_with(self, other: Self) -> bool {
        let (first, second) =
            if self.announced < other.announced { (self, other) } else { (other, self) };
        match second.announced {
            at if at < first.from => second.from >= first.to,
            at if at < first.to => second.to <= first.to,
            _ => true,
        }
    }
}
