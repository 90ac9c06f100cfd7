//! The patterns of JSON Schema are JavaScript's regular expressions; these are the ones that mean the same here.

use regex::Regex;

/// Compiles a pattern, or says why it could mean something else here.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let bad = |why: &str| format!("the pattern {pattern:?} cannot be checked: {why}");
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    let mut in_class = false;
    let mut before = None;
    while let Some(character) = characters.next() {
        match character {
            // Digits and letters are ASCII in JavaScript.
            '\\' => match characters.next() {
                Some('d') => translated.push_str("[0-9]"),
                Some('D') => translated.push_str("[^0-9]"),
                Some('w') => translated.push_str("[0-9A-Za-z_]"),
                Some('W') => translated.push_str("[^0-9A-Za-z_]"),
                Some(escaped @ ('b' | 'B')) if !in_class => {
                    translated.push_str(&format!("(?-u:\\{escaped})"));
                }
                Some(escaped) => translated.extend(['\\', escaped]),
                None => return Err(bad("it ends with a backslash")),
            },
            '[' if in_class => translated.push_str("\\["),
            '[' => {
                in_class = true;
                translated.push('[');
            }
            ']' if translated.ends_with('[') || translated.ends_with("[^") => {
                return Err(bad("a set of characters is empty"));
            }
            ',' if !in_class && before == Some('{') => {
                return Err(bad("a repetition has no least number"));
            }
            ']' => {
                in_class = false;
                translated.push(']');
            }
            '&' | '-' | '~' if in_class && before == Some(character) => {
                return Err(bad("two of the same sign stand in a set of characters"));
            }
            '.' if !in_class => translated.push_str("[^\\n\\r\\u2028\\u2029]"),
            other => translated.push(other),
        }
        before = Some(character);
    }
    Regex::new(&translated).map_err(|_| bad("it uses what this program does not support"))
}
