//! The places that no call and no confined process may touch: the agent's own rules, and the user's secrets (R10.9, R11.2).

use std::path::{Path, PathBuf};

use pintle_policy::resolve;
use pintle_profile::{AGENT_FILE, HOOKS_FOLDER, Profile};

/// The files of a profile that decide what the agent may do.
const OF_A_PROFILE: [&str; 4] = [AGENT_FILE, HOOKS_FOLDER, ".pintle", "personalities"];

/// The files that this program keeps in its data folder.
const OF_A_DATA_FOLDER: [&str; 14] = [
    "accepted.json",
    "caches",
    "history.txt",
    "hook-state",
    "locks",
    "pintle.db",
    "pintle.db-shm",
    "pintle.db-wal",
    "pintle.toml",
    "plugins.json",
    "token",
    "trust.json",
    "trusted",
    "webhooks",
];

/// The files and folders of a home folder that hold keys. Those in the folders of toolchains are in the sandbox's own list.
const OF_A_HOME: [&str; 17] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".docker/config.json",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/composer/auth.json",
    ".bundle/config",
    ".local/share/gem/credentials",
];

/// The files that decide what the agent may do.
pub(crate) fn own_files(profile: &Profile) -> Vec<PathBuf> {
    let named = profile.named_files();
    let names = OF_A_PROFILE.iter().map(|name| (*name).to_owned()).chain(named.iter().cloned());
    let dir = profile.dir.canonicalize().unwrap_or_else(|_| profile.dir.clone());
    names.map(|name| dir.join(name)).collect()
}

/// The paths of a profile that the agent's commands and file tools may read but not write. The whole folder is protected, unless the
/// agent works in it.
pub(crate) fn protected_paths(profile: Option<&Profile>, workspace: &Path) -> Vec<PathBuf> {
    let mut paths = vec![resolved(workspace).join(".pintle")];
    if let Some(profile) = profile {
        paths.extend(own_files(profile));
        if !resolved(workspace).starts_with(resolved(&profile.dir)) {
            paths.push(resolved(&profile.dir));
        }
    }
    paths
}

/// The paths that may not even be read: the program's own records, and the usual places of keys. If the data folder contains a `used` path,
/// such as the profile itself, only the records are closed.
pub(crate) fn secret_paths(
    home: Option<&Path>,
    data: Option<&Path>,
    used: &[&Path],
) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        home.into_iter().flat_map(|home| OF_A_HOME.iter().map(|name| home.join(name))).collect();
    if let Some(data) = data {
        match used.iter().any(|used| resolved(used).starts_with(resolved(data))) {
            true => paths.extend(OF_A_DATA_FOLDER.iter().map(|name| data.join(name))),
            false => paths.push(data.to_owned()),
        }
    }
    all_resolved(&paths)
}

/// Each path resolved, or as it is written if it cannot be resolved.
fn all_resolved(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = paths.iter().map(|path| resolved(path)).collect();
    all.sort();
    all.dedup();
    all
}

fn resolved(path: &Path) -> PathBuf {
    resolve(path, Path::new("")).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use pintle_profile::Bounds;

    fn profile(folder: &Path) -> Profile {
        let agent = r#"{ "hooks": { "onStart": [{ "action": "command", "argv": ["sh", "tools/check.sh"] }] } }"#;
        std::fs::create_dir_all(folder.join("tools")).unwrap();
        std::fs::write(folder.join("tools/check.sh"), "").unwrap();
        std::fs::write(folder.join(AGENT_FILE), agent).unwrap();
        let actions = &pintle_actions::in_profiles(&pintle_actions::BUILT_IN);
        Profile::load(folder, Bounds { actions, ..Bounds::default() }).unwrap()
    }

    // R10.9
    #[test]
    fn of_a_profile_that_is_the_workspace_its_own_files_are_protected_and_elsewhere_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let profile = profile(&place);
        for workspace in [place.clone(), place.join("work")] {
            let paths = protected_paths(Some(&profile), &workspace);
            for file in ["agent.json", "hooks", ".pintle", "personalities", "tools/check.sh"] {
                assert!(paths.contains(&place.join(file)), "{file}: {paths:?}");
            }
            assert!(paths.contains(&workspace.join(".pintle")), "{paths:?}");
            assert!(!paths.contains(&place), "{paths:?}");
        }
        for workspace in [place.parent().unwrap(), Path::new("/nowhere")] {
            let paths = protected_paths(Some(&profile), workspace);
            assert!(paths.contains(&place), "{paths:?}");
        }
    }

    #[test]
    fn a_protected_place_is_known_by_where_its_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        std::fs::create_dir(place.join("real")).unwrap();
        std::os::unix::fs::symlink("real", place.join("link")).unwrap();
        let paths = secret_paths(Some(&place.join("link")), Some(&place.join("link/data")), &[]);
        assert!(paths.contains(&place.join("real/.ssh")), "{paths:?}");
        assert!(paths.contains(&place.join("real/data")), "{paths:?}");
    }
}
