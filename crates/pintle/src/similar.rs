//! "Did you mean …?": the one place that says which name is close to another.
//!
//! ```
//! use pintle::similar::nearest;
//!
//! assert_eq!(nearest("before_promt_build", ["before_prompt_build", "tool.pre"]), Some("before_prompt_build"));
//! assert_eq!(nearest("ToolPre", ["before_prompt_build", "tool.pre"]), Some("tool.pre"));
//! assert_eq!(nearest("deploy", ["before_prompt_build", "tool.pre"]), None);
//! ```

/// The valid spelling closest to what was written, if it is close enough to be what was meant.
///
/// Case, `_`, `-`, `.` and spaces make no difference. A name is close enough if at most a third of its characters differ,
/// or if one of the two begins with the other.
#[must_use]
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', '.', ' '], "");
    let wanted = plain(written);
    let begins = |name: &str| {
        wanted.len().min(name.len()) >= 3 && (name.starts_with(&wanted) || wanted.starts_with(name))
    };
    valid
        .into_iter()
        .map(|name| (plain(name), name))
        .map(|(plain, name)| (edits(&wanted, &plain), plain, name))
        .filter(|(slips, plain, name)| *slips <= (name.len() / 3).max(1) || begins(plain))
        // Of `session.start` and `session_start`, the one that is written with the same signs.
        .min_by_key(|(slips, _, name)| (*slips, edits(written, name)))
        .map(|(.., name)| name)
}

/// How many slips lead from one text to the other: a character more, one less, another one, or two in the wrong order.
#[must_use]
pub fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // Three rows of the table are enough: two in the wrong order look two rows back.
    let (mut above_that, mut above): (Vec<usize>, Vec<usize>) =
        (Vec::new(), (0..=to.len()).collect());
    let mut before = None;
    for (line, a) in from.chars().enumerate() {
        let mut row = Vec::with_capacity(to.len() + 1);
        let mut left = line + 1;
        row.push(left);
        for (at, b) in to.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut least = (cell(&above, at) + usize::from(a != *b))
                .min(cell(&above, at + 1) + 1)
                .min(left + 1);
            let swapped = at > 0 && before == Some(*b) && to.get(at - 1) == Some(&a);
            if swapped {
                least = least.min(cell(&above_that, at - 1) + 1);
            }
            row.push(least);
            left = least;
        }
        above_that = std::mem::replace(&mut above, row);
        before = Some(a);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn each_kind_of_slip_is_one_edit() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("write", "writes", 1),
            ("wriet", "write", 1),
            ("wrote", "write", 1),
            ("kitten", "sitting", 3),
            ("läuft", "lauft", 1),
        ] {
            assert_eq!((edits(from, to), edits(to, from)), (expected, expected), "{from} {to}");
        }
    }
}
