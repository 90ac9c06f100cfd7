//! Which words of a command are texts that its program reads in a language of its own: the scripts of `sed` and `awk`, the
//! patterns of `grep`.

use super::{SimpleCommand, Word};

/// How a program is told its text: by the first word that is no option, or by options.
struct Teller {
    programs: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    /// Whether an option says the text, too: `-e`, and `-f` names a file with it.
    by_option: bool,
    long: &'static [&'static str],
    long_valued: &'static [&'static str],
}

const TELLERS: &[Teller] = &[
    Teller {
        programs: &["grep", "egrep", "fgrep"],
        flags: "rRnilvwxcEFGPohHsqLaIzbTUyZ",
        valued: "ABCmdD",
        by_option: true,
        long: &[
            "color",
            "count",
            "extended-regexp",
            "fixed-strings",
            "ignore-case",
            "invert-match",
            "line-number",
            "no-filename",
            "only-matching",
            "perl-regexp",
            "quiet",
            "recursive",
            "word-regexp",
        ],
        long_valued: &["exclude", "exclude-dir", "include"],
    },
    Teller {
        programs: &["rg"],
        flags: "inlcvwxFSsuUPoqHNLa0p.",
        valued: "gtTABCmMjErd",
        by_option: true,
        long: &[
            "color",
            "count",
            "fixed-strings",
            "hidden",
            "ignore-case",
            "line-number",
            "multiline",
            "no-heading",
            "no-ignore",
            "only-matching",
            "smart-case",
            "word-regexp",
        ],
        long_valued: &["glob", "type"],
    },
    Teller {
        programs: &["sed", "gsed"],
        flags: "nErsuz",
        valued: "",
        by_option: true,
        long: &["null-data", "quiet", "regexp-extended", "separate", "silent", "unbuffered"],
        long_valued: &[],
    },
    Teller {
        programs: &["awk", "gawk", "mawk", "nawk"],
        flags: "",
        valued: "Fv",
        by_option: false,
        long: &[],
        long_valued: &[],
    },
];

/// The words of a command that are such a text.
pub(crate) struct Told<'c> {
    pub(crate) words: Vec<&'c Word>,
    /// What separates fields: `awk -F/`.
    pub(crate) separators: Vec<&'c Word>,
    /// No other word may turn out to be an option that makes them files.
    pub(crate) surely: bool,
}

/// The texts among a command's words; `None` if it takes none, or if nobody can tell which they are.
pub(crate) fn told(command: &SimpleCommand) -> Option<Told<'_>> {
    let mut args = command.args.as_slice();
    let mut program = command.program()?;
    if let ("git", [verb, rest @ ..]) = (program, args)
        && verb.text() == "grep"
    {
        (program, args) = ("grep", rest);
    }
    let teller = TELLERS.iter().find(|teller| teller.programs.contains(&program))?;
    let mut by_option = Vec::new();
    let mut operands = Vec::new();
    let mut separators = Vec::new();
    let mut surely = true;
    while let [first, rest @ ..] = args {
        args = rest;
        let text = first.text();
        match first {
            Word::Dynamic(raw) => {
                let raw = raw.trim_start_matches('"');
                surely &= raw.starts_with(|c: char| c.is_alphanumeric() || "./_".contains(c));
                operands.push(first);
            }
            _ if text == "--" => {
                operands.extend(rest);
                break;
            }
            _ if text == "-" || !text.starts_with('-') => operands.push(first),
            _ => match option(teller, text)? {
                Takes::Nothing if text.starts_with("-F") && !teller.by_option => {
                    separators.push(first);
                }
                Takes::Nothing => {}
                // BSD's `sed -i ''`
                Takes::Suffix if rest.first().is_some_and(|next| next.text().is_empty()) => {
                    args = rest.get(1..)?;
                }
                Takes::Suffix => {}
                Takes::Value => args = one_more(rest)?,
                Takes::Text => {
                    args = one_more(rest)?;
                    by_option.push(rest.first()?);
                }
            },
        }
        // Without such an option, what follows the first word is no option to `awk`.
        if !teller.by_option && !operands.is_empty() {
            break;
        }
    }
    let is_text = by_option.is_empty();
    let first = operands.into_iter().take(usize::from(is_text));
    Some(Told { words: by_option.into_iter().chain(first).collect(), separators, surely })
}

fn one_more(rest: &[Word]) -> Option<&[Word]> {
    rest.split_first().map(|(_, rest)| rest)
}

enum Takes {
    Nothing,
    Value,
    Text,
    Suffix,
}

/// What an option takes from the next word; `None` for one that is not known, or holds a text itself.
fn option(teller: &Teller, text: &str) -> Option<Takes> {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        let is_text = matches!(name, "expression" | "regexp") && teller.by_option;
        let suffix = name == "in-place" && teller.flags.contains('z');
        return match teller.long.contains(&name) || suffix {
            true => Some(Takes::Nothing),
            false if teller.long_valued.contains(&name) => {
                Some(if name == long { Takes::Value } else { Takes::Nothing })
            }
            false => (is_text && name == long).then_some(Takes::Text),
        };
    }
    let letters = text.get(1..)?;
    for (at, letter) in letters.char_indices() {
        let is_last = at.saturating_add(letter.len_utf8()) == letters.len();
        let at_end = |takes: Takes| Some(if is_last { takes } else { Takes::Nothing });
        match letter {
            'i' if teller.programs.contains(&"sed") => return at_end(Takes::Suffix),
            'e' if teller.by_option => return is_last.then_some(Takes::Text),
            _ if teller.valued.contains(letter) => return at_end(Takes::Value),
            // `grep -3`
            '0'..='9' if teller.valued.contains('A') => {}
            _ if teller.flags.contains(letter) => {}
            _ => return None,
        }
    }
    Some(Takes::Nothing)
}
