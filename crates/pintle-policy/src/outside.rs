//! Whether a command's words lead out of the workspace.

use crate::Reach;
use crate::paths::{normal, resolve};
use crate::shell::{SimpleCommand, Word};
use glob::{Pattern, glob};
use std::path::{Path, PathBuf};

/// A file pattern that finds more is not looked through: it may lead anywhere.
const MAX_FOUND: usize = 2000;
/// And no more patterns than these in one command, so that judging stays cheap.
const MAX_PATTERNS: usize = 64;

pub(crate) fn has_too_many_patterns(commands: &[SimpleCommand]) -> bool {
    let words = commands.iter().flat_map(|c| c.args.iter().chain(&c.assignments));
    let is_pattern = |word: &&Word| word.text().contains(['*', '?', '[', '{']);
    words.filter(|word| word.is_dynamic()).filter(is_pattern).count() > MAX_PATTERNS
}

/// Programs found in these folders are the system's own; running them is no reach outside.
const PROGRAM_FOLDERS: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
];

/// The first word of a command that leads out of the workspace, or may.
pub(crate) fn outside_path(command: &SimpleCommand, reach: &Reach) -> Option<String> {
    let outside = |text: &str, dynamic: bool| leads_outside(text, dynamic, reach);
    let name = command.name.text();
    let own = PROGRAM_FOLDERS.iter().any(|f| normal(name).starts_with(f));
    if name.contains('/') && !own && !command.name.is_dynamic() && outside(name, false) {
        return Some(name.to_owned());
    }
    let targets = command.redirects.iter().map(|r| &r.target);
    let words = targets.chain(&command.assignments).chain(&command.args);
    // `cd` alone goes home.
    if command.program() == Some("cd") && command.args.is_empty() {
        return Some("~".into());
    }
    let leads = |word: &&Word| {
        let readings = word.readings();
        let mut texts = readings.iter().flat_map(|text| match array(text) {
            Some(items) if word.is_dynamic() => {
                items.split(['(', ')', ' ', '\t', '\n']).flat_map(candidates).collect()
            }
            _ => candidates(text),
        });
        texts.any(|text| outside(text, word.is_dynamic()))
    };
    words.into_iter().find(leads).map(|word| word.text().trim_matches(['"', '\'']).to_owned())
}

/// What stands in `name=(…)`.
fn array(text: &str) -> Option<&str> {
    let (name, items) = text.split_once("=(")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_+".contains(c);
    name.chars().all(is_name).then_some(items)
}

/// A short option is a letter or a few, and its value may be glued to them.
const MOST_LETTERS: usize = 8;

/// The parts of a text that could be a path: all of it, what follows `=`, `,`, `:` or `@`, and what is glued to a short option.
fn candidates(text: &str) -> Vec<&str> {
    let mut parts = vec![text];
    // `curl -F name=<file`
    parts.extend(text.split("=<").skip(1));
    for piece in text.split(['=', ',']) {
        parts.push(piece);
        if !is_url(piece) {
            parts.extend(piece.split([':', '@']).skip(1));
        }
    }
    let option = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    if let Some(rest) = option {
        let glued = rest.char_indices().skip(1).take(MOST_LETTERS);
        parts.extend(glued.filter_map(|(at, _)| rest.get(at..)));
        parts.extend(rest.find(['/', '~']).and_then(|at| rest.get(at..)));
    }
    parts
}

/// Whether it is an address on the network, and no way out of a folder that is named like one.
fn is_url(text: &str) -> bool {
    const SCHEMES: &[&str] = &["http", "https", "ws", "wss", "ssh", "git", "ftp"];
    let known = |scheme: &str| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    text.split_once("://")
        .is_some_and(|(scheme, rest)| known(scheme) && rest.split('/').all(|part| part != ".."))
}

/// Whether it is made of dots and of at least two parts, of which one is decided at run time: it may become `..`.
fn may_become_dots(text: &str) -> bool {
    let mut parts = 0_usize;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '.' => {}
            '$' if rest.starts_with("()") => rest = rest.get(2..).unwrap_or_default(),
            '$' if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            }
            '$' if rest.starts_with(|c: char| c.is_ascii_digit() || "@*#?$!-".contains(c)) => {
                rest = rest.get(1..).unwrap_or_default();
            }
            _ => return false,
        }
        parts = parts.saturating_add(1);
    }
    parts > 1
}

