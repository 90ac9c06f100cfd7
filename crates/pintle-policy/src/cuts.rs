//! What is left of a text when a piece is cut off it: `${name%.rs}`, `${path##*/}`.

use crate::shell::{Cut, Word};
use glob::Pattern;

/// Longer texts, and more cuts, are not tried.
const LONGEST: usize = 256;
const MOST: usize = 16;

/// What may be left of a variable that holds `text`, after any of these cuts. A text is cut as it is written; of a file pattern
/// and of what a program prints, what could be left is named by a pattern.
pub(crate) fn left_of(text: &str, cuts: &[Cut]) -> Vec<String> {
    if cuts.is_empty() {
        return Vec::new();
    }
    if text.len() > LONGEST || cuts.len() > MOST {
        return anywhere();
    }
    if text.contains('$') {
        return Vec::new();
    }
    let is_pattern = text.contains(['*', '?', '[']);
    cuts.iter()
        .flat_map(|cut| if is_pattern { of_found(text, cut) } else { of_text(text, cut) })
        .collect()
}

fn anywhere() -> Vec<String> {
    vec![Word::ANYWHERE.to_owned()]
}

fn of_text(text: &str, cut: &Cut) -> Vec<String> {
    let pattern = cut.pattern.as_deref().map(Pattern::new);
    let is_cut = |piece: &str| match &pattern {
        Some(Ok(pattern)) => pattern.matches(piece),
        _ => true,
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let parts = ends.filter_map(|at| text.split_at_checked(at));
    let left = parts.filter_map(|(start, end)| match cut.at_start {
        true => is_cut(start).then_some(end),
        false => is_cut(end).then_some(start),
    });
    left.map(str::to_owned).collect()
}

/// A name that a file pattern finds, cut: without its end it is another name in the same folder, without its start one
/// that is found further in.
fn of_found(text: &str, cut: &Cut) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    if !cut.at_start {
        let (_, folders) = parts.split_last().unwrap_or((&"", &[]));
        let prefixes = (0..=folders.len()).filter_map(|count| folders.get(..count));
        return prefixes
            .map(|folders| folders.iter().map(|part| format!("{part}/")).collect::<String>() + "*")
            .collect();
    }
    let ends_with_a_folder = cut.pattern.as_deref().is_some_and(|pattern| pattern.ends_with('/'));
    if parts.len() > 1 && !ends_with_a_folder {
        return anywhere();
    }
    match parts.len() {
        1 => vec!["*".to_owned()],
        _ => (1..parts.len()).filter_map(|at| Some(parts.get(at..)?.join("/"))).collect(),
    }
}
