//! How things look in a terminal: glyphs, widths, numbers, tables, tool calls and diffs.

mod call;
mod diff;
mod format;
mod glyph;
mod highlight;
mod layout;
pub(crate) mod shown;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use call::call;
pub(crate) use diff::{Diff, DiffPart};
pub(crate) use format::{
    ago, cost, count, duration, duration_ms, left, millis, plural, size, tokens,
};
pub(crate) use glyph::{Glyph, is_ascii, set_ascii, to_ascii};
pub(crate) use highlight::command_lines;
pub(crate) use layout::{
    columns, fit, fit_middle, pad, set_width, set_width_of_messages, width, width_of_messages, wrap,
};
pub(crate) use table::{Column, Table};
