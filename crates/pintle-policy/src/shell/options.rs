//! Finds where a program's own options end and the command it is to run begins.

use super::Word;
use super::wrappers::Wrapper;

/// The arguments from the inner command on; `None` if it cannot be found.
pub(crate) fn operands<'w>(wrapper: &Wrapper, args: &'w [Word]) -> Option<&'w [Word]> {
    let has = |names: &str, name: &str| names.split_whitespace().any(|it| it == name);
    let mut rest = args;
    while let [first, tail @ ..] = rest {
        let Word::Literal(text) = first else { break };
        if text == "--" {
            rest = tail;
            break;
        }
        if text == "-" && wrapper.name == "env" {
            rest = tail;
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) =
                long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            if has(wrapper.long_valued, name) {
                rest = if attached { tail } else { past_one_word(tail)? };
            } else if has(wrapper.long_flags, name) {
                rest = tail;
            } else {
                return None;
            }
        } else if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.is_empty()) {
            rest = match value_place(wrapper, cluster)? {
                ValuePlace::Next => past_one_word(tail)?,
                ValuePlace::Here => tail,
            };
        } else {
            break;
        }
    }
    for _ in 0..wrapper.operands {
        if rest.is_empty() {
            return Some(rest);
        }
        rest = past_one_word(rest)?;
    }
    if wrapper.assigns {
        // `env` and `sudo` take any word with a `=` for a variable, also one that a shell would not.
        while let [Word::Literal(text) | Word::Dynamic(text), tail @ ..] = rest {
            if !text.contains('=') {
                break;
            }
            rest = tail;
        }
        // `sudo` goes on with its options after a variable.
        if rest.first().is_some_and(|word| word.text().starts_with('-')) {
            return None;
        }
    }
    Some(rest)
}

/// Skips a value. One that is decided at run time may be none or several words, and then nothing is where it seems.
fn past_one_word(words: &[Word]) -> Option<&[Word]> {
    match words {
        [first, tail @ ..] if is_one_word(first) => Some(tail),
        _ => None,
    }
}

/// Whether the word is surely one word when the program gets it.
pub(crate) fn is_one_word(word: &Word) -> bool {
    match word {
        Word::Literal(_) => true,
        Word::Dynamic(raw) => {
            let inside = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
            inside.is_some_and(|inside| !inside.contains(['"', '@', '`']))
        }
    }
}

enum ValuePlace {
    Here,
    Next,
}

fn value_place(wrapper: &Wrapper, cluster: &str) -> Option<ValuePlace> {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        if wrapper.valued.contains(letter) {
            return Some(if letters.as_str().is_empty() {
                ValuePlace::Next
            } else {
                ValuePlace::Here
            });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(ValuePlace::Here)
}

/// Whether a short option with one of these letters stands before the first operand, where the options of a wrapper end.
pub(crate) fn leads_with_option(args: &[Word], letters: &str) -> bool {
    let options = args.iter().map(Word::text).take_while(|t| t.starts_with('-') && *t != "--");
    options.into_iter().any(|t| is_cluster_of(t, letters))
}

fn is_cluster_of(text: &str, letters: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(|c| letters.contains(c))
}

/// Whether `arg` is the long option `full`, or an abbreviation of it as GNU programs and git take them.
pub(crate) fn may_be_long(arg: &str, full: &str) -> bool {
    let Some(name) = arg.strip_prefix("--") else { return false };
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    !name.is_empty() && full.starts_with(name)
}
