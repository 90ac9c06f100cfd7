//! What a word that is decided at run time may become, as far as its own text says.

use super::Word;

/// More choices than anybody writes by hand.
const MOST: usize = 64;
/// A default value in a default value in a default value…
const DEEPEST: usize = 8;
/// Stands for what could be any place.
const ANYWHERE: &str = "$()/..";

impl Word {
    /// The texts that this word may become: quotes taken off, each of `{a,b}` chosen, each default (`${X:-/}`) put in its place.
    /// What only running it would tell stays as `$NAME`, or as `$()` for a substitution; file patterns stay as they are.
    ///
    /// ```
    /// # use pintle_policy::shell::Word;
    /// let word = Word::Dynamic("\"${X:-/}\"{a,b}".into());
    /// assert_eq!(word.readings(), ["$Xa", "$Xb", "/a", "/b"]);
    /// ```
    #[must_use]
    pub fn readings(&self) -> Vec<String> {
        match self {
            Self::Literal(text) => vec![text.clone()],
            Self::Dynamic(raw) => alternatives(raw, 0),
        }
    }
}

fn alternatives(raw: &str, depth: usize) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut rest = raw;
    while !rest.is_empty() {
        let (choices, used) = next(rest, depth);
        if found.len().saturating_mul(choices.len()) > MOST {
            return vec![ANYWHERE.to_owned()];
        }
        found = found
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{choice}")))
            .collect();
        rest = rest.get(used.max(1)..).unwrap_or_default();
    }
    found
}

/// The choices for what `rest` starts with, and how many bytes that was.
fn next(rest: &str, depth: usize) -> (Vec<String>, usize) {
    let one = |text: &str, used: usize| (vec![text.to_owned()], used);
    let first = rest.chars().next().unwrap_or_default();
    let after = rest.get(first.len_utf8()..).unwrap_or_default();
    match (first, after.chars().next()) {
        ('"' | '\'', _) => one("", 1),
        ('\\', Some('\n')) => one("", 2),
        ('\\', Some(escaped)) => one(escaped.encode_utf8(&mut [0; 4]), 1 + escaped.len_utf8()),
        ('`', _) => one("$()", after.find('`').map_or(rest.len(), |end| end.saturating_add(2))),
        ('$', Some('(')) => one("$()", 1 + balanced(after, '(', ')').unwrap_or(after.len())),
        ('$', Some('\'')) => {
            let end = after
                .get(1..)
                .and_then(|text| text.find('\''))
                .map_or(after.len(), |end| end.saturating_add(2));
            match after.get(1..end.saturating_sub(1)) {
                Some(text) if !text.contains('\\') => one(text, 1 + end),
                _ => one(ANYWHERE, 1 + end),
            }
        }
        ('$', Some('{')) => {
            let end = balanced(after, '{', '}').unwrap_or(after.len());
            let inside = after.get(1..end.saturating_sub(1)).unwrap_or_default();
            (expansion(inside, depth), 1 + end)
        }
        ('{', _) => match balanced(rest, '{', '}')
            .and_then(|end| Some((rest.get(1..end.saturating_sub(1))?, end)))
        {
            Some((inside, end)) if parts(inside).len() > 1 && depth < DEEPEST => {
                let choices = parts(inside).into_iter();
                (
                    choices.flat_map(|part| alternatives(part, depth.saturating_add(1))).collect(),
                    end,
                )
            }
            _ => one("{", 1),
        },
        (c, _) => one(c.encode_utf8(&mut [0; 4]), c.len_utf8()),
    }
}

/// Where the bracket that `text` starts with is closed: the number of bytes up to there.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth = depth.saturating_add(1);
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(at.saturating_add(c.len_utf8()));
            }
        }
    }
    None
}

/// Splits at the commas that are in no inner braces.
fn parts(inside: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    inside
        .split(|c| {
            match c {
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

/// `${…}`: the variable itself, and what may stand in its place.
fn expansion(inside: &str, depth: usize) -> Vec<String> {
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, mut operator) = inside.split_at_checked(end).unwrap_or((inside, ""));
    if name.is_empty() || depth >= DEEPEST {
        // `${!X}` is whatever X names; `${#X}` and the like are numbers.
        let is_plain = matches!(operator, "@" | "*" | "#" | "?" | "-" | "$" | "!")
            || operator.starts_with('#');
        return vec![if is_plain { "$()" } else { ANYWHERE }.to_owned()];
    }
    if operator.starts_with('[') {
        operator =
            balanced(operator, '[', ']').and_then(|end| operator.get(end..)).unwrap_or_default();
    }
    let variable = format!("${name}");
    let default = [":-", ":=", ":+", "-", "=", "+"].iter().find_map(|op| operator.strip_prefix(op));
    let replacement = operator.strip_prefix('/').map(|rest| {
        rest.get(1..).and_then(|rest| rest.split_once('/')).map_or("", |(_, with)| with)
    });
    match default.or(replacement) {
        Some(text) => {
            let mut found = vec![variable];
            found.extend(alternatives(text, depth.saturating_add(1)));
            found
        }
        // Cutting a piece off a place leads to another one.
        None if !operator.is_empty() && is_place(name) => vec![ANYWHERE.to_owned()],
        None => vec![variable],
    }
}

fn is_place(name: &str) -> bool {
    matches!(
        name,
        "PWD" | "OLDPWD" | "HOME" | "TMPDIR" | "PATH" | "SHELL" | "0" | "BASH" | "BASH_SOURCE"
    )
}
