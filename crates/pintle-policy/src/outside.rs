//! Whether a command's words lead out of the workspace.
//!
//! A word is judged by what it names, however it is dressed. What a program does in its own language (`python3 -c`, a Makefile) is
//! not known here; of `sed`, `awk` and `tr` what is written out is, also when they work out a name (`$(… | tr _ /)`).

mod parts;

use crate::Reach;
use crate::folders::{HOME, Place, goes_home};
use crate::links::link;
use crate::names::{Texts, is_joint};
use crate::paths::{normal, resolve};
use crate::shell::{OPEN, SimpleCommand, Values, Word};
use crate::spoken::told_of;
use glob::{Pattern, glob};
use parts::{array, candidates, is_file_url, is_strange, is_url, pieces};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// A file pattern that finds more is not looked through: it may lead anywhere.
const MAX_FOUND: usize = 2000;
/// And no more patterns than these in one command, so that judging stays cheap.
const MAX_PATTERNS: usize = 64;

pub(crate) fn has_too_many_patterns(commands: &[&SimpleCommand]) -> bool {
    let words = commands.iter().flat_map(|c| c.args.iter().chain(&c.assignments));
    let is_pattern = |word: &&Word| word.text().contains(['*', '?', '[', '{']);
    words.filter(|word| word.is_dynamic()).filter(is_pattern).count() > MAX_PATTERNS
}

/// Programs found in these folders are the system's own; running them is no reach outside.
pub(crate) const PROGRAM_FOLDERS: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
];

/// Stands for a name that only running the line would tell.
pub(crate) const OPEN_NAME: &str = "a name that is decided at run time";

/// What a command's words are looked at with.
#[derive(Clone, Copy)]
pub(crate) struct Outside<'a> {
    pub(crate) reach: &'a Reach,
    pub(crate) texts: &'a Texts,
    pub(crate) values: &'a Values,
    /// Folders that may be found under other names.
    pub(crate) carried: &'a [PathBuf],
    /// Where they may start from.
    pub(crate) folders: &'a [PathBuf],
}

impl Outside<'_> {
    /// The first word of a command that leads out of the workspace, or may; or the folder out there in which it may run.
    pub(crate) fn word(&self, command: &SimpleCommand) -> Option<String> {
        let is_outside = |folder: &&PathBuf| {
            !resolve(folder, Path::new("")).is_ok_and(|real| self.reach.is_inside(&real))
        };
        if let Some(folder) = self.folders.iter().find(is_outside) {
            let shown = folder.display().to_string();
            let of_home = shown.strip_prefix(HOME).map(|rest| format!("~{rest}"));
            return Some(of_home.unwrap_or(shown));
        }
        if goes_home(command) {
            return Some("~".into());
        }
        let name = command.name.text();
        let own = PROGRAM_FOLDERS.iter().any(|f| normal(name).starts_with(f));
        let is_path = name.contains('/') && !own && !command.name.is_dynamic();
        if is_path && self.leads(name, false) {
            return Some(name.to_owned());
        }
        // The folder above this one.
        if command.program() == Some("dirname")
            && (self.texts.name_this_folder || command.args.iter().any(is_here))
        {
            return Some("..".into());
        }
        if command.program() == Some("curl") && command.args.iter().any(is_file_url) {
            return Some("file:".into());
        }
        // Devices are there to be read and written; who takes one away or changes it acts on the machine.
        let changes = matches!(
            command.program(),
            Some(
                "chgrp" | "chmod" | "chown" | "ln" | "mv" | "rm" | "shred" | "truncate" | "unlink"
            )
        );
        let device = |arg: &&Word| is_harmless_device(arg.text());
        if let Some(device) = command.args.iter().filter(|_| changes).find(device) {
            return Some(device.text().to_owned());
        }
        // The text of a link counts from where the link lies.
        let link = link(command, self.folders);
        if let Some(link) = &link {
            let there = Outside { folders: &link.from, ..*self };
            if there.leads(link.text.text(), false) {
                return Some(link.text.text().to_owned());
            }
        }
        let spoken = self.spoken(command);
        let words: HashSet<*const Word> =
            spoken.words.iter().map(|word| &raw const **word).collect();
        let is_spoken = |word: &Word| {
            let is_link = link.as_ref().is_some_and(|link| std::ptr::eq(link.text, word));
            is_link || words.contains(&(&raw const *word))
        };
        if spoken.files.iter().any(|file| file.contains(OPEN)) {
            return Some(OPEN_NAME.into());
        }
        if let Some(file) = spoken.files.iter().find(|file| self.leads(file, false)) {
            return Some(file.clone());
        }
        if let Some(file) = told_of(command).into_iter().find(|file| self.leads(file, false)) {
            return Some(file.to_owned());
        }
        let targets = command.redirects.iter().map(|r| &r.target);
        let words = targets.chain(&command.assignments).chain(&command.args);
        let is_strange = is_strange(command) || self.values.is_function(name);
        let leads = |word: &&Word| {
            let readings = word.readings();
            let mut inner = readings.iter().filter(|_| is_strange).flat_map(|text| pieces(text));
            if !is_spoken(word) && inner.any(|piece| self.leads(piece, false)) {
                return true;
            }
            let mut texts = readings.iter().flat_map(|text| match array(text) {
                Some(items) if word.is_dynamic() => {
                    items.split(['(', ')', ' ', '\t', '\n']).flat_map(candidates).collect()
                }
                _ => candidates(text),
            });
            !is_spoken(word) && texts.any(|text| self.leads(text, word.is_dynamic()))
        };
        let shown = |word: &Word| word.text().trim_matches(['"', '\'']).to_owned();
        words.into_iter().find(leads).map(shown).or_else(|| self.followed(command))
    }

    /// The first name in a command's texts that leads there when another command uses it.
    pub(crate) fn name(&self, command: &SimpleCommand, place: &Place) -> Option<String> {
        let mut names = self.texts.names(command, place).into_iter();
        let Some((found, _)) = names.find(|(name, dynamic)| self.leads(name, *dynamic)) else {
            return self.listed(command, place);
        };
        let is_open = found == Word::ANYWHERE;
        Some(if is_open { OPEN_NAME.into() } else { found })
    }
}

