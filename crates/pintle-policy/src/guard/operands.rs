//! Whether the words of a command may be those that a deny rule describes.

use crate::Reach;
use crate::paths::normal;
use crate::shell::{SimpleCommand, Word, is_one_word, may_be_long};
use glob::Pattern;
use std::path::Path;

/// Where a command starts: what a word names is compared in every spelling.
pub(super) struct Place<'a> {
    workspace: Option<&'a Path>,
    start: Option<&'a Path>,
}

impl<'a> Place<'a> {
    pub(super) fn of(reach: &'a Reach) -> Self {
        let workspace = reach.workspace().ok();
        let start = reach.path("cwd").map_or(workspace, Result::ok);
        Self { workspace, start }
    }

    /// Whether the pattern may mean the place that the text names.
    pub(super) fn may_be(&self, pattern: &Pattern, text: &str) -> bool {
        let is = |name: &str| pattern.matches(name);
        is(text) || is(&normal(text)) || self.whole(text).iter().any(|name| is(name))
    }

    /// Whether the text surely names a place that one of the patterns means.
    pub(super) fn surely_is(&self, patterns: &[&Pattern], text: &str) -> bool {
        let names = self.whole(text);
        names.iter().any(|name| patterns.iter().any(|pattern| pattern.matches(name)))
    }

    /// The place as it is written from the root, and from the workspace.
    fn whole(&self, text: &str) -> Vec<String> {
        let Some(start) = self.start else { return Vec::new() };
        let whole = normal(&start.join(text).to_string_lossy());
        let inside = self.workspace.and_then(|it| Path::new(&whole).strip_prefix(it).ok());
        let inside = inside.map(|path| path.to_string_lossy().into_owned());
        inside.into_iter().chain([whole]).collect()
    }
}

/// Whether the arguments could be the ones the patterns describe.
pub(super) fn may_follow(patterns: &[Pattern], command: &SimpleCommand, place: &Place<'_>) -> bool {
    let args = command.args.as_slice();
    let first = first_word(patterns, command);
    if first == First::Another {
        return false;
    }
    let (options, operands): (Vec<&Pattern>, Vec<&Pattern>) =
        patterns.iter().partition(|pattern| is_option(pattern));
    let read = command.redirects.iter().filter(|it| it.operator == "<").map(|it| &it.target);
    let words: Vec<&Word> = args.iter().chain(read.filter(|_| first == First::Operand)).collect();
    let before_dashes = args.iter().take_while(|arg| arg.literal() != Some("--"));
    let may_bring = before_dashes.into_iter().any(|arg| is_anything(arg) && may_be_an_option(arg));
    let has_all = may_bring || options.iter().all(|option| has_option(option, args));
    has_all && operands_in_order(&operands, &words, first == First::Operand, place)
}

fn is_option(pattern: &Pattern) -> bool {
    pattern.as_str().starts_with('-') && pattern.as_str().len() > 1
}

/// Programs of which the first word says what they do.
const HAVE_SUBCOMMANDS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "aws",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "dnf",
    "docker",
    "dotnet",
    "gcloud",
    "gem",
    "gh",
    "git",
    "go",
    "helm",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pipx",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

pub(super) fn has_subcommands(program: &str) -> bool {
    HAVE_SUBCOMMANDS.contains(&program)
}

/// What a command's first word is to a rule.
#[derive(PartialEq)]
enum First {
    /// It says that the program does something else.
    Another,
    /// It says what the program does, and that may be what the rule means.
    Subcommand,
    /// One word like the others.
    Operand,
}

/// `git commit -m "$MESSAGE"` is not `git push`, whatever the message is; nor is it `git push*`.
fn first_word(patterns: &[Pattern], command: &SimpleCommand) -> First {
    let program = command.program().unwrap_or_default();
    if !has_subcommands(program) {
        return First::Operand;
    }
    let mut operands = patterns.iter().filter(|pattern| !is_option(pattern));
    let Some(wanted) = operands.next() else { return First::Subcommand };
    let text = wanted.as_str().strip_suffix('*').filter(|text| !text.is_empty());
    let text = text.unwrap_or(wanted.as_str());
    if text.contains(['/', '.', '*', '?', '[']) {
        return First::Operand;
    }
    match command.args.first() {
        // `cargo +nightly publish`
        Some(Word::Literal(first)) if first.starts_with('+') => First::Operand,
        Some(Word::Literal(first)) if !first.starts_with('-') && !wanted.matches(first) => {
            First::Another
        }
        _ => First::Subcommand,
    }
}

