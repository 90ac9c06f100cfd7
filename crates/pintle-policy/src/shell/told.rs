//! Which words of a command are texts that its program reads in a language of its own: the scripts of `sed` and `awk`, the
//! patterns of `grep`.

use super::unwrap::is_a_file;
use super::{SimpleCommand, Word};

/// How a program is told its text: by the first word that is no option, by `-e`, or in a file by `-f`.
struct Teller {
    programs: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    /// Whether options may follow other words.
    permutes: bool,
    long: &'static [&'static str],
    long_valued: &'static [&'static str],
}

const TELLERS: &[Teller] = &[
    Teller {
        programs: &["grep", "egrep", "fgrep"],
        flags: "rRnilvwxcEFGPohHsqLaIzbTUyZ",
        valued: "ABCmdD",
        permutes: true,
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
        permutes: true,
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
        permutes: true,
        long: &[
            "debug",
            "follow-symlinks",
            "help",
            "null-data",
            "posix",
            "quiet",
            "regexp-extended",
            "sandbox",
            "separate",
            "silent",
            "unbuffered",
            "version",
        ],
        long_valued: &[],
    },
    Teller {
        programs: &["awk", "gawk", "mawk", "nawk"],
        flags: "bcMnNPrSt",
        valued: "Fvi",
        permutes: false,
        long: &["csv", "help", "posix", "re-interval", "sandbox", "traditional", "version"],
        long_valued: &["assign", "field-separator", "include"],
    },
];

/// The words of a command that are such a text.
#[derive(Default)]
pub(crate) struct Told<'c> {
    pub(crate) words: Vec<&'c Word>,
    /// The texts in them; nothing for one that is decided at run time.
    pub(crate) texts: Vec<Option<&'c str>>,
    /// What separates fields: `awk -F/`.
    pub(crate) separators: Vec<&'c Word>,
    /// Some other word may turn out to be an option that makes them files.
    pub(crate) may_be_files: bool,
    in_a_file: bool,
}

impl<'c> Told<'c> {
    fn push(&mut self, word: &'c Word, text: &'c str) {
        self.words.push(word);
        self.texts.push((!word.is_dynamic()).then_some(text));
    }
}

/// What is known of the texts among a command's words.
pub(crate) enum Telling<'c> {
    /// It takes none.
    None,
    /// Nobody can tell which they are.
    Unknown,
    Known(Told<'c>),
}

pub(crate) fn told(command: &SimpleCommand) -> Telling<'_> {
    let mut args = command.args.as_slice();
    let mut program = command.program().unwrap_or_default();
    if let ("git", [verb, rest @ ..]) = (program, args)
        && verb.text() == "grep"
    {
        (program, args) = ("grep", rest);
    }
    match TELLERS.iter().find(|teller| teller.programs.contains(&program)) {
        Some(teller) => read(teller, args).map_or(Telling::Unknown, Telling::Known),
        None => Telling::None,
    }
}

fn read<'c>(teller: &Teller, mut args: &'c [Word]) -> Option<Told<'c>> {
    let mut told = Told::default();
    let mut operands = Vec::new();
    while let [first, rest @ ..] = args {
        args = rest;
        let text = first.text();
        match first {
            Word::Dynamic(raw) => {
                let raw = raw.trim_start_matches('"');
                let is_plain = raw.starts_with(|c: char| c.is_alphanumeric() || "./_".contains(c));
                told.may_be_files |= !is_plain;
                operands.push(first);
            }
            _ if text == "--" => {
                operands.extend(rest);
                break;
            }
            _ if text == "-" || !text.starts_with('-') => operands.push(first),
            _ => match (option(teller, text)?, rest) {
                (Takes::Nothing, _) => {}
                (Takes::Separator, _) => told.separators.push(first),
                // BSD's `sed -i ''`
                (Takes::Suffix, [next, rest @ ..]) if next.text().is_empty() => args = rest,
                (Takes::Suffix, _) => {}
                (Takes::Value, [value, rest @ ..]) => {
                    let separates = text.ends_with('F') || text == "--field-separator";
                    if separates && !teller.permutes && !value.is_dynamic() {
                        told.separators.push(value);
                    }
                    args = rest;
                }
                (Takes::File, [file, rest @ ..]) => {
                    told.in_a_file = is_a_file(file).then_some(true)?;
                    args = rest;
                }
                (Takes::FileHere(at), _) => {
                    let file = Word::Literal(text.get(at..)?.to_owned());
                    told.in_a_file = is_a_file(&file).then_some(true)?;
                }
                (Takes::Text, [next, rest @ ..]) => {
                    told.push(next, next.text());
                    args = rest;
                }
                (Takes::TextHere(at), _) => told.push(first, text.get(at..)?),
                (_, []) => return None,
            },
        }
        if !teller.permutes && !operands.is_empty() {
            break;
        }
    }
    if let Some(first) = operands.first().filter(|_| told.words.is_empty() && !told.in_a_file) {
        told.push(first, first.text());
    }
    Some(told)
}

enum Takes {
    Nothing,
    Value,
    /// The next word is a text, or the rest of this one from there on.
    Text,
    TextHere(usize),
    File,
    FileHere(usize),
    Suffix,
    Separator,
}

/// What an option takes; `None` for one that is not known.
fn option(teller: &Teller, text: &str) -> Option<Takes> {
    let is_sed = teller.programs.contains(&"sed");
    if let Some(long) = text.strip_prefix("--") {
        let (name, is_glued) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let here =
            text.len().saturating_sub(long.len()).saturating_add(name.len()).saturating_add(1);
        return match name {
            "expression" | "regexp" | "source" if is_glued => Some(Takes::TextHere(here)),
            "expression" | "regexp" | "source" => Some(Takes::Text),
            "file" if is_glued => Some(Takes::FileHere(here)),
            "file" => Some(Takes::File),
            "in-place" if is_sed => Some(Takes::Nothing),
            _ if teller.long.contains(&name) => Some(Takes::Nothing),
            _ if teller.long_valued.contains(&name) && is_glued => Some(Takes::Nothing),
            _ if teller.long_valued.contains(&name) => Some(Takes::Value),
            _ => None,
        };
    }
    let letters = text.get(1..)?;
    for (at, letter) in letters.char_indices() {
        let next = at.saturating_add(letter.len_utf8());
        let is_last = next == letters.len();
        let at_end = |takes: Takes| Some(if is_last { takes } else { Takes::Nothing });
        match letter {
            'i' if is_sed => return at_end(Takes::Suffix),
            'e' if is_last => return Some(Takes::Text),
            'e' => return Some(Takes::TextHere(next.saturating_add(1))),
            'f' if is_last => return Some(Takes::File),
            'f' => return Some(Takes::FileHere(next.saturating_add(1))),
            'F' if !is_last && !teller.permutes => return Some(Takes::Separator),
            _ if teller.valued.contains(letter) => return at_end(Takes::Value),
            // `grep -3`
            '0'..='9' if teller.valued.contains('A') => {}
            _ if teller.flags.contains(letter) => {}
            _ => return None,
        }
    }
    Some(Takes::Nothing)
}
