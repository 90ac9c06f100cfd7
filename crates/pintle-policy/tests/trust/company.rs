//! What lies beside scripts: some of it counts, some cannot be run (R10.9).

use crate::support::{self, fingerprint_beside, hook, write};
use pintle_policy::trust::{Change, ChangeKind};
use std::os::unix::fs::{PermissionsExt, symlink};

fn profile(command: &str, script: &str) -> tempfile::TempDir {
    support::profile(&hook(command), &[("hooks/check.sh", script)])
}

const BY_NAME: &str = r#""argv": ["sh", "hooks/check.sh"]"#;
const ANY_FILE: &str = r#""command": "make check""#;

#[test]
fn what_an_editor_leaves_counts_only_where_something_would_load_it() {
    for command in [BY_NAME, ANY_FILE] {
        let folder = profile(command, "true\n");
        let dir = folder.path();
        let trusted = fingerprint_beside(dir, None);
        let shows = |file: &str| {
            write(dir, file, "x");
            let changes = trusted.diff(&fingerprint_beside(dir, None));
            std::fs::remove_file(dir.join(file)).unwrap();
            !changes.is_empty()
        };
        for left in ["hooks/.check.sh.swp", "hooks/.check.sh.swo", "hooks/.DS_Store"] {
            assert!(!shows(left), "{command}: {left}");
        }
        for loaded in [
            "hooks/check.sh~",
            "hooks/#check.sh#",
            "hooks/swp",
            "hooks/check.swp",
            "hooks/.swp",
            "hooks/.check.swpy",
            "hooks/.check.swP",
            "hooks/.DS_Store.py",
            "hooks/.hidden.py",
        ] {
            assert!(shows(loaded), "{command}: {loaded}");
        }
        symlink("me@here.1234", dir.join("hooks/.#check.sh")).unwrap();
        assert_eq!(trusted.diff(&fingerprint_beside(dir, None)), [], "a link to nothing");
        std::fs::remove_file(dir.join("hooks/.#check.sh")).unwrap();
        symlink("check.sh", dir.join("hooks/.#check.sh")).unwrap();
        assert!(!trusted.diff(&fingerprint_beside(dir, None)).is_empty(), "a link to a script");
    }
}

#[test]
fn litter_that_may_be_run_or_is_spoken_of_is_a_script() {
    let folder = profile(BY_NAME, "true\n");
    let dir = folder.path();
    let trusted = fingerprint_beside(dir, None);
    write(dir, "hooks/.check.sh.swp", "x");
    let swap = dir.join("hooks/.check.sh.swp");
    std::fs::set_permissions(swap, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(trusted.diff(&fingerprint_beside(dir, None)).len(), 1);

    let folder = profile(BY_NAME, ". hooks/.rules.swp\n");
    let dir = folder.path();
    write(dir, "hooks/.rules.swp", "true");
    let trusted = fingerprint_beside(dir, None);
    write(dir, "hooks/.rules.swp", "false");
    assert_eq!(trusted.diff(&fingerprint_beside(dir, None))[0].what, "hooks/.rules.swp");

    let folder = profile(r#""argv": ["sh", "hooks/.rules.swp"]"#, "");
    let dir = folder.path();
    write(dir, "hooks/.rules.swp", "true");
    let trusted = fingerprint_beside(dir, None);
    write(dir, "hooks/.rules.swp", "false");
    assert_eq!(trusted.diff(&fingerprint_beside(dir, None))[0].what, "hooks/.rules.swp");
}

#[test]
fn what_python_compiled_counts_when_it_comes_and_not_when_it_goes() {
    let folder = profile(BY_NAME, "python3 hooks/rules.py\n");
    let dir = folder.path();
    let clean = fingerprint_beside(dir, None);
    write(dir, "hooks/__pycache__/rules.cpython-312.pyc", "x");
    let littered = fingerprint_beside(dir, None);
    let changes = clean.diff(&littered);
    assert_eq!(
        changes,
        [Change {
            what: "hooks/__pycache__/rules.cpython-312.pyc".into(),
            kind: ChangeKind::Added
        }]
    );
    assert_eq!(
        changes[0].advice().unwrap(),
        "Python would run it in place of the source, and nobody can read it: remove the folder `hooks/__pycache__`"
    );
    assert_eq!(littered.diff(&clean), [], "the source counts by itself");
    write(dir, "hooks/__pycache__/rules.cpython-312.pyc", "y");
    assert_eq!(littered.diff(&fingerprint_beside(dir, None))[0].kind, ChangeKind::Changed);
}

// What pintle writes itself is no change of the profile's programs.
#[test]
fn records_inside_the_profile_change_no_trust() {
    let records =
        ["pintle.db", "pintle.db-wal", "trust.json", "locks/1", "webhooks/a.jsonl", "history.txt"];
    for place in ["data", "var/pintle", "."] {
        let folder = profile(ANY_FILE, "true\n");
        let dir = folder.path();
        let data = dir.join(place);
        let trusted = fingerprint_beside(dir, Some(&data));
        for record in records {
            write(&data, record, "x");
        }
        assert_eq!(trusted.diff(&fingerprint_beside(dir, Some(&data))), [], "{place}");
        assert_eq!(trusted.diff(&fingerprint_beside(dir, None)).len(), records.len(), "{place}");
        write(dir, "Makefile", "check:\n\ttrue\n");
        assert_eq!(
            trusted.diff(&fingerprint_beside(dir, Some(&data)))[0].what,
            "Makefile",
            "{place}"
        );
    }
    // A script is one wherever it lies.
    let folder = profile(r#""argv": ["sh", "data/check.sh"]"#, "");
    let dir = folder.path();
    write(dir, "data/check.sh", "true");
    let data = dir.join("data");
    let trusted = fingerprint_beside(dir, Some(&data));
    write(dir, "data/check.sh", "false");
    assert_eq!(trusted.diff(&fingerprint_beside(dir, Some(&data)))[0].what, "data/check.sh");
}
