//! Tables that fit the width.

use super::{columns, fit, fit_middle, pad, wrap};
use crate::shown::{Show, Shown, dim, text};

/// Below so many columns, what is marked [`Column::below`] moves under its row.
const NARROW: usize = 60;
/// The columns between two cells, and those where that is too wide.
const WIDE_GAP: usize = 2;
const GAP: usize = 1;
/// A column that gives way keeps so many columns.
const LEAST: usize = 8;

/// One column of a table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    right: bool,
    gives_way: Option<Cut>,
    below: bool,
}

#[derive(Clone, Copy)]
enum Cut {
    End,
    Middle,
}

impl Column {
    pub(crate) const fn new(title: &'static str) -> Self {
        Self { title, right: false, gives_way: None, below: false }
    }

    /// For numbers.
    pub(crate) const fn right(self) -> Self {
        Self { right: true, ..self }
    }

    /// It loses its end when the table is too wide.
    pub(crate) const fn loses_end(self) -> Self {
        Self { gives_way: Some(Cut::End), ..self }
    }

    /// It loses its middle when the table is too wide: for paths and commands.
    pub(crate) const fn loses_middle(self) -> Self {
        Self { gives_way: Some(Cut::Middle), ..self }
    }

    /// It moves under its row in a narrow terminal.
    pub(crate) const fn below(self) -> Self {
        Self { below: true, ..self }
    }
}

/// The visible columns, their widths and the gap between them.
struct Layout {
    widths: Vec<usize>,
    beside: Vec<usize>,
    gap: usize,
}

/// Rows under a header.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Shown>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// One cell for each column; a cell without text is shown as `-`, unless it is all spaces.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Shown>) {
        let dash = |cell: Shown| if columns(&cell) == 0 { dim("-") } else { cell };
        self.rows.push(cells.into_iter().map(dash).collect());
    }

    /// Whether a cell would be cut in so many columns.
    pub(crate) fn is_wider_than(&self, width: usize) -> bool {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        self.natural(&all).iter().sum::<usize>() + GAP * all.len().saturating_sub(1) > width
    }

    /// The lines of the table in so many columns, the header first.
    pub(crate) fn lines(&self, width: usize) -> Vec<Shown> {
        let narrow = width < NARROW;
        let beside: Vec<usize> =
            (0..self.columns.len()).filter(|at| !(narrow && self.is_below(*at))).collect();
        let (whole, gaps) =
            (self.natural(&beside).iter().sum::<usize>(), beside.len().saturating_sub(1));
        let gap = if whole + WIDE_GAP * gaps > width { GAP } else { WIDE_GAP };
        let layout = Layout { widths: self.widths(&beside, width, gap), beside, gap };
        let header: Vec<Shown> = self.columns.iter().map(|column| column.title.shown()).collect();
        let mut lines = vec![dim(self.line(&header, &layout))];
        for row in &self.rows {
            lines.push(self.line(row, &layout));
            if narrow {
                lines.extend(self.under(row, &layout, width));
            }
        }
        lines
    }

    fn is_below(&self, at: usize) -> bool {
        self.columns.get(at).is_some_and(|column| column.below)
    }

    fn cell(row: &[Shown], at: usize) -> Shown {
        row.get(at).cloned().unwrap_or_default()
    }

    /// Each column as wide as its widest cell.
    fn natural(&self, beside: &[usize]) -> Vec<usize> {
        let widest = |at: usize| {
            let title = self.columns.get(at).map_or(0, |column| column.title.len());
            let cells = self.rows.iter().map(|row| columns(&Self::cell(row, at)));
            cells.chain([title]).max().unwrap_or(0)
        };
        beside.iter().map(|at| widest(*at)).collect()
    }

    /// The same, and less where a column gives way.
    fn widths(&self, beside: &[usize], width: usize, gap: usize) -> Vec<usize> {
        let mut widths = self.natural(beside);
        let gaps = gap * beside.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > width {
            let gives = |at: usize| self.columns.get(at).is_some_and(|it| it.gives_way.is_some());
            let widest =
                widths.iter_mut().zip(beside).filter(|(now, at)| gives(**at) && **now > LEAST);
            match widest.max_by_key(|(now, _)| **now) {
                Some((now, _)) => *now -= 1,
                None => break,
            }
        }
        widths
    }

    fn line(&self, row: &[Shown], Layout { widths, beside, gap }: &Layout) -> Shown {
        let mut line = Shown::default();
        for (nth, (at, width)) in beside.iter().zip(widths).enumerate() {
            let Some(column) = self.columns.get(*at) else { continue };
            let cell = match column.gives_way {
                Some(Cut::Middle) => fit_middle(&Self::cell(row, *at), *width),
                _ => fit(&Self::cell(row, *at), *width),
            };
            let cell = match nth + 1 == beside.len() && !column.right {
                true => cell,
                false => pad(&cell, *width, column.right),
            };
            line = if nth == 0 { cell } else { text!("{}{}{}", line, " ".repeat(*gap), cell) };
        }
        line
    }

    /// A note under a row, below its second column.
    fn under(&self, row: &[Shown], layout: &Layout, width: usize) -> Option<Shown> {
        let below = (0..self.columns.len()).filter(|at| self.is_below(*at));
        let cells = below.filter_map(|at| {
            let cell = Self::cell(row, at);
            let title = self.columns.get(at)?.title.to_lowercase();
            let said = !cell.as_str().trim().is_empty() && cell != dim("-");
            said.then(|| if title.is_empty() { cell } else { text!("{} {}", title, cell) })
        });
        let joined = cells.reduce(|line, cell| text!("{} · {}", line, cell))?;
        let indent = layout.widths.first().map_or(0, |first| first + layout.gap).min(8);
        let line = wrap(&text!("{}{}", " ".repeat(indent), joined), width, indent);
        Some(dim(line))
    }
}
