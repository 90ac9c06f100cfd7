//! Where a hook keeps things between events: `PINTLE_STATE_DIR` (R8.6).

use std::path::{Path, PathBuf};

use pintle_profile::{Hook, Profile};
use sha2::{Digest, Sha256};

use crate::undelivered::owner;

/// A folder in the data folder, apart from every other profile's. Hooks of one profile share it if they share a name.
pub(crate) fn folder(data: &Path, profile: &Profile, hook: &Hook) -> Option<PathBuf> {
    let data = std::path::absolute(data).ok()?;
    let dir = profile.dir.file_name().unwrap_or_default().to_string_lossy();
    let profile = file_name(&dir, &owner(profile));
    Some(data.join("hook-state").join(profile).join(file_name(&hook.name, &hook.name)))
}

/// A file name that shows one text and differs for every other `key`.
fn file_name(shown: &str, key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let slug: String = shown.chars().map(plain).take(40).collect();
    let hash: String =
        Sha256::digest(key).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{slug}-{hash}")
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::file_name;

    #[test]
    fn hooks_with_different_names_share_no_folder() {
        let names = ["no prod", "no/prod", "../no", "no-prod", &"x".repeat(300), &"x".repeat(301)];
        let folders = names.map(|name| file_name(name, name));
        for (at, folder) in folders.iter().enumerate() {
            assert!(folder.len() < 64 && !folder.contains(['/', '.']), "{folder}");
            assert!(!folders[..at].contains(folder), "{folder}");
        }
        assert!(folders[0].starts_with("no-prod-"), "{folders:?}");
    }
}
