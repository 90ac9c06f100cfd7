//! Where a `cd` leads.

use super::{Follow, MOST, add};
use crate::files_found;
use crate::movers::is_mover;
use crate::paths::{normal, resolve};
use crate::shell::{SimpleCommand, Values, Word, is_variable_name};
use std::path::{Path, PathBuf};

impl Follow<'_> {
    /// Where the command goes, if its words say.
    pub(super) fn target(&self, command: &SimpleCommand) -> Option<Target> {
        let (words, is_plain) = operands(command);
        let back = || Target { folders: self.seen.clone(), is_one: false, exists: false };
        let may_be_none =
            |word: &&Word| word.is_dynamic() && word.text().contains(['*', '?', '[', '(']);
        if self.drops_patterns && words.iter().any(may_be_none) {
            return None;
        }
        match (command.program(), words.as_slice()) {
            (Some("popd"), _) => Some(back()),
            (_, []) => Some(Target { folders: vec![home("")], is_one: true, exists: false }),
            (Some("pushd"), [word]) if word.text().starts_with(['+', '-']) => Some(back()),
            (_, [Word::Literal(dash)]) if dash == "-" => {
                let folders = self.before.clone()?;
                Some(Target { folders, is_one: true, exists: true })
            }
            (_, [word]) if is_plain => self.named(word),
            // Some shells go to the first word, others nowhere.
            (_, words) => {
                let mut target = Target { folders: Vec::new(), is_one: false, exists: false };
                for word in words {
                    target.folders.extend(self.named(word)?.folders);
                }
                Some(target)
            }
        }
    }

    /// Where a word leads: if it is a variable, wherever one of the texts does that the line sets it to.
    fn named(&self, word: &Word) -> Option<Target> {
        let Some(words) = held(word, self.values) else { return self.written(word) };
        // Before it is set, it leads nowhere.
        let mut target = Target { folders: Vec::new(), is_one: false, exists: false };
        for word in &words {
            add(&mut target.folders, &self.written(word)?.folders);
        }
        Some(target)
    }

    fn written(&self, word: &Word) -> Option<Target> {
        let mut target = Target { folders: Vec::new(), is_one: true, exists: true };
        let mut one_more = |folder: PathBuf| {
            // A shell takes `..` off the name it has of its folder; a program goes up from where it is.
            let named = PathBuf::from(normal(&folder.to_string_lossy()));
            target.exists &= named.join(".").is_dir();
            let real = resolve(&folder, Path::new("")).ok();
            let other =
                real.filter(|real| resolve(&named, Path::new("")).ok().as_ref() != Some(real));
            target.exists &= other.is_none();
            add(&mut target.folders, &[named]);
            add(&mut target.folders, other.as_slice());
        };
        let readings = word.readings();
        let mut is_one = matches!(readings.as_slice(), [_]);
        for text in readings {
            let here =
                text.strip_prefix("$PWD").filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let text = here.map_or_else(|| text.clone(), |rest| format!(".{rest}"));
            if let Some(rest) = in_home(&text) {
                one_more(home(rest));
                continue;
            }
            // What may be no word, or an option, leaves a `cd` alone, and that goes home.
            let may_be_option = word.is_dynamic() && text.starts_with('-');
            if text.is_empty() || may_be_option || (word.is_dynamic() && text.contains('$')) {
                return None;
            }
            for base in &self.now {
                if word.is_dynamic() && text.contains(['*', '?', '[']) {
                    is_one = false;
                    let found = files_found(&text, base)?;
                    let is_option = |path: &PathBuf| {
                        path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('-'))
                    };
                    let may_find_one = text.starts_with(['*', '?', '[']) && !text.contains('/');
                    if may_find_one && (self.makes_dashes || found.iter().any(is_option)) {
                        return None;
                    }
                    found
                        .into_iter()
                        .filter(|path| path.is_dir())
                        .take(MOST + 1)
                        .for_each(&mut one_more);
                } else {
                    one_more(base.join(&text));
                }
            }
        }
        target.is_one = is_one;
        target.without_the_missing();
        Some(target)
    }
}

/// Stands for the person's home folder, which is none of a library's business. It is outside.
pub(crate) const HOME: &str = "/~";

fn home(rest: &str) -> PathBuf {
    PathBuf::from(normal(&format!("{HOME}/{rest}")))
}

fn in_home(text: &str) -> Option<&str> {
    let rest = ["~", "$HOME"].iter().find_map(|home| text.strip_prefix(home))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The words that name a folder, and whether every shell takes the others for options. Each goes on after `--`.
fn operands(command: &SimpleCommand) -> (Vec<&Word>, bool) {
    let by_number = matches!(command.program(), Some("pushd" | "popd"));
    let (mut words, mut is_plain, mut is_over) = (Vec::new(), true, false);
    for word in &command.args {
        let option = word.literal().filter(|_| !is_over).and_then(|text| text.strip_prefix('-'));
        match option {
            Some("-") => is_over = true,
            Some("") => words.push(word),
            Some(number) if by_number && number.bytes().all(|b| b.is_ascii_digit()) => {
                words.push(word);
            }
            Some(letters) => is_plain &= letters.chars().all(|letter| "LP".contains(letter)),
            None => words.push(word),
        }
        // Behind the first one nothing is an option: `cd src --` is two folders, and goes nowhere.
        is_over |= !words.is_empty();
    }
    (words, is_plain)
}

/// Whether the command goes to the person's home folder, for it names none: `cd`, `cd --`, `cd -P`.
pub(crate) fn goes_home(command: &SimpleCommand) -> bool {
    is_mover(command) && command.program() != Some("popd") && operands(command).0.is_empty()
}

/// What the line sets the variable to that this word is; `None` for another word, or when only running it would tell. Without quotes
/// it may be no word, and `cd` alone goes home.
fn held(word: &Word, values: &Values) -> Option<Vec<Word>> {
    let name = word.text().strip_prefix("\"$").and_then(|text| text.strip_suffix('"'))?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let set = values.of(name).filter(|set| is_variable_name(name) && !set.is_empty())?;
    let is_known = |value: &&Word| {
        let is_open = value.is_dynamic() && value.text().contains(['$', '`', '(']);
        !value.text().starts_with(['-', '+']) && !is_open
    };
    let is_known = word.is_dynamic() && set.iter().all(is_known);
    is_known.then(|| set.into_iter().cloned().collect())
}

pub(super) struct Target {
    pub(super) folders: Vec<PathBuf>,
    /// Whether there is only one way to read it.
    pub(super) is_one: bool,
    /// Whether it is there.
    pub(super) exists: bool,
}

impl Target {
    /// Leaves out a folder that is not there, if another one is that lies no deeper: whatever leads outside from the one, should
    /// it be made by then, leads outside from the other.
    fn without_the_missing(&mut self) {
        let depth = |folder: &PathBuf| folder.components().count();
        let there = self.folders.iter().filter(|folder| folder.is_dir()).map(depth).min();
        if let Some(there) = there {
            self.folders.retain(|folder| folder.is_dir() || depth(folder) < there);
        }
    }
}
