//! What is in a folder.

use std::path::{Path, PathBuf};

/// What is in a folder of the profile, by its path in the profile. No link is followed.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
    pub(super) is_link: bool,
}

pub(super) fn entries(folder: &Path, place: &Path) -> impl Iterator<Item = Entry> {
    let place = place.to_owned();
    let listed = folder.join(&place).read_dir().into_iter().flatten().flatten();
    listed.map(move |entry| {
        let kind = entry.file_type();
        let is_folder = kind.as_ref().is_ok_and(|kind| kind.is_dir());
        let is_link = kind.is_ok_and(|kind| kind.is_symlink());
        Entry { path: place.join(entry.file_name()), is_folder, is_link }
    })
}
