//! Markdown of a model, drawn for a terminal while it comes: headings and bold, code, lists, tables, links. Anything else
//! stays as it was written.

use crate::{
    shown::{Show, Shown, bold, cyan, dim, text},
    term::{columns, pad},
};

/// The longest unfinished link that is held back.
const LONGEST_LINK: usize = 400;

/// The state of an answer that is still coming.
pub(super) struct Markdown {
    width: usize,
    /// The word that is not complete.
    word: String,
    block: Block,
    is_bold: bool,
    is_code: bool,
    /// The column that is written next.
    column: usize,
    /// Where the lines of this paragraph begin.
    indent: usize,
    /// The rows of a table that is not complete.
    table: Vec<String>,
}

/// The block that the current line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// The first word has not arrived yet.
    Start,
    Text,
    /// Collected until the line ends.
    Heading,
    Row,
    Fence,
    /// Lines between two fences.
    Code,
}

impl Markdown {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            word: String::new(),
            block: Block::Start,
            is_bold: false,
            is_code: false,
            column: 0,
            indent: 0,
            table: Vec::new(),
        }
    }

    /// The text that can be drawn after this piece.
    pub(super) fn push(&mut self, piece: &str) -> Shown {
        let mut drawn = Shown::default();
        for c in piece.chars().filter(|c| *c != '\r') {
            drawn = text!("{}{}", drawn, self.take(c));
        }
        drawn
    }

    /// Draws the rest at the end of the answer.
    pub(super) fn end(&mut self) -> Shown {
        let rest = match (self.word.is_empty(), self.block) {
            (true, Block::Start | Block::Text) => Shown::default(),
            _ => self.take('\n'),
        };
        let table = self.table();
        let end = if self.column > 0 { text!("\n") } else { Shown::default() };
        *self = Self::new(self.width);
        text!("{}{}{}", rest, table, end)
    }

    fn take(&mut self, c: char) -> Shown {
        match (self.block, c) {
            (Block::Heading | Block::Row | Block::Fence | Block::Code, '\n') => self.end_of_block(),
            (Block::Heading | Block::Row | Block::Fence | Block::Code, c) => {
                self.word.push(c);
                Shown::default()
            }
            (Block::Start, ' ') if self.word.is_empty() => {
                self.indent += 1;
                Shown::default()
            }
            (Block::Start, ' ' | '\n') => self.first_word(c),
            (_, '\n') => {
                let word = self.draw_word();
                text!("{}{}", word, self.new_line())
            }
            (_, ' ') if !self.in_link() => {
                let word = self.draw_word();
                if self.column > self.indent && self.column < self.width {
                    self.column += 1;
                    return text!("{} ", word);
                }
                word
            }
            (_, c) => {
                self.word.push(c);
                Shown::default()
            }
        }
    }

    /// The first word of a line determines its block.
    fn first_word(&mut self, after: char) -> Shown {
        let word = self.word.clone();
        let is_number = word
            .strip_suffix(['.', ')'])
            .is_some_and(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_digit()));
        let table = if word.starts_with('|') { Shown::default() } else { self.table() };
        let drawn = match word.as_str() {
            "" => self.new_line(),
            _ if word.starts_with("```") => self.begin(Block::Fence, after),
            _ if word.starts_with('|') => self.begin(Block::Row, after),
            _ if word.chars().all(|c| c == '#') => self.begin(Block::Heading, after),
            "-" | "*" | "+" => self.item("-", after),
            _ if is_number => self.item(&word, after),
            _ => {
                self.block = Block::Text;
                let before = " ".repeat(self.indent);
                self.column = self.indent;
                self.indent = self.indent.min(self.width / 2);
                text!("{}{}", before, self.take(after))
            }
        };
        text!("{}{}", table, drawn)
    }

    fn begin(&mut self, block: Block, after: char) -> Shown {
        self.block = block;
        self.take(after)
    }

    fn item(&mut self, mark: &str, after: char) -> Shown {
        self.word.clear();
        self.block = Block::Text;
        let before = " ".repeat(self.indent.min(self.width / 2));
        let start = text!("{}{} ", before, mark);
        self.indent = columns(&start);
        self.column = self.indent;
        match after {
            '\n' => text!("{}{}", start, self.new_line()),
            _ => start,
        }
    }

    fn end_of_block(&mut self) -> Shown {
        let line = std::mem::take(&mut self.word);
        let block = std::mem::replace(&mut self.block, Block::Start);
        self.column = 0;
        let indent = std::mem::take(&mut self.indent);
        match block {
            Block::Heading => {
                let title = line.trim_start_matches('#').trim().replace("**", "");
                text!("{}\n", bold(title))
            }
            Block::Row => {
                self.table.push(line);
                Shown::default()
            }
            Block::Code if line.trim_start().starts_with("```") => Shown::default(),
            Block::Code => {
                self.block = Block::Code;
                text!("  {}\n", dim(cyan(line.replace('\t', "    "))))
            }
            Block::Fence => {
                self.block = Block::Code;
                Shown::default()
            }
            Block::Start | Block::Text => {
                self.indent = indent;
                Shown::default()
            }
        }
    }

    fn new_line(&mut self) -> Shown {
        self.block = Block::Start;
        (self.column, self.indent, self.is_code) = (0, 0, false);
        text!("\n")
    }

    fn in_link(&self) -> bool {
        let open = self.word.rfind('[').and_then(|at| self.word.get(at..));
        let is_open = |link: &str| match link.split_once(']') {
            None => true,
            Some((_, rest)) => rest.starts_with('(') && !rest.contains(')'),
        };
        !self.is_code && self.word.len() < LONGEST_LINK && open.is_some_and(is_open)
    }

    /// The word, in a new line where it does not fit.
    fn draw_word(&mut self) -> Shown {
        let word = with_plain_links(&std::mem::take(&mut self.word));
        let mut drawn = Shown::default();
        for part in word.split(' ') {
            let part = self.inline(part);
            let room = columns(&part);
            if self.column > self.indent && self.column + room > self.width {
                drawn = text!("{}\n{}", drawn, " ".repeat(self.indent));
                self.column = self.indent;
            } else if columns(&drawn) > 0 {
                drawn = text!("{} ", drawn);
                self.column += 1;
            }
            drawn = text!("{}{}", drawn, part);
            self.column += room;
        }
        drawn
    }

    /// Without the marks of bold text and code, in their colours.
    fn inline(&mut self, word: &str) -> Shown {
        if word == "**" {
            return word.shown();
        }
        let (mut drawn, mut run) = (Shown::default(), String::new());
        let mut chars = word.chars().peekable();
        while let Some(c) = chars.next() {
            let toggles_bold = c == '*' && !self.is_code && chars.next_if_eq(&'*').is_some();
            if !toggles_bold && c != '`' {
                run.push(c);
                continue;
            }
            drawn = text!("{}{}", drawn, self.styled(&std::mem::take(&mut run)));
            match toggles_bold {
                true => self.is_bold = !self.is_bold,
                false => self.is_code = !self.is_code,
            }
        }
        text!("{}{}", drawn, self.styled(&run))
    }

    fn styled(&self, text: &str) -> Shown {
        match (text.is_empty(), self.is_code, self.is_bold) {
            (true, ..) => Shown::default(),
            (_, true, _) => dim(cyan(text)),
            (_, _, true) => bold(text),
            _ => text.shown(),
        }
    }

    /// The rows so far, in columns that line up.
    fn table(&mut self) -> Shown {
        let rows: Vec<Vec<Shown>> = std::mem::take(&mut self.table)
            .iter()
            .map(|row| {
                row.trim()
                    .trim_matches('|')
                    .split('|')
                    .map(|cell| cell.trim().to_owned())
                    .collect::<Vec<_>>()
            })
            .filter(|row| {
                !row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-:".contains(c)))
            })
            .map(|row| row.iter().map(|cell| self.inline(&with_plain_links(cell))).collect())
            .collect();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count)
            .map(|at| rows.iter().filter_map(|row| row.get(at)).map(columns).max().unwrap_or(0))
            .collect();
        let mut drawn = Shown::default();
        for (at, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).fold(Shown::default(), |line, (cell, width)| {
                let cell = if at == 0 { bold(cell) } else { cell.clone() };
                text!("{}  {}", line, pad(&cell, *width, false))
            });
            drawn = text!("{}{}\n", drawn, cells);
        }
        drawn
    }
}

