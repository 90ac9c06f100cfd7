//! Scripts that go through their own functions: `for c in "${checks[@]}"; do "$c"; done`.

use crate::shell::{Word, is_variable_name};
use std::collections::BTreeSet;

/// What a shell script says of itself, as far as it is plain.
#[derive(Default)]
pub(super) struct OwnFunctions<'t> {
    text: &'t str,
    names: BTreeSet<&'t str>,
}

impl<'t> OwnFunctions<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let of_line = |line: &'t str| {
            let line = line.trim_start();
            let behind = line.strip_prefix("function ").map(str::trim_start);
            let name = behind.unwrap_or(line).split(['(', ' ', '{']).next().unwrap_or_default();
            let rest = behind.unwrap_or(line).get(name.len()..).unwrap_or_default();
            let is_one = behind.is_some() || rest.replace(' ', "").starts_with("()");
            (is_one && is_variable_name(name)).then_some(name)
        };
        Self { text, names: text.lines().filter_map(of_line).collect() }
    }

    /// Whether a command's name is a variable that can only be one of them.
    pub(super) fn are_all_of(&self, name: &Word) -> bool {
        let plain = name.text().trim_matches('"');
        let variable = plain.strip_prefix('$').map(|it| it.trim_matches(['{', '}']));
        let Some(variable) = variable.filter(|it| is_variable_name(it)) else { return false };
        if self.names.is_empty() || !self.is_set_by_loops_alone(variable) {
            return false;
        }
        let start = format!("for {variable} in ");
        let mut loops = self.text.split(&start).skip(1).peekable();
        loops.peek().is_some() && loops.all(|words| self.holds(words))
    }

    /// `for c in a b; do`, `for c in "${checks[@]}"; do`
    fn holds(&self, words: &str) -> bool {
        let mut words = words.split([';', '\n']).next().unwrap_or_default().split_whitespace();
        words.all(|word| self.names.contains(word) || self.is_list(word))
    }

    /// `"${checks[@]}"` of `checks=(check_a check_b)`
    fn is_list(&self, word: &str) -> bool {
        let inner = word.trim_matches('"').strip_prefix("${");
        let Some(list) = inner.and_then(|it| it.strip_suffix("[@]}")) else { return false };
        let set: Vec<&str> =
            self.texts_behind(list).filter(|it| it.starts_with(['=', '+'])).collect();
        let is_plain = |text: &&str| {
            let inner = text.strip_prefix("=(").or_else(|| text.strip_prefix("+=("));
            let mut words =
                inner.and_then(|it| it.split_once(')')).map(|it| it.0.split_whitespace());
            words.as_mut().is_some_and(|words| words.all(|it| self.names.contains(it)))
        };
        !set.is_empty() && set.iter().all(is_plain) && self.is_set_in_plain_sight(list)
    }

    /// What follows on each place where it stands as a word.
    fn texts_behind<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'t str> + 'a {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.text.match_indices(name).filter_map(move |(at, _)| {
            let behind = self.text.get(at.saturating_add(name.len())..)?;
            let before = self.text.get(..at)?;
            (!before.ends_with(is_part) && !behind.starts_with(is_part)).then_some(behind)
        })
    }

    fn is_set_by_loops_alone(&self, variable: &str) -> bool {
        let is_set = |behind: &str| behind.starts_with(['=', '[', '+']);
        !self.texts_behind(variable).any(is_set) && self.is_set_in_plain_sight(variable)
    }

    /// Nothing reads into it, or changes it by its name.
    fn is_set_in_plain_sight(&self, name: &str) -> bool {
        let sets = [
            "read",
            "readarray",
            "mapfile",
            "eval",
            "getopts",
            "local",
            "declare",
            "printf -v",
            "-n",
        ];
        let names_it = |line: &str| {
            line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|it| it == name)
        };
        let says = |line: &str, word: &str| line.split([' ', '\t', ';', '(']).any(|it| it == word);
        let lines = self.text.lines().filter(|line| names_it(line));
        let is_hidden = |line: &str| {
            let declares = |word: &&str| matches!(*word, "local" | "declare");
            sets.iter().any(|word| {
                says(line, word) && !(declares(word) && line.contains(&format!("{name}=(")))
            })
        };
        let has_index = self.text.contains(&format!("{name}[")) && {
            let reads = format!("${{{name}[@]}}");
            self.text.matches(&format!("{name}[")).count() != self.text.matches(&reads).count()
        };
        !lines.into_iter().any(is_hidden) && !has_index && !self.text.contains("eval ")
    }
}
