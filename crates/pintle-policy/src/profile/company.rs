//! What lies in a folder beside scripts and is none: pintle's own records, and what editors leave behind.

use crate::paths::resolve;
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What pintle keeps in its data folder, by how the names begin.
const RECORDS: [&str; 7] = [
    "accepted.",
    "history.txt",
    "pintle.db",
    "pintle.toml",
    "trust.json",
    "trust.lock",
    "trust.new",
];
const RECORD_FOLDERS: [&str; 2] = ["locks", "webhooks"];

/// Where in a profile the data folder lies, if it does. It changes with every run, and whoever can write to it needs no
/// script: what is trusted stands there.
#[derive(Clone)]
pub(super) struct Company {
    data: Option<PathBuf>,
}

impl Company {
    pub(super) fn of(folder: &Path, data: Option<&Path>) -> Self {
        let inner = |data: &Path| {
            let folder = resolve(folder, Path::new("")).ok()?;
            Some(resolve(data, Path::new("")).ok()?.strip_prefix(folder).ok()?.to_owned())
        };
        Self { data: data.and_then(inner) }
    }

    /// Whether a file or folder of the profile is where records are kept. Where the profile is the data folder itself, only
    /// the records are.
    pub(super) fn is_kept(&self, place: &Path) -> bool {
        let Some(data) = &self.data else { return false };
        if !data.as_os_str().is_empty() {
            return place == data;
        }
        place.to_str().is_some_and(|name| {
            RECORD_FOLDERS.contains(&name) || RECORDS.iter().any(|record| name.starts_with(record))
        })
    }

    /// Whether it is a record, or lies where records are kept.
    pub(super) fn keeps(&self, place: &Path) -> bool {
        place.ancestors().any(|place| self.is_kept(place))
    }

    /// The same, also through links.
    pub(super) fn keeps_really(&self, folder: &Path, place: &Path) -> bool {
        let real = |place: &Path| resolve(folder, place).ok();
        let inner = real(place).zip(real(Path::new("")));
        let inner = inner.as_ref().and_then(|(place, folder)| place.strip_prefix(folder).ok());
        self.keeps(place) || inner.is_some_and(|inner| self.keeps(inner))
    }
}

/// What an editor or a file browser leaves behind, by a name that nothing loads unless it is told to: it is hidden, so `*` does
/// not fit it, and no `import` can name it. One that may be run is no litter. A copy like `check.sh~` or `#check.sh#` is none
/// either: a script that loads everything in a folder loads it too.
pub(super) fn is_litter(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    // Most are none by their names: that is the cheaper question.
    let may_be = name.starts_with(".#") || name == ".DS_Store" || is_swap_file(name);
    let Some(meta) = may_be.then(|| std::fs::symlink_metadata(path).ok()).flatten() else {
        return false;
    };
    match name.starts_with(".#") {
        // Of Emacs: a link to nothing, which says who is at it.
        true => meta.is_symlink() && !path.exists(),
        false => meta.is_file() && meta.permissions().mode() & 0o111 == 0,
    }
}

/// `.check.sh.swp`, or with another last letter if there was one already.
fn is_swap_file(name: &str) -> bool {
    let ending = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    ending.is_some_and(|(_, it)| {
        it.len() == 3 && it.starts_with("sw") && it.bytes().all(|byte| byte.is_ascii_lowercase())
    })
}

/// Whether one of the words is that file's name, or a path that ends in it.
pub(super) fn speaks_of(words: &HashSet<String>, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    words.iter().any(|word| word.ends_with(name))
}
