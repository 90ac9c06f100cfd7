//! What the words of a command name, seen from where the command runs: `cd config && cat a` is about `config/a`.

use super::may_run::changes;
use super::written::{links, may_end_like};
use crate::Reach;
use crate::folders::places;
use crate::movers::is_mover;
use crate::paths::{normal, resolve};
use crate::shell::{Line, OPEN, Script, SimpleCommand, Word, may_be_long, runs_by_script};
use glob::{MatchOptions, Pattern};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What stands for the name of a new file.
const TEMPORARY: &str = "/tmp/tmp.XXXXXXXXXX";
/// More scripts than anybody writes in one line.
const MOST: usize = 64;

/// Where one command runs.
pub(super) struct Here<'a> {
    workspace: Option<&'a Path>,
    /// Every folder that it may run in; `None` when only running it would tell.
    folders: Option<Vec<PathBuf>>,
    pub(super) script: &'a Script,
    line: &'a Line<'a>,
    /// `{}` is a name that `find` found: it starts with a place, never with a dash.
    finds: bool,
}

impl<'a> Here<'a> {
    /// For each command of the script, in order.
    pub(super) fn of_each(
        script: &'a Script,
        line: &'a Line<'a>,
        input: &Value,
        reach: &'a Reach,
    ) -> Vec<Self> {
        let workspace = reach.workspace().ok();
        let start = match reach.path("cwd") {
            Some(path) => path.ok(),
            // Not a text: nobody knows what is made of it.
            None if input.get("cwd").is_some() => None,
            None => workspace,
        };
        let movers = script.commands().filter(|command| is_mover(command));
        // `mkdir x; cd *; …`: what is to be found there is not there yet.
        let is_lost = script.any_is_open(movers.flat_map(|command| &command.args))
            // `ln -s . d; echo > d/.env`
            || script.commands().any(|command| goes_first(command) || links(command));
        let puts_in = |it: &SimpleCommand| {
            matches!(it.program(), Some("xargs" | "gxargs" | "fd" | "fdfind" | "parallel"))
                || it.args.iter().any(|arg| arg.text().contains("files0-from"))
        };
        let finds = !script.commands().any(puts_in);
        let start = start.filter(|_| !is_lost);
        let places = start.and_then(|start| places(script, start).ok());
        let here = |at: usize| {
            let place = places.as_ref().and_then(|places| places.each.get(at));
            let folders = place.map(|place| place.folders.clone());
            Self { workspace, folders, script, line, finds }
        };
        (0..script.commands().count()).map(here).collect()
    }

    /// Whether the pattern may mean the place that the text names.
    pub(super) fn may_be(&self, pattern: &Pattern, text: &str) -> bool {
        self.names(text, |name| pattern.matches(name))
            || (self.is_anywhere(text) && is_named_like(pattern, text))
    }

    /// Whether one of the ways to write the place is such a text.
    pub(super) fn names(&self, text: &str, is: impl Fn(&str) -> bool) -> bool {
        let places = || {
            let folders = self.folders.iter().flatten();
            let seem = folders.clone().map(|folder| lexical(folder, text));
            let lead = folders.filter_map(|folder| resolve(folder, Path::new(text)).ok());
            seem.chain(lead).collect::<Vec<_>>()
        };
        is(text)
            || is(&normal(text))
            || places().iter().any(|place| self.written(place).iter().any(|name| is(name)))
    }

