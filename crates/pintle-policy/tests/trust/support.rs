//! A profile on the disk, and its fingerprint.

use pintle_policy::profile::Bounds;
use pintle_policy::trust::Fingerprint;
use pintle_policy::{Contents, Profile};
use std::path::Path;

pub(crate) fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An agent.json with one hook that runs a program: `"argv": […]` or `"command": "…"`.
pub(crate) fn hook(command: &str) -> String {
    format!(r#"{{ "hooks": {{ "onToolCall": [{{ "action": "command", {command} }}] }} }}"#)
}

pub(crate) fn profile(agent: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "agent.json", agent);
    for (file, text) in files {
        write(folder.path(), file, text);
    }
    folder
}

pub(crate) fn fingerprint(dir: &Path) -> Fingerprint {
    fingerprint_beside(dir, None)
}

/// The same with the operator's data folder.
pub(crate) fn fingerprint_beside(dir: &Path, data: Option<&Path>) -> Fingerprint {
    let bounds = Bounds { data, ..Bounds::default() };
    let profile = Profile::load_within(dir, bounds).unwrap_or_else(|e| panic!("{e}"));
    Fingerprint::of(&profile, &mut Contents::default()).unwrap()
}
