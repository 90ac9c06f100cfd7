//! Commands that run what only running them tells.

use super::data::checks;
use super::loaders::{DECLARERS, TALKERS, interpreted};
use super::reaches::parts;
use crate::contents::is_part_of_a_path;
use crate::shell::{SimpleCommand, Word, is_variable_name};
use std::collections::BTreeSet;

/// A command that runs what only running it tells: `. "$f"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) command: String,
    /// What it says of it all the same: `. "$HERE/rules.sh"`.
    pub(super) words: BTreeSet<String>,
}

impl Open {
    pub(super) fn of(command: &SimpleCommand) -> Option<Self> {
        if checks(command) {
            return None;
        }
        let word = match command.name.is_dynamic() {
            true => &command.name,
            false => interpreted(command).filter(|word| word.is_dynamic())?,
        };
        let text = word.text();
        let first = text.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']);
        let program = first.rsplit('/').next().unwrap_or(first);
        let is_quiet = TALKERS.contains(&program)
            || DECLARERS.contains(&program)
            || first.split_once('=').is_some_and(|it| is_variable_name(it.0));
        // What a script or function is given stands where it is called.
        let name = first.trim_start_matches(['$', '{']);
        let is_argument = first.starts_with('$')
            && name.starts_with(|c: char| matches!(c, '@' | '*') || c.is_ascii_digit());
        let is_sum = first.starts_with("$((") || first.starts_with("((");
        let is_known = text.split_whitespace().any(is_in_the_profile) || is_beside(text);
        if is_quiet || is_argument || is_sum || is_known {
            return None;
        }
        let words = std::iter::once(text).chain(command.args.iter().map(Word::text));
        Some(Self { command: command.summary(), words: words.flat_map(parts).collect() })
    }
}

/// `"$PINTLE_PROFILE_DIR/lib/x"`: its name is known, also before it is there.
fn is_in_the_profile(word: &str) -> bool {
    let plain = word.replace(['"', '\'', '{', '}'], "");
    let inner = plain.strip_prefix("$PINTLE_PROFILE_DIR/").or_else(|| plain.strip_prefix("$PWD/"));
    inner.is_some_and(|inner| !inner.is_empty() && inner.chars().all(is_part_of_a_path))
}

/// `. "$(dirname "$0")/lib.sh"`: a neighbour, which counts when it comes to be.
fn is_beside(command: &str) -> bool {
    let starts = [
        "$(dirname \"$0\")/",
        "$(dirname $0)/",
        "${0%/*}/",
        "BASH_SOURCE[0]}\")/",
        "BASH_SOURCE}\")/",
    ];
    let behind =
        starts.iter().find_map(|start| command.split_once(start)).map(|(_, behind)| behind);
    let name = behind.map(|it| it.split(['"', ' ']).next().unwrap_or_default());
    name.is_some_and(|it| !it.is_empty() && !it.contains("..") && it.chars().all(is_part_of_a_path))
}