    /// Whether the text surely names a place that one of the patterns means, from wherever the command runs.
    pub(super) fn surely_is(&self, patterns: &[&Pattern], text: &str) -> bool {
        let is_meant = |folder: &PathBuf| {
            let real = resolve(folder, Path::new(text)).ok().filter(|real| real.to_str().is_some());
            let names = real.map(|real| self.written(&real)).unwrap_or_default();
            names.iter().any(|name| patterns.iter().any(|pattern| pattern.matches(name)))
        };
        self.folders.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is_meant))
    }

    /// Whether a word that is decided at run time may be an option.
    pub(super) fn may_be_an_option(&self, word: &Word) -> bool {
        let raw = word.text().trim_start_matches(['"', '\'']);
        let is_whole = crate::shell::is_one_word(word);
        if (raw == "{}" && self.finds)
            || (is_whole && raw.starts_with(|c: char| c.is_alphanumeric() || "./_".contains(c)))
        {
            return false;
        }
        // `*.tmp` may find `-rf.tmp`, which no program takes for options.
        let is_cluster = |text: &String| {
            let rest = text.strip_prefix(OPEN);
            let letters = rest.or_else(|| text.strip_prefix('-'));
            let is_letter = |c: char| c == OPEN || c == '-' || c == '=' || c.is_alphanumeric();
            letters.is_some_and(|letters| letters.chars().all(is_letter))
                || (!is_whole && text.contains(|c| self.line.cuts(c)))
        };
        self.line.texts(word).is_none_or(|texts| texts.iter().any(is_cluster))
    }

    /// Whether the pattern may mean what is written to.
    pub(super) fn may_be_written(&self, pattern: &Pattern, target: &Word) -> bool {
        let texts = match target {
            Word::Literal(text) => return self.may_be(pattern, text),
            Word::Dynamic(_) if self.is_temporary(target) => Some(vec![TEMPORARY.to_owned()]),
            Word::Dynamic(raw) => self.line.texts(target).filter(|_| self.is_exact(raw)),
        };
        match texts.filter(|texts| !texts.iter().any(|text| text.contains(OPEN))) {
            Some(texts) => texts.iter().any(|text| self.may_be(pattern, text)),
            None => may_end_like(target, pattern),
        }
    }

    /// Whether the word is made of plain texts alone, and of variables that the line sets to nothing else.
    fn is_exact(&self, raw: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_set = |name: &str| {
            let set = self.script.values.of(name).unwrap_or_default();
            !set.is_empty() && !set.iter().any(|value| value.is_dynamic())
        };
        !raw.contains(['`', '*', '?', '[', '~', '\\'])
            && raw.split('$').skip(1).all(|after| match after.strip_prefix('{') {
                Some(braced) => braced.split_once('}').is_some_and(|(name, _)| is_set(name)),
                None => {
                    let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
                    after.get(..end).is_some_and(is_set)
                }
            })
    }

    /// Whether the word is a variable that the line sets to the name of a new file, and to nothing else: `tmp=$(mktemp)`.
    fn is_temporary(&self, word: &Word) -> bool {
        let raw = word.text().trim_matches('"');
        let name = raw.strip_prefix('$').unwrap_or_default();
        let name = name.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(name);
        let set = self.script.values.of(name).unwrap_or_default();
        let makes = |value: &&Word| {
            let raw = value.text().trim_matches('"');
            value.is_dynamic() && matches!(raw, "$(mktemp)" | "`mktemp`" | "$(mktemp -t)")
        };
        !set.is_empty() && set.iter().all(makes) && !self.script.values.is_function("mktemp")
    }

    /// Whether a command whose script is put together at run time runs something by what the line itself puts into it.
    pub(super) fn runs_by_own_texts(&self, command: &SimpleCommand) -> bool {
        let program = command.name.text();
        let mut all: Vec<Vec<Word>> = vec![Vec::new()];
        for arg in &command.args {
            let Some(texts) = self.line.texts(arg).filter(|_| !is_put_in(arg)) else { return true };
            if texts.len().saturating_mul(all.len()) > MOST {
                return true;
            }
            let with = |text: &String, one: &Vec<Word>| {
                let text = Word::Literal(text.replace(OPEN, "1"));
                one.iter().cloned().chain([text]).collect::<Vec<_>>()
            };
            all = texts.iter().flat_map(|text| all.iter().map(|one| with(text, one))).collect();
        }
        all.iter().any(|args| runs_by_script(program, args))
    }

    /// Whether the pattern may mean what the word names, as far as the line itself says what that is.
    pub(super) fn may_name(&self, pattern: &Pattern, word: &Word) -> bool {
        let is_meant = |text: &str| {
            !text.contains(OPEN) && (self.may_be(pattern, text) || finds(text, pattern))
        };
        if is_put_in(word) {
            let mut words = self.script.commands().flat_map(|it| &it.args).map(Word::text);
            return words.any(is_meant) || self.line.said().any(|text| is_meant(text));
        }
        let is_pattern = word.is_dynamic() && !word.text().contains(['$', '`', '"']);
        if is_pattern && is_meant(word.text()) {
            return true;
        }
        let texts = self.line.texts(word).unwrap_or_default();
        // `${f%x}` and what is printed are not read letter by letter.
        let is_own = |text: &String| !text.is_empty() && !text.contains(OPEN);
        let is_cut =
            (changes(word) || word.text().contains(['`', '('])) && texts.iter().any(is_own);
        texts.is_empty()
            || texts.iter().any(|text| is_meant(text))
            || (is_cut && may_end_like(word, pattern))
    }

    fn is_anywhere(&self, text: &str) -> bool {
        text.starts_with('~') || (self.folders.is_none() && !text.starts_with('/'))
    }

    /// The place as it is written from the root, and from the workspace.
    fn written(&self, place: &Path) -> Vec<String> {
        let inside = self.workspace.and_then(|workspace| place.strip_prefix(workspace).ok());
        let paths = [Some(place), inside].into_iter().flatten();
        paths.map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

/// `env -C x sh -c '…'`
fn goes_first(command: &SimpleCommand) -> bool {
    let goes = |arg: &Word| arg.text().starts_with("-C") || may_be_long(arg.text(), "chdir");
    command.program() == Some("env") && command.args.iter().any(goes)
}

fn lexical(folder: &Path, text: &str) -> PathBuf {
    PathBuf::from(normal(&folder.join(text).to_string_lossy()))
}

/// Whether a file of that name could be what the pattern means, in a folder that nobody knows.
fn is_named_like(pattern: &Pattern, text: &str) -> bool {
    let last =
        |text: &str| text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    Pattern::new(&last(pattern.as_str())).map_or(true, |name| name.matches(&last(text)))
}

/// Whether `find` or `xargs` put something in its place.
fn is_put_in(word: &Word) -> bool {
    let text = word.text();
    let is_plain = !text.contains(['$', '`', '{', '*', '?', '[', '~', '<', '>']);
    word.is_dynamic() && (is_plain || text.contains("{}") || text == "$(input of xargs)")
}

/// Whether a file pattern of the command finds what the rule names.
fn finds(text: &str, pattern: &Pattern) -> bool {
    const AS_A_SHELL: MatchOptions = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let is_plain = !pattern.as_str().contains(['*', '?', '[']);
    is_plain
        && text.contains(['*', '?', '['])
        && Pattern::new(&normal(text))
            .is_ok_and(|files| files.matches_with(pattern.as_str(), AS_A_SHELL))
}