fn is_here(word: &Word) -> bool {
    word.readings().iter().any(|text| text.trim_end_matches('/') == "$PWD")
}

/// What `find` and `xargs` put a name in place of.
const MARK: &str = "{}";

/// The text with each run-time part in it replaced by `value`.
fn with_value(text: &str, value: &str) -> String {
    let mut found = String::new();
    // A name is never empty.
    let text = text.replace(MARK, if value.is_empty() { "." } else { value });
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        found.push_str(before);
        found.push_str(value);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        rest = after.strip_prefix("()").unwrap_or_else(|| match after.chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => after.trim_start_matches(is_name),
            Some(c) => after.get(c.len_utf8()..).unwrap_or_default(),
            None => after,
        });
    }
    found.push_str(rest);
    found
}

/// Variables that name a place outside, whatever stands beside them.
const PLACES: &[&str] = &["$HOME", "$MAIL", "$OLDPWD", "$TMPDIR", "$XDG_"];

impl Outside<'_> {
    fn leads(&self, text: &str, dynamic: bool) -> bool {
        if is_url(text) {
            return false;
        }
        if let Some(mark) = self.texts.marks.iter().find(|mark| text.contains(mark.as_str())) {
            let marked = text.replace(mark.as_str(), MARK);
            return self.leads_open(&marked, true) || self.leads_open(text, dynamic);
        }
        self.leads_open(text, dynamic)
    }

    /// The same for a text in which each part that is decided later is marked.
    fn leads_open(&self, text: &str, dynamic: bool) -> bool {
        if (dynamic && text.contains(Word::ANYWHERE)) || text.starts_with("file:/") {
            return true;
        }
        let is_place =
            |place: &&str| text.starts_with(*place) || (dynamic && text.contains(*place));
        if text.starts_with('~') || PLACES.iter().any(is_place) {
            return true;
        }
        if is_harmless_device(text) || text.starts_with('-') {
            return false;
        }
        let here =
            text.strip_prefix("$PWD").filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let text = here.map_or_else(|| text.to_owned(), |rest| format!(".{rest}"));
        let is_open = |text: &str| text.contains('$') || text.contains(MARK);
        if dynamic && is_open(&text) {
            let mut pieces = text.split_whitespace().filter(|piece| is_open(piece));
            return text.starts_with('/') || pieces.any(|piece| self.may_lead(piece));
        }
        self.leads_from_here(&text, dynamic)
    }

    /// Whether a word of which a part is decided at run time may lead outside.
    fn may_lead(&self, piece: &str) -> bool {
        // Nobody knows where `$X/…` starts; `$X` alone is no more than what was put into it.
        if piece.starts_with('$') && piece.contains('/') {
            return true;
        }
        // `.$X` is a way up when X starts with `./`, as all that `find .` prints does.
        let starts_up = |part: &str| part.starts_with(".$") || part.starts_with(".{}");
        if piece.split('/').any(starts_up) {
            return true;
        }
        let parts = piece.matches(['$', '}']).count();
        let is_part = piece.contains(['/', '.']) || parts > 1;
        let leads = |value: &str| self.leads_from_here(&with_value(piece, value), true);
        let values = || self.texts.values();
        is_part
            && (piece.split('/').any(|part| part == "..")
                || leads("")
                // What a program prints may be the folder itself: `./$(dirname a).` is `./..`.
                || leads(".")
                || (parts > 1
                    && self
                        .texts
                        .values()
                        .is_none_or(|all| all.iter().any(|value| is_joint(value))))
                || values().is_none_or(|values| values.iter().any(|value| leads(value))))
    }

    fn leads_from_here(&self, text: &str, dynamic: bool) -> bool {
        // `mv sub new; cat new/link`: whatever the end of a name leads to in a folder that is carried away.
        let is_carried = |folder: &PathBuf| {
            let there = Outside { folders: std::slice::from_ref(folder), carried: &[], ..*self };
            let mut ends = text.match_indices('/').map(|(at, _)| at.saturating_add(1));
            let mut ends = ends.by_ref().filter_map(|at| text.get(at..)).chain([text]);
            ends.any(|end| !end.starts_with('/') && there.leads_from_here(end, dynamic))
        };
        self.leads_from_the_folders(text, dynamic) || self.carried.iter().any(is_carried)
    }

    fn leads_from_the_folders(&self, text: &str, dynamic: bool) -> bool {
        let folders = self.folders;
        let inside = |path: &Path| {
            let inside =
                |base: &PathBuf| resolve(base, path).is_ok_and(|real| self.reach.is_inside(&real));
            folders.iter().all(inside)
        };
        let looks_like_path = text.starts_with('/') || text.split('/').any(|part| part == "..");
        if looks_like_path {
            return !inside(Path::new(text));
        }
        if dynamic && text.split('/').any(finds_dots) {
            let up = text.split('/').map(|part| if finds_dots(part) { ".." } else { part });
            let up: PathBuf = up.collect();
            return !inside(&up);
        }
        // A plain name may still be a link that leads away.
        if dynamic && text.contains(['*', '?', '[']) {
            return !folders.iter().all(|folder| finds_only(text, folder, inside));
        }
        let may_link = !text.is_empty() && !text.contains(['`', '\n']) && text.len() < 1024;
        may_link && !inside(Path::new(text))
    }
}

/// Whether this part of a file pattern finds `..`, as it does in some shells.
fn finds_dots(part: &str) -> bool {
    part.starts_with('.')
        && part.contains(['*', '?', '['])
        && Pattern::new(&part.replace("[^", "[!")).map_or(true, |pattern| pattern.matches(".."))
}

/// Whether all that a file pattern finds is inside.
fn finds_only(text: &str, cwd: &Path, inside: impl Fn(&Path) -> bool) -> bool {
    // That it finds no `..` has been looked at; here the pattern is a little wider than it was written.
    let goes_up = |path: &PathBuf| path.components().any(|part| part == Component::ParentDir);
    files_found(text, cwd)
        .is_some_and(|found| found.iter().filter(|path| !goes_up(path)).all(|path| inside(path)))
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

/// The one set that means the same everywhere.
const DIGIT: &str = "[0-9]";

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
                let set = after.get(..end.saturating_add(3));
                wide.push_str(set.filter(|set| *set == DIGIT).unwrap_or("?"));
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

pub(crate) fn is_harmless_device(text: &str) -> bool {
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
    ) || text.strip_prefix("/dev/fd/").is_some_and(|fd| fd.bytes().all(|b| b.is_ascii_digit()))
}
