//! Links to the agent's own files that a line gives another name: `mv sub new; echo x > new/link`.

use std::path::{Path, PathBuf};

use pintle_policy::{
    files_found, resolve,
    shell::{SimpleCommand, Word},
};

use super::{Look, bases::Bases, effect::Effect};

/// No more is looked through, so that judging stays cheap.
const MOST_ENTRIES: usize = 20_000;

const CARRIERS: &[&str] =
    &["bsdtar", "cp", "cpio", "ditto", "git", "install", "ln", "mv", "rename", "rsync", "tar"];

impl Look<'_> {
    /// The link, when another command of the line may write to it by its new name.
    pub(super) fn carried(&self, commands: &[SimpleCommand], bases: &Bases) -> Option<String> {
        let writes = |command: &SimpleCommand| {
            !Effect::of(command).is_nothing()
                || command.redirects.iter().any(|redirect| redirect.writes())
        };
        let carries =
            |command: &SimpleCommand| command.program().is_some_and(|it| CARRIERS.contains(&it));
        commands.iter().enumerate().filter(|(_, command)| carries(command)).find_map(|(at, it)| {
            let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, other)| writes(other)).then(|| self.link_in(it, bases)).flatten()
        })
    }

    fn link_in(&self, command: &SimpleCommand, bases: &Bases) -> Option<String> {
        let mut left = MOST_ENTRIES;
        let operands = command.args.iter().filter(|word| !word.text().starts_with('-'));
        for text in operands.flat_map(Word::readings) {
            for base in &bases.known {
                let starts = match text.as_str() {
                    text if text.contains('$') => vec![base.clone()],
                    text if text.contains(['*', '?', '[']) => {
                        files_found(text, base).unwrap_or_default()
                    }
                    text => vec![base.join(text)],
                };
                let link = starts.into_iter().find_map(|start| self.link_below(start, &mut left));
                if let Some(link) = link {
                    let shown = link.strip_prefix(base).unwrap_or(&link).display().to_string();
                    return Some(format!(
                        "{shown}, a link to them that `{}` renames",
                        command.summary()
                    ));
                }
            }
        }
        None
    }

    fn link_below(&self, start: PathBuf, left: &mut usize) -> Option<PathBuf> {
        let mut pending = vec![start];
        let mut link = None;
        while let Some(path) = pending.pop() {
            if let Ok(text) = path.read_link() {
                if self.is_way(&path, &text) {
                    return Some(path);
                }
                link = Some(path);
                continue;
            }
            for entry in path.read_dir().into_iter().flatten().flatten() {
                // Where there is one link, there may be others.
                let Some(fewer) = left.checked_sub(1) else { return link };
                *left = fewer;
                let kind = entry.file_type();
                if kind.is_ok_and(|kind| kind.is_dir() || kind.is_symlink()) {
                    pending.push(entry.path());
                }
            }
        }
        None
    }

    /// Whether a link leads to one of them, or may from another place.
    fn is_way(&self, link: &Path, text: &Path) -> bool {
        let named_alike = |file: &PathBuf| file.file_name() == text.file_name();
        resolve(link, Path::new("")).is_ok_and(|real| self.holds(&real))
            || (text.is_relative() && self.real.iter().any(named_alike))
    }
}
