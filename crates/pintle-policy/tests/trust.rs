//! Trust by content (R10.9).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::Profile;
use pintle_policy::trust::{ChangeKind, Fingerprint, TrustLock, content_hash};
use std::path::Path;

fn write(dir: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(dir.join(file).parent().unwrap()).unwrap();
    std::fs::write(dir.join(file), text).unwrap();
}

fn with_command(command: &str) -> String {
    format!("{{ \"hooks\": {{ \"onToolCall\": [{{ \"action\": \"command\", {command} }}] }} }}")
}

fn fingerprint(dir: &Path) -> Fingerprint {
    Fingerprint::of(&Profile::load(dir).unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

#[test]
fn the_hash_is_sha256_of_the_bytes() {
    assert_eq!(
        content_hash(b"abc"),
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

// R10.9
#[test]
fn a_changed_script_a_new_one_and_a_changed_definition_all_show() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    write(dir, "hooks/a.sh", "exit 0\n");
    write(dir, "more/b.sh", "exit 0\n");
    write(dir, "agent.json", &with_command("\"argv\": [\"sh\", \"hooks/a.sh\"]"));
    let first = fingerprint(dir);
    let mut lock = TrustLock::default();
    let kinds = |lock: &TrustLock| {
        let changes = lock.changes("p", &fingerprint(dir));
        changes.into_iter().map(|c| (c.what, c.kind)).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(&lock),
        [("agent.json".into(), ChangeKind::Added), ("hooks/a.sh".into(), ChangeKind::Added)]
    );
    lock.trust("p", first.clone());
    assert_eq!(kinds(&lock), []);
    assert!(first.trusts("hooks/a.sh", b"exit 0\n"));
    assert!(!first.trusts("hooks/a.sh", b"exit 1\n"));
    assert!(!first.trusts("more/b.sh", b"exit 0\n"), "never recorded, never trusted");

    write(dir, "hooks/a.sh", "curl evil\n");
    assert_eq!(kinds(&lock), [("hooks/a.sh".into(), ChangeKind::Changed)]);
    write(dir, "agent.json", &with_command("\"command\": \"env X=1 sh -c './more/b.sh | cat'\""));
    assert_eq!(
        kinds(&lock),
        [
            ("agent.json".into(), ChangeKind::Changed),
            ("more/b.sh".into(), ChangeKind::Added),
            ("hooks/a.sh".into(), ChangeKind::Removed)
        ]
    );
}

/// What changes after a profile was trusted: the files of it, one after another, each put back.
fn shows(command: &str, files: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for file in files {
        write(dir, file, "as it was\n");
    }
    write(dir, "agent.json", &with_command(command));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(dir));
    let shows = |file: &&&str| {
        write(dir, file, "as it is now\n");
        let changes = lock.changes("p", &fingerprint(dir));
        write(dir, file, "as it was\n");
        changes.iter().any(|change| change.what == ***file)
    };
    files.iter().filter(shows).map(ToString::to_string).collect()
}

// R10.9
#[test]
fn what_a_script_can_load_is_trusted_or_not_with_it() {
    let beside = ["guard.py", "helper.py", "notes.txt", "lib/far.py"];
    assert_eq!(shows(r#""argv": ["python3", "guard.py"]"#, &beside), ["guard.py", "helper.py"]);
    let below = ["hooks/guard.py", "hooks/lib/far.py", "hooks/data.txt", "other.py"];
    assert_eq!(
        shows(r#""argv": ["python3", "hooks/guard.py"]"#, &below),
        ["hooks/guard.py", "hooks/lib/far.py", "hooks/data.txt"]
    );
    assert_eq!(shows(r#""argv": ["sh", "-c", "python3 hooks/guard.py x"]"#, &below).len(), 3);
    let entered = ["hooks/check.sh", "hooks/words.txt", "check.sh.old"];
    assert_eq!(
        shows(r#""command": "cd hooks && sh check.sh""#, &entered),
        ["hooks/check.sh", "hooks/words.txt"]
    );
    let installed = ["hooks/guard.js", "hooks/node_modules/x/index.js"];
    assert_eq!(shows(r#""argv": ["node", "hooks/guard.js"]"#, &installed), ["hooks/guard.js"]);
}

#[test]
fn a_file_that_a_script_could_load_and_nobody_has_seen_shows() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "guard.py", "import os\n");
    write(folder.path(), "agent.json", &with_command(r#""argv": ["python3", "guard.py"]"#));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    write(folder.path(), "os.py", "evil()\n");
    let changes = lock.changes("p", &fingerprint(folder.path()));
    assert_eq!((changes[0].what.as_str(), changes[0].kind), ("os.py", ChangeKind::Added));
}

#[test]
fn a_folder_with_more_than_anybody_looks_at_cannot_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2001 {
        write(folder.path(), &format!("hooks/{number}.txt"), "");
    }
    write(folder.path(), "agent.json", &with_command(r#""command": "cd hooks && sh check.sh""#));
    let error = Fingerprint::of(&Profile::load(folder.path()).unwrap()).unwrap_err();
    assert_eq!(error.script, "hooks");
}

#[test]
fn the_lock_file_is_read_back_as_written_and_a_damaged_one_trusts_nothing() {
    let mut lock = TrustLock::default();
    lock.trust(
        "/p",
        Fingerprint {
            definition: content_hash(b""),
            scripts: [("a".into(), content_hash(b"x"))].into(),
        },
    );
    assert_eq!(TrustLock::parse(&lock.to_text()).unwrap(), lock);
    for damaged in
        ["", "{}", "{\"version\":2,\"profiles\":{}}", "{\"version\":1,\"profiles\":{},\"more\":1}"]
    {
        assert!(TrustLock::parse(damaged).is_err(), "{damaged}");
    }
}
