//! What a person means by what they typed at a question.

use pintle_agent::ApprovalRule;
use pintle_store::Scope;

use super::TerminalAnswer;
use crate::shown::{Shown, text};

/// Says how to answer, so that nobody has to guess.
pub(super) fn prompt(rule: Option<&ApprovalRule>) -> &'static str {
    match rule {
        Some(_) => "  allow it? y(es) / s(ession) / a(lways) / n(o), or say why not › ",
        None => "  allow it? y(es) / n(o), or say why not › ",
    }
}

/// What each answer means, shown after one that is unclear.
pub(super) fn meaning(rule: Option<&ApprovalRule>) -> Shown {
    match rule {
        Some(rule) => text!(
            "y or yes is yes to this call; s or session is yes to all `{}` in this session; a or always is the same for good; n or a few words why not is no",
            rule.to_string()
        ),
        None => text!(
            "y or yes is yes; n or a few words why not is no; no rule is offered for this call"
        ),
    }
}

/// Words that begin a yes with something attached to it.
const SOUNDS_LIKE_YES: [&str; 12] =
    ["y", "yes", "yeah", "yep", "s", "session", "always", "ok", "okay", "sure", "fine", "go"];

/// Only a plain yes is one. A sentence is a no, with words for the model; whatever may be either is asked again.
pub(super) fn understand(typed: &str, rule: Option<&ApprovalRule>) -> Option<TerminalAnswer> {
    let typed = typed.trim();
    match (typed.to_lowercase().as_str(), rule) {
        ("y" | "yes", _) => return Some(TerminalAnswer::Yes(Scope::Once)),
        ("s" | "session", Some(_)) => return Some(TerminalAnswer::Yes(Scope::Session)),
        ("a" | "always", Some(_)) => return Some(TerminalAnswer::Yes(Scope::Always)),
        ("n" | "no", _) => return Some(TerminalAnswer::No(None)),
        _ => {}
    }
    let mut words = typed.split_whitespace();
    let first = words.next()?.to_lowercase();
    let first = first.trim_matches(|c: char| !c.is_alphanumeric());
    // Not every script has spaces between its words.
    let one_word = words.next().is_none() && typed.is_ascii();
    if one_word || SOUNDS_LIKE_YES.contains(&first) {
        return None;
    }
    Some(TerminalAnswer::No(Some(typed.to_string())))
}

#[cfg(test)]
mod tests {
    use pintle_policy::Zone;

    use super::{TerminalAnswer::*, *};

    fn rule() -> ApprovalRule {
        ApprovalRule { tool: "terminal".into(), allow: Some("make *".into()), zone: Zone::Build }
    }

    fn heard(typed: &str) -> Option<TerminalAnswer> {
        understand(typed, Some(&rule()))
    }

    #[test]
    fn yes_is_yes_in_any_case_and_nothing_else_is() {
        for yes in ["y", "Y", "yes", "Yes", "YES", " yEs \t"] {
            assert_eq!(heard(yes), Some(Yes(Scope::Once)), "{yes:?}");
        }
        for session in ["s", "S", "session", "Session"] {
            assert_eq!(heard(session), Some(Yes(Scope::Session)), "{session:?}");
        }
        for always in ["a", "A", "always", "Always"] {
            assert_eq!(heard(always), Some(Yes(Scope::Always)), "{always:?}");
        }
        for no in ["n", "N", "no", "No", "NO"] {
            assert_eq!(heard(no), Some(No(None)), "{no:?}");
        }
    }

    // R11.7
    #[test]
    fn without_a_rule_there_is_no_yes_to_one() {
        for typed in ["s", "session", "a", "always"] {
            assert_eq!(understand(typed, None), None, "{typed:?}");
        }
        assert_eq!(understand("y", None), Some(Yes(Scope::Once)));
    }

    #[test]
    fn a_sentence_is_a_no_with_words_for_the_model() {
        for words in
            ["not on a Sunday", "no, use ls", "a bad idea", "n not today", "今天不要运行这个"]
        {
            assert_eq!(heard(words), Some(No(Some(words.to_string()))), "{words:?}");
        }
    }

    #[test]
    fn what_may_be_either_is_asked_again() {
        let unclear = [
            "",
            "  ",
            "OK",
            "ok",
            "yy",
            "Y!",
            "sure",
            "approve",
            "nope",
            "?",
            "yes please",
            "Yes, but",
            "s for now",
            "ok go",
        ];
        for unclear in unclear {
            assert_eq!(heard(unclear), None, "{unclear:?}");
        }
    }
}
