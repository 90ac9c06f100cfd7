//! The globs of a profile. A sign that other readers of globs give a meaning, and this one does not, is refused: the rule would
//! load and guard nothing.

use super::PatternError;
use glob::Pattern;

/// How many of the rules to write instead are named.
const MOST_NAMED: usize = 4;

/// A glob over any text.
pub(crate) fn glob(text: &str) -> Result<Pattern, PatternError> {
    if let Some(each) = choices(text) {
        let named: Vec<String> =
            each.iter().take(MOST_NAMED).map(|rule| format!("`{rule}`")).collect();
        let more = if each.len() > MOST_NAMED { " …" } else { "" };
        let message = format!(
            "braces choose nothing here: write one rule for each, {}{more}; a brace itself is `[{{]`",
            named.join(", ")
        );
        return Err(PatternError { message });
    }
    Pattern::new(text)
        .map_err(|error| PatternError { message: format!("`{text}` is not a glob: {}", error.msg) })
}

/// A glob over the names of tools, or over paths.
pub(crate) fn glob_of_names(text: &str) -> Result<Pattern, PatternError> {
    let pattern = glob(text)?;
    let outside_sets = without_sets(text);
    let advice = if text.trim() != text {
        "has a blank at its start or end: leave it out"
    } else if text.starts_with('!') {
        "starts with `!`, which turns nothing round here: write what it is to let through in `allow`"
    } else if outside_sets.contains('\\') {
        "has a `\\`, which means nothing here: folders are parted by `/`, and `[*]` is a star itself"
    } else if outside_sets.contains(',') {
        "has a `,`, which parts nothing here: write one rule for each; a comma itself is `[,]`"
    } else {
        return Ok(pattern);
    };
    Err(PatternError { message: format!("`{text}` {advice}") })
}

/// The rules that `a{b,c}d` would be elsewhere.
fn choices(text: &str) -> Option<Vec<String>> {
    let mut start = 0;
    while let Some(open) = text.get(start..)?.find('{').map(|at| start.saturating_add(at)) {
        start = open.saturating_add(1);
        let (before, inside) = (text.get(..open)?, text.get(start..)?);
        let (inside, after) = inside.split_once('}')?;
        // `{"a":1, "b":2}` is a text of JSON, and `[{]` the brace itself.
        let is_choice = inside.contains(',')
            && !before.ends_with('[')
            && !inside.contains(|c: char| c.is_whitespace() || "{\"':".contains(c));
        if is_choice {
            let each = inside.split(',').map(|one| format!("{before}{one}{after}"));
            return Some(each.collect());
        }
    }
    None
}

/// The glob without what stands in `[…]`.
fn without_sets(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, set)) = rest.split_once('[') {
        kept.push_str(before);
        // A `]` that comes first belongs to the set.
        let end = set.char_indices().skip(1).find(|(_, c)| *c == ']').map(|(at, _)| at);
        rest = end.and_then(|at| set.get(at.saturating_add(1)..)).unwrap_or_default();
    }
    kept + rest
}