/// A word that could expand to anything, an option or several words included.
fn is_anything(word: &Word) -> bool {
    match word {
        Word::Literal(_) => false,
        // `find` puts a file's name in the place of `{}`.
        Word::Dynamic(text) => {
            let text = text.replace("{}", "");
            text.contains(['$', '`', '{']) || text.contains("<(") || text.contains(">(")
        }
    }
}

/// Whether a word that is decided at run time may be an option: not `"./$x"`, nor `a$x`.
fn may_be_an_option(word: &Word) -> bool {
    let raw = word.text().trim_start_matches(['"', '\'']);
    !raw.starts_with(|c: char| c.is_alphanumeric() || "./_".contains(c))
}

/// Whether a word that is decided at run time may be named like that: its end is often known, `"log_$n.txt"` is not `.env`.
pub(super) fn may_end_like(raw: &str, pattern: &Pattern) -> bool {
    let raw = raw.replace(['"', '\''], "");
    let wanted = pattern.as_str().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let literal_end = wanted.rsplit(['*', '?', ']']).next().unwrap_or_default();
    let Some((_, after)) = raw.rsplit_once(['$', '*', '?', ']', '}', '`', ')']) else {
        return true;
    };
    let after = after.trim_start_matches(['#', '!', '@', '-']);
    let end = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    match end.rsplit_once('/') {
        Some((_, "")) => true,
        Some((_, name)) => Pattern::new(wanted).map_or(true, |wanted| wanted.matches(name)),
        None => literal_end.ends_with(end) || end.ends_with(literal_end),
    }
}

fn has_option(option: &Pattern, args: &[Word]) -> bool {
    let text = option.as_str();
    let exact = args.iter().any(|arg| match arg {
        Word::Literal(arg) => option.matches(arg),
        // A file pattern could find a file named like the option.
        Word::Dynamic(written) => Pattern::new(written).map_or(true, |files| files.matches(text)),
    });
    if exact || text.contains(['*', '?', '[']) {
        return exact;
    }
    let has_letter = |letter: char| {
        args.iter().map(Word::text).filter(|arg| !arg.starts_with("--")).any(|arg| {
            let same = |c: char| match letter {
                // `-r` and `-R` are one option to `rm` and its like.
                'r' | 'R' => c.eq_ignore_ascii_case(&'r'),
                _ => c == letter,
            };
            arg.starts_with('-') && arg.contains(same)
        })
    };
    let has_long = |name: &str| args.iter().any(|arg| may_be_long(arg.text(), name));
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split_once('=').map_or(long, |(name, _)| name);
        let letters =
            LONG_NAMES.iter().filter(|(_, long)| *long == name).map(|(letter, _)| *letter);
        return has_long(name) || letters.into_iter().any(has_letter);
    }
    text.chars().skip(1).all(|letter| {
        has_letter(letter)
            || LONG_NAMES
                .iter()
                .any(|(short, long)| short.eq_ignore_ascii_case(&letter) && has_long(long))
    })
}

/// The long names of letters that mean the same to nearly every program.
const LONG_NAMES: &[(char, &str)] = &[
    ('r', "recursive"),
    ('f', "force"),
    ('a', "all"),
    ('d', "delete"),
    ('i', "in-place"),
    ('i', "interactive"),
];

/// The patterns match words in order. Before a subcommand only options and what may be an option's value can stand; before anything
/// else any word can.
fn operands_in_order(
    patterns: &[&Pattern],
    words: &[&Word],
    mut anywhere: bool,
    place: &Place<'_>,
) -> bool {
    let mut patterns = patterns.iter().peekable();
    let mut after_option = false;
    for word in words {
        let Some(pattern) = patterns.peek() else { return true };
        if is_anything(word) && !is_one_word(word) {
            return true;
        }
        let text = word.text();
        let is_option = text.starts_with('-') && text.len() > 1;
        if place.may_be(pattern, text) || (is_anything(word) && may_end_like(text, pattern)) {
            patterns.next();
            after_option = false;
            anywhere = true;
        } else if is_option {
            after_option = true;
        } else if after_option || anywhere {
            after_option = false;
        } else {
            return false;
        }
    }
    patterns.peek().is_none()
}
