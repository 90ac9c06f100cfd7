//! Plugins in a data folder: trusted by content, granted one capability at a time.

use std::fs;

use pintle_plugins::{Capability, Grants, Installed, InstalledError};
use tempfile::TempDir;

fn source() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = r#"{ "id": "notes", "version": "1", "apiVersion": 1, "kind": "process", "entry": ["python3", "notes.py"],
        "points": ["agent_done"], "capabilities": ["observe", "read:conversation"] }"#;
    fs::write(folder.path().join("plugin.json"), manifest).unwrap();
    fs::write(folder.path().join("notes.py"), "pass\n").unwrap();
    fs::create_dir_all(folder.path().join("__pycache__")).unwrap();
    fs::write(folder.path().join("__pycache__/notes.pyc"), "").unwrap();
    folder
}

// R10.9
#[test]
fn a_plugin_runs_as_it_was_added_until_it_is_added_again() {
    let (data, from) = (tempfile::tempdir().unwrap(), source());
    let added = Installed::add(data.path(), from.path(), [Capability::Observe]).unwrap();
    assert!(added.dir.join("notes.py").is_file() && !added.dir.join("__pycache__").exists());
    // The source may change: what was added runs.
    fs::write(from.path().join("notes.py"), "evil()\n").unwrap();
    assert!(Installed::read(data.path()).unwrap().get("notes").is_ok());
    // What was added may not change, by a byte, a new file or a bit.
    fs::write(added.dir.join("notes.py"), "evil()\n").unwrap();
    let changed = Installed::read(data.path()).unwrap().get("notes");
    assert!(matches!(changed, Err(InstalledError::Changed { .. })));
    Installed::add(data.path(), from.path(), []).unwrap();
    let plugin = Installed::read(data.path()).unwrap().get("notes").unwrap();
    assert_eq!(plugin.grants, Grants::only([Capability::Observe]), "what was granted stays");
    fs::write(added.dir.join("extra.py"), "").unwrap();
    let changed = Installed::read(data.path()).unwrap().get("notes");
    assert!(matches!(changed, Err(InstalledError::Changed { .. })));
    Installed::remove(data.path(), "notes").unwrap();
    assert!(!added.dir.exists());
    let gone = Installed::read(data.path()).unwrap().get("nots");
    assert!(matches!(gone, Err(InstalledError::Unknown { nearest: None, .. })));
}

#[test]
fn only_what_a_plugin_asks_for_can_be_granted() {
    let (data, from) = (tempfile::tempdir().unwrap(), source());
    Installed::add(data.path(), from.path(), [Capability::Tools]).unwrap();
    let grants = || Installed::read(data.path()).unwrap().get("notes").unwrap().grants;
    assert_eq!(grants(), Grants::only([]), "it does not ask for tools");
    let refused = Installed::set_grants(data.path(), "notes", &[Capability::Tools], &[]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the plugin `notes` does not ask for `tools`; it asks for: observe, read:conversation"
    );
    Installed::set_grants(data.path(), "notes", &[Capability::Observe], &[]).unwrap();
    assert_eq!(grants(), Grants::only([Capability::Observe]));
    Installed::set_grants(data.path(), "notes", &[], &[Capability::Observe]).unwrap();
    assert_eq!(grants(), Grants::only([]));
    let unknown = Installed::set_grants(data.path(), "note", &[], &[]).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no plugin `note`; did you mean `notes`?");
}

#[test]
fn a_link_is_not_copied() {
    let (data, from) = (tempfile::tempdir().unwrap(), source());
    std::os::unix::fs::symlink("/etc/passwd", from.path().join("link")).unwrap();
    let refused = Installed::add(data.path(), from.path(), []).unwrap_err().to_string();
    assert!(refused.contains("it is a link"), "{refused}");
    assert!(Installed::read(data.path()).unwrap().ids().next().is_none());
}
