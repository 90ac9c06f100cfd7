//! What a person means by what they typed at a question.

use super::TerminalAnswer;

/// Says how to answer, so that nobody has to guess.
pub(super) const PROMPT: &str =
    "  allow it? y(es) / a(lways in this session) / n(o), or say why not › ";

/// Words that begin a yes with something attached to it.
const SOUNDS_LIKE_YES: [&str; 10] =
    ["y", "yes", "yeah", "yep", "always", "ok", "okay", "sure", "fine", "go"];

/// Only a plain yes is one. A sentence is a no, with words for the model; whatever may be either is asked again.
pub(super) fn understand(typed: &str) -> Option<TerminalAnswer> {
    let typed = typed.trim();
    match typed.to_lowercase().as_str() {
        "y" | "yes" => return Some(TerminalAnswer::Yes),
        "a" | "always" => return Some(TerminalAnswer::YesForThisSession),
        "n" | "no" => return Some(TerminalAnswer::No(None)),
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
    use super::{TerminalAnswer::*, understand};

    #[test]
    fn yes_is_yes_in_any_case_and_nothing_else_is() {
        for yes in ["y", "Y", "yes", "Yes", "YES", " yEs \t"] {
            assert_eq!(understand(yes), Some(Yes), "{yes:?}");
        }
        for always in ["a", "A", "always", "Always"] {
            assert_eq!(understand(always), Some(YesForThisSession), "{always:?}");
        }
        for no in ["n", "N", "no", "No", "NO"] {
            assert_eq!(understand(no), Some(No(None)), "{no:?}");
        }
    }

    #[test]
    fn a_sentence_is_a_no_with_words_for_the_model() {
        for words in
            ["not on a Sunday", "no, use ls", "a bad idea", "n not today", "今天不要运行这个"]
        {
            assert_eq!(understand(words), Some(No(Some(words.to_string()))), "{words:?}");
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
            "ok go",
        ];
        for unclear in unclear {
            assert_eq!(understand(unclear), None, "{unclear:?}");
        }
    }
}
