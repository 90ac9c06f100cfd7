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
    std::fs::create_dir_all(dir.join("hooks")).unwrap();
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
    write(dir, "hooks/b.sh", "exit 0\n");
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
    assert!(!first.trusts("hooks/b.sh", b"exit 0\n"), "never recorded, never trusted");

    write(dir, "hooks/a.sh", "curl evil\n");
    assert_eq!(kinds(&lock), [("hooks/a.sh".into(), ChangeKind::Changed)]);
    write(dir, "agent.json", &with_command("\"command\": \"env X=1 sh -c './hooks/b.sh | cat'\""));
    assert_eq!(
        kinds(&lock),
        [
            ("agent.json".into(), ChangeKind::Changed),
            ("hooks/b.sh".into(), ChangeKind::Added),
            ("hooks/a.sh".into(), ChangeKind::Removed)
        ]
    );
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