/// Variables that name a place outside, whatever stands beside them.
const PLACES: &[&str] = &["$HOME", "$OLDPWD", "$TMPDIR"];

fn leads_outside(text: &str, dynamic: bool, reach: &Reach) -> bool {
    if is_url(text) {
        return false;
    }
    if dynamic && text.contains(Word::ANYWHERE) {
        return true;
    }
    if text.starts_with('~')
        || PLACES.iter().any(|place| text.starts_with(place) || (dynamic && text.contains(place)))
    {
        return true;
    }
    if is_harmless_device(text) {
        return false;
    }
    if text.starts_with('-') {
        return false;
    }
    let here = text.strip_prefix("$PWD").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let text = here.map_or_else(|| text.to_owned(), |rest| format!(".{rest}"));
    // Nobody knows where `$X/…` starts; `$X` alone is no more than what was put into it.
    if dynamic && text.contains('$') {
        let is_path =
            |piece: &str| piece.contains('$') && (piece.contains('/') || piece.contains(".."));
        return text.starts_with('/')
            || may_become_dots(&text)
            || text.split_whitespace().any(is_path);
    }
    // Where the command starts; a folder that nobody can resolve has raised the call already.
    let Ok(cwd) = (match reach.path("cwd") {
        Some(Ok(cwd)) => Ok(cwd),
        _ => reach.workspace(),
    }) else {
        return true;
    };
    let inside = |path: &Path| resolve(cwd, path).is_ok_and(|real| reach.is_inside(&real));
    let looks_like_path = text.starts_with('/') || text.split('/').any(|part| part == "..");
    if looks_like_path {
        return !inside(Path::new(&text));
    }
    // A plain name may still be a link that leads away.
    if dynamic && text.contains(['*', '?', '[']) {
        return !finds_only(&text, cwd, inside);
    }
    let may_link = !text.is_empty() && !text.contains(['`', '\n']) && text.len() < 1024;
    may_link && !inside(Path::new(&text))
}

/// Whether all that a file pattern finds is inside.
fn finds_only(text: &str, cwd: &Path, inside: impl Fn(&Path) -> bool) -> bool {
    files_found(text, cwd).is_some_and(|found| found.iter().all(|path| inside(path)))
}

/// What a shell's file pattern finds from this folder on, and a little more where shells differ; `None` when it is too much to
/// look through, or may not be looked at.
#[must_use]
pub fn files_found(pattern: &str, cwd: &Path) -> Option<Vec<PathBuf>> {
    let start = match pattern.starts_with('/') {
        true => String::new(),
        false => format!("{}/", Pattern::escape(&cwd.to_string_lossy())),
    };
    let Ok(found) = glob(&format!("{start}{}", wide(pattern))) else { return Some(Vec::new()) };
    let found: Option<Vec<_>> = found.take(MAX_FOUND.saturating_add(1)).map(Result::ok).collect();
    found.filter(|found| found.len() <= MAX_FOUND)
}

/// The pattern with `[…]`, whose meanings differ, as `?`, and `**` as the `*` that it is to a plain shell.
fn wide(text: &str) -> String {
    let mut wide = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        wide.push_str(before);
        // A `]` that comes first belongs to the set.
        match after.get(2..).and_then(|set| set.find(']')) {
            Some(end) => {
                wide.push('?');
                rest = after.get(end.saturating_add(3)..).unwrap_or_default();
            }
            None => {
                wide.push_str("[[]");
                rest = after.get(1..).unwrap_or_default();
            }
        }
    }
    wide.push_str(rest);
    while wide.contains("**") {
        wide = wide.replace("**", "*");
    }
    wide
}

fn is_harmless_device(text: &str) -> bool {
    matches!(
        text,
        "/dev/null"
            | "/dev/zero"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/urandom"
            | "/dev/random"
    ) || text.starts_with("/dev/fd/")
}