/// `[text](url)` as `text (url)`.
fn with_plain_links(word: &str) -> String {
    let Some((before, rest)) = word.split_once('[') else { return word.to_owned() };
    let parts =
        rest.split_once("](").and_then(|(label, rest)| Some((label, rest.split_once(')')?)));
    match parts {
        Some((label, (url, after))) if label == url => {
            format!("{before}{url}{}", with_plain_links(after))
        }
        Some((label, (url, after))) => {
            format!("{before}{label} ({url}){}", with_plain_links(after))
        }
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::Markdown;

    fn drawn(markdown: &str, width: usize, piece: usize) -> String {
        let mut view = Markdown::new(width);
        let chars: Vec<char> = markdown.chars().collect();
        let pieces = chars.chunks(piece).map(|piece| piece.iter().collect::<String>());
        let mut drawn: String = pieces.map(|piece| view.push(&piece).to_string()).collect();
        drawn.push_str(&view.end().to_string());
        drawn
    }

    const ANSWER: &str = "# The *tax* bug\n\nThe test is **right**: `total` never adds tax, see [the cart](src/cart.rs) for the sum.\n\n- `Cart::total` sums net prices only, which is what the test complains about\n  - nested\n1. one\n\n| file | lines |\n|---|--:|\n| `cart.rs` | 182 |\n| a | 7 |\n\n```rust\nfn total() -> u64 {\n    let x = \"**not bold**\";\n}\n```\nDone. 2 * 3 ** 4 [open";

    #[test]
    fn markdown_is_drawn_the_same_however_it_is_cut() {
        for width in [80, 50] {
            let whole = drawn(ANSWER, width, 10_000);
            for piece in [1, 2, 3, 7] {
                assert_eq!(drawn(ANSWER, width, piece), whole);
            }
            let plain = strip_str(&whole).to_string();
            insta::assert_snapshot!(format!("markdown_{width}"), plain);
        }
    }

    #[test]
    fn no_text_of_a_model_reaches_the_terminal_unseen() {
        let hostile =
            "a\u{1b}[2J **b\u{7}** `c\u{202e}`\n```\n\u{1b}]0;x\u{7}\n```\n| \u{1b}[1m |\n";
        let drawn = drawn(hostile, 80, 1);
        for hidden in ["\u{1b}[2J", "\u{7}", "\u{202e}", "\u{1b}]"] {
            assert!(!drawn.contains(hidden), "{drawn:?}");
        }
    }
}
