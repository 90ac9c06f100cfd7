//! A line with the values of the variables that it begins by setting: `f=hooks/check.sh; sh $f`.

use crate::contents::is_part_of_a_path;
use crate::shell::is_variable_name;
use std::borrow::Cow;

/// The line as a shell runs it, as far as it sets variables to plain texts before anything else and never again. The rest stays
/// as it is written.
pub(super) fn settled(line: &str) -> Cow<'_, str> {
    let mut held: Vec<(&str, &str)> = Vec::new();
    let mut rest = line.trim_start();
    while let Some((name, value, behind)) = assignment(rest) {
        held.push((name, value));
        rest = behind.trim_start();
    }
    held.retain(|(name, _)| held_once(name, rest));
    if held.is_empty() {
        return Cow::Borrowed(line);
    }
    let before = line.get(..line.len().saturating_sub(rest.len())).unwrap_or_default();
    Cow::Owned(format!("{before}{}", filled(rest, &held)))
}

/// `NAME=value;` and what follows.
fn assignment(line: &str) -> Option<(&str, &str, &str)> {
    let (name, after) = line.split_once('=').filter(|it| is_variable_name(it.0))?;
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (value, behind) = match quote {
        Some(quote) => after.get(1..)?.split_once(quote)?,
        None => after.split_at(after.find(|c| !is_part_of_a_path(c))?),
    };
    let is_plain = !value.is_empty() && value.chars().all(is_part_of_a_path);
    let ends = ["&&", ";", "\n"];
    let behind = behind.trim_start_matches([' ', '\t']);
    let behind = ends.iter().find_map(|end| behind.strip_prefix(end))?;
    is_plain.then_some((name, value, behind))
}

/// Whether the name is only looked up in the rest of the line.
fn held_once(name: &str, rest: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = rest.match_indices(name).filter(|(at, _)| {
        let before = rest.get(..*at).and_then(|it| it.chars().next_back());
        let after = rest.get(at.saturating_add(name.len())..).and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    });
    found.all(|(at, _)| {
        let (before, after) = rest.split_at(at);
        let after = after.get(name.len()..).unwrap_or_default();
        (before.ends_with('$') && !before.ends_with("\\$"))
            || (before.ends_with("${") && after.starts_with('}'))
    })
}

fn filled(rest: &str, held: &[(&str, &str)]) -> String {
    let mut found = String::new();
    let mut quoted = false;
    let mut in_double = false;
    let mut left = rest;
    'outer: while let Some(c) = left.chars().next() {
        if c == '\'' && !in_double {
            quoted = !quoted;
        }
        if c == '"' && !quoted {
            in_double = !in_double;
        }
        if c == '$' && !quoted {
            for (name, value) in held {
                let braced =
                    left.strip_prefix("${").and_then(|it| it.strip_prefix(name)?.strip_prefix('}'));
                let plain = left.strip_prefix('$').and_then(|it| it.strip_prefix(name));
                let plain = plain
                    .filter(|it| !it.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
                if let Some(behind) = braced.or(plain) {
                    found.push_str(value);
                    left = behind;
                    continue 'outer;
                }
            }
        }
        found.push(c);
        left = left.get(c.len_utf8()..).unwrap_or_default();
    }
    found
}
