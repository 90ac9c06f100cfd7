//! The globs of a profile. A sign that other readers of globs give a meaning, and this one does not, is refused: the rule would
//! load and guard nothing.

use super::PatternError;
use glob::Pattern;

/// How many of the rules to write instead are named.
const MOST_NAMED: usize = 4;

/// A glob over any text.
pub(crate) fn glob(text: &str) -> Result<Pattern, PatternError> {
    no_choices(text)?;
    for set in parts(text).into_iter().filter_map(|part| part.set) {
        let message = match set {
            Set { inside, behind } if inside.starts_with('^') && turns_round(inside, behind) => {
                let others = inside.trim_start_matches('^');
                format!("`[^{others}]` does not negate here: write `[!{others}]`")
            }
            Set { inside, .. } if inside.starts_with("[:") => format!(
                "`[{inside}]` is not a class of letters here: write them out, like `[a-z]` or `[0-9]`"
            ),
            _ => continue,
        };
        return Err(PatternError { message });
    }
    Pattern::new(text)
        .map_err(|error| PatternError { message: format!("`{text}` is not a glob: {}", error.msg) })
}

/// `[^]` is the sign itself, unless a set goes on behind it.
fn turns_round(inside: &str, behind: &str) -> bool {
    let next = behind.find(['[', ']']).and_then(|at| behind.get(at..));
    inside != "^" || next.is_some_and(|next| next.starts_with(']'))
}

/// Braces choose nothing: each choice is a rule of its own.
pub(super) fn no_choices(text: &str) -> Result<(), PatternError> {
    let Some(each) = choices(text) else { return Ok(()) };
    let named: Vec<String> = each.iter().take(MOST_NAMED).map(|rule| format!("`{rule}`")).collect();
    let more = if each.len() > MOST_NAMED { " …" } else { "" };
    let message = format!(
        "braces choose nothing here: write one rule for each, {}{more}; a brace itself is `[{{]`",
        named.join(", ")
    );
    Err(PatternError { message })
}

/// A glob over the names of tools, or over paths.
///
/// # Errors
/// With what is wrong with it, and what to write instead.
pub fn glob_of_names(text: &str) -> Result<Pattern, PatternError> {
    let pattern = glob(text)?;
    let outside_sets: String = parts(text).into_iter().map(|part| part.text).collect();
    let groups = ["@(", "?(", "*(", "+(", "!("];
    let advice = if text.trim() != text {
        "has a blank at its start or end: leave it out"
    } else if groups.iter().any(|group| outside_sets.contains(group)) {
        "has a group, which has no meaning here: write one rule for each; a bracket itself is `[(]`"
    } else if text.starts_with('!') {
        "starts with `!`, which does not negate here: write what may pass in `allow`"
    } else if outside_sets.contains('\\') {
        "has a `\\`, which means nothing here: folders are parted by `/`, and `[*]` is a star itself"
    } else if outside_sets.contains(',') {
        "has a `,`, which does not separate rules: write one rule for each; a comma itself is `[,]`"
    } else if outside_sets.contains('|') {
        "has a `|`, which does not separate rules: write one rule for each; the sign itself is `[|]`"
    } else if text.starts_with('^') {
        "starts with `^`, and rules are globs: each is about the whole name; the sign itself is `[^]`"
    } else if text.ends_with('$') {
        "ends with `$`, and rules are globs: each is about the whole name; the sign itself is `[$]`"
    } else if outside_sets.contains('$') {
        "has a `$`, and no variable is looked up here: write out what it stands for; the sign itself is `[$]`"
    } else if text.contains("://") || text.starts_with("file:") {
        "is an address: write the path alone, like `/etc`; a colon itself is `[:]`"
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

/// Some text of a glob, and the set `[…]` that follows it.
struct Part<'t> {
    text: &'t str,
    set: Option<Set<'t>>,
}

struct Set<'t> {
    inside: &'t str,
    behind: &'t str,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, set)) = rest.split_once('[') {
        // A `]` that comes first belongs to the set, and behind a `!` too.
        let first = if set.starts_with('!') { 2 } else { 1 };
        let end = set.char_indices().skip(first).find(|(_, c)| *c == ']').map(|(at, _)| at);
        let inside = end.and_then(|at| set.get(..at));
        rest = end.and_then(|at| set.get(at.saturating_add(1)..)).unwrap_or_default();
        let set = inside.map(|inside| Set { inside, behind: rest });
        parts.push(Part { text: before, set });
    }
    parts.push(Part { text: rest, set: None });
    parts
}

/// What to write for the name `[id]`, if a part of a path is a set alone, or but for an ending: it is one letter, and may be
/// meant as the name of a folder.
#[must_use]
pub fn name_meant(part: &str) -> Option<String> {
    let stem = part.rfind(']').and_then(|at| part.get(..=at))?;
    let ending = part.strip_prefix(stem)?;
    let found = parts(stem);
    let set = found.first().filter(|first| first.text.is_empty())?.set.as_ref()?;
    let is_all = set.behind.is_empty() || (set.behind == "]" && set.inside.starts_with('['));
    let letters: Vec<char> = set.inside.chars().collect();
    let ranges = letters.chunks(3).all(|range| matches!(range, [_, '-', _]));
    let is_name = is_all
        && letters.len() > 1
        && !set.inside.starts_with('!')
        && !ranges
        && set.inside.chars().any(char::is_alphabetic)
        && (ending.is_empty() || ending.starts_with('.'));
    is_name.then(|| part.replace('[', "[[]"))
}
