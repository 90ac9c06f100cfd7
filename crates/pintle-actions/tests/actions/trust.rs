//! Which files of a profile are hashed, and how a change of them shows (R10.9).

use pintle_actions::trust::{ChangeKind, Fingerprint, MOST_FILES, TrustLock, content_hash};
use pintle_profile::Bounds;
use std::os::unix::fs::symlink;
use std::path::Path;

fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// An agent.json with one hook that runs a program: `"argv": […]` or `"command": "…"`.
fn hook(command: &str) -> String {
    format!(r#"{{ "hooks": {{ "onToolCall": [{{ "action": "command", {command} }}] }} }}"#)
}

fn profile(agent: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "agent.json", agent);
    for (file, text) in files {
        write(folder.path(), file, text);
    }
    folder
}

fn fingerprint(dir: &Path) -> Fingerprint {
    let profile = crate::load(dir).unwrap_or_else(|e| panic!("{e}"));
    Fingerprint::of(&profile).unwrap()
}

fn hashed(dir: &Path) -> Vec<String> {
    fingerprint(dir).scripts.into_keys().collect()
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
    let folder = profile(
        &hook("\"argv\": [\"sh\", \"hooks/a.sh\"]"),
        &[("hooks/a.sh", "exit 0\n"), ("more/b.sh", "exit 0\n")],
    );
    let dir = folder.path();
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

    write(dir, "hooks/a.sh", "curl evil\n");
    let change = lock.changes("p", &fingerprint(dir)).remove(0);
    assert_eq!((change.what.as_str(), change.kind), ("hooks/a.sh", ChangeKind::Changed));
    assert_eq!(change.was, Some(content_hash(b"exit 0\n")));
    assert_eq!(change.now, Some(content_hash(b"curl evil\n")));
    write(dir, "agent.json", &hook("\"command\": \"env X=1 sh -c './more/b.sh | cat'\""));
    std::fs::remove_file(dir.join("hooks/a.sh")).unwrap();
    assert_eq!(
        kinds(&lock),
        [
            ("agent.json".into(), ChangeKind::Changed),
            ("hooks/a.sh".into(), ChangeKind::Removed),
            ("more/b.sh".into(), ChangeKind::Added)
        ]
    );
}

// R10.9
#[test]
fn the_files_that_a_command_names_are_hashed() {
    let files = ["check.py", "data/words", "lib/check.sh", "rules.awk"].map(|file| (file, ""));
    for (command, named) in [
        (r#""argv": ["python3", "check.py"]"#, &["check.py"][..]),
        (r#""argv": ["./check.py"]"#, &["check.py"]),
        (r#""argv": ["sh", "-c", "lib/check.sh < data/words"]"#, &["data/words", "lib/check.sh"]),
        (
            r#""command": "awk -f rules.awk data/words | sh lib/check.sh""#,
            &["data/words", "lib/check.sh", "rules.awk"],
        ),
        (r#""command": "cat >> data/words; env X=1 python3 ./lib/../check.py""#, &["check.py"]),
        (r#""command": "lib//check.sh && echo rules.awk""#, &["lib/check.sh", "rules.awk"]),
        (r#""argv": ["make", "check"]"#, &[]),
        (r#""argv": ["true"]"#, &[]),
    ] {
        let folder = profile(&hook(command), &files);
        assert_eq!(hashed(folder.path()), named, "{command}");
    }
    let whole = |folder: &Path| folder.join("check.py").display().to_string();
    let folder = profile("{}", &files);
    write(
        folder.path(),
        "agent.json",
        &hook(&format!(r#""argv": ["sh", "{}"]"#, whole(folder.path()))),
    );
    assert_eq!(hashed(folder.path()), ["check.py"]);
    let server = r#"{ "mcpServers": { "x": { "command": "python3", "args": ["check.py", "data"], "env": { "X": "rules.awk" } } } }"#;
    let folder = profile(server, &files);
    assert_eq!(hashed(folder.path()), ["check.py"]);
}

// R10.9
#[test]
fn every_file_under_hooks_is_hashed_and_nothing_else() {
    let beside = [
        ("hooks/check.sh", ". hooks/lib/rules.sh; python3 tools/judge.py"),
        ("hooks/lib/rules.sh", ""),
        ("hooks/data.txt", ""),
        ("hooks/.hidden", ""),
        ("hooks/check.sh~", ""),
        ("tools/judge.py", ""),
        ("Makefile", ""),
        ("helper.py", ""),
    ];
    let folder = profile(&hook(r#""argv": ["hooks/check.sh"]"#), &beside);
    let under_hooks = [
        "hooks/.hidden",
        "hooks/check.sh",
        "hooks/check.sh~",
        "hooks/data.txt",
        "hooks/lib/rules.sh",
    ];
    assert_eq!(hashed(folder.path()), under_hooks);
    let trusted = fingerprint(folder.path());
    for free in ["tools/judge.py", "tools/new.py", "Makefile", "seen.log", "os.py"] {
        write(folder.path(), free, "changed\n");
        assert_eq!(trusted.diff(&fingerprint(folder.path())), [], "{free}");
    }
    write(folder.path(), "hooks/lib/new.sh", "");
    let changes = trusted.diff(&fingerprint(folder.path()));
    assert_eq!(
        (changes[0].what.as_str(), changes[0].kind),
        ("hooks/lib/new.sh", ChangeKind::Added)
    );
}

// R10.9: the file need not be there when the profile is read.
#[test]
fn a_named_file_that_comes_later_shows() {
    let folder = profile(&hook(r#""argv": ["python3", "check.py"]"#), &[]);
    let loaded = crate::load(folder.path()).unwrap();
    let trusted = Fingerprint::of(&loaded).unwrap();
    write(folder.path(), "check.py", "evil()");
    let changes = trusted.diff(&Fingerprint::of(&loaded).unwrap());
    assert_eq!((changes[0].what.as_str(), changes[0].kind), ("check.py", ChangeKind::Added));
}

// R10.9
#[test]
fn a_link_is_hashed_by_the_bytes_it_leads_to() {
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "python3", "as it was\n");
    write(elsewhere.path(), "lib/rules.py", "as it was\n");
    let agent = hook(r#""argv": [".venv/bin/python", "hooks/guard.py"]"#);
    let folder = profile(&agent, &[("hooks/guard.py", ""), ("lib/far.py", "as it was\n")]);
    let dir = folder.path();
    std::fs::create_dir_all(dir.join(".venv/bin")).unwrap();
    let link = |to: &Path, at: &str| symlink(to, dir.join(at)).unwrap();
    link(&elsewhere.path().join("python3"), ".venv/bin/python");
    link(Path::new("../lib/far.py"), "hooks/near.py");
    link(&elsewhere.path().join("lib"), "hooks/out");
    link(Path::new("."), "hooks/loop");
    link(Path::new("somebody@somewhere.123"), "hooks/.#guard.py");
    assert_eq!(
        hashed(dir),
        [".venv/bin/python", "hooks/guard.py", "hooks/near.py", "hooks/out/rules.py"]
    );
    let trusted = fingerprint(dir);
    for (place, file, shown) in [
        (dir, "lib/far.py", "hooks/near.py"),
        (elsewhere.path(), "python3", ".venv/bin/python"),
        (elsewhere.path(), "lib/rules.py", "hooks/out/rules.py"),
    ] {
        write(place, file, "as it is now\n");
        let changes = trusted.diff(&fingerprint(dir));
        assert_eq!((changes[0].what.as_str(), changes.len()), (shown, 1));
        write(place, file, "as it was\n");
    }
    write(dir, "hooks/other.py", "");
    std::fs::remove_file(dir.join("hooks/near.py")).unwrap();
    link(Path::new("other.py"), "hooks/near.py");
    let changes = trusted.diff(&fingerprint(dir));
    assert!(changes.iter().any(|change| change.what == "hooks/near.py"), "{changes:?}");
}

#[test]
fn a_pipe_under_hooks_is_an_error_and_not_waited_for() {
    let folder = profile(&hook(r#""argv": ["hooks/a.sh"]"#), &[("hooks/a.sh", "")]);
    let pipe = folder.path().join("hooks/pipe");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let profile = crate::load(folder.path()).unwrap();
    let error = Fingerprint::of(&profile).unwrap_err().to_string();
    assert!(error.starts_with("`hooks/pipe` cannot be read"), "{error}");
}

#[test]
fn what_was_read_once_is_read_again_when_it_changed() {
    let folder = profile(&hook(r#""argv": ["sh", "hooks/a.sh"]"#), &[("hooks/a.sh", "exit 0\n")]);
    let profile = crate::load(folder.path()).unwrap();
    let first = Fingerprint::of(&profile).unwrap();
    let script = folder.path().join("hooks/a.sh");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for text in ["exit 1\n", "exit 2\n", "exit 3\n"] {
        // The size is the same, and so is the date that anybody can set.
        std::fs::write(&script, text).unwrap();
        std::fs::File::options().write(true).open(&script).unwrap().set_modified(long_ago).unwrap();
        let now = Fingerprint::of(&profile).unwrap();
        assert_eq!(first.diff(&now).len(), 1);
        assert_eq!(now.scripts["hooks/a.sh"], content_hash(text.as_bytes()));
    }
}

#[test]
fn a_change_at_the_end_of_a_large_file_shows() {
    let folder = profile(&hook(r#""argv": ["hooks/a"]"#), &[("hooks/a", "")]);
    let mut large = vec![b'x'; 3 * 1024 * 1024];
    std::fs::write(folder.path().join("hooks/a"), &large).unwrap();
    let trusted = fingerprint(folder.path());
    *large.last_mut().unwrap() = b'y';
    std::fs::write(folder.path().join("hooks/a"), &large).unwrap();
    assert_eq!(trusted.diff(&fingerprint(folder.path()))[0].what, "hooks/a");
}

#[test]
fn a_hooks_folder_with_too_many_files_cannot_be_trusted() {
    let folder = profile(&hook(r#""argv": ["hooks/check.sh"]"#), &[("hooks/check.sh", "")]);
    for number in 0..MOST_FILES {
        std::fs::File::create(folder.path().join(format!("hooks/{number}.txt"))).unwrap();
    }
    let profile = crate::load(folder.path()).unwrap();
    let error = Fingerprint::of(&profile).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("`hooks/` has more than 50000 files"), "{told}");
}

#[test]
fn a_file_that_python_compiled_shows_when_it_comes_and_not_when_it_goes() {
    let folder = profile(&hook(r#""argv": ["python3", "hooks/a.py"]"#), &[("hooks/a.py", "")]);
    let dir = folder.path();
    let clean = fingerprint(dir);
    write(dir, "hooks/__pycache__/a.cpython-312.pyc", "x");
    let littered = fingerprint(dir);
    let changes = clean.diff(&littered);
    assert_eq!(changes[0].what, "hooks/__pycache__/a.cpython-312.pyc");
    assert_eq!(
        changes[0].advice().unwrap(),
        "Python would run it in place of the source, and it cannot be reviewed: remove the folder `hooks/__pycache__`"
    );
    assert_eq!(littered.diff(&clean), [], "the source is hashed itself");
    write(dir, "hooks/__pycache__/a.cpython-312.pyc", "y");
    assert_eq!(littered.diff(&fingerprint(dir))[0].kind, ChangeKind::Changed);
    write(dir, "hooks/a.py~", "");
    let changes = littered.diff(&fingerprint(dir));
    assert!(changes.iter().any(|change| change.what == "hooks/a.py~"), "{changes:?}");
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

// R10.6
#[test]
fn no_event_is_saved_to_a_file_that_a_hook_names_or_under_hooks() {
    for (path, found) in [
        ("etc/c.txt", "is a script that a hook runs"),
        ("hooks/events.jsonl", "lies in `hooks/`, among the scripts"),
        ("Hooks/x/events.jsonl", "lies in `hooks/`, among the scripts"),
    ] {
        let agent = format!(
            r#"{{ "hooks": {{ "onToolCall": [{{ "action": "command", "argv": ["sh", "./etc/c.txt"] }},
            {{ "action": "save_json", "path": "{path}" }}] }} }}"#
        );
        let folder = profile(&agent, &[]);
        for _ in 0..2 {
            let error = crate::load(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&format!("`{path}` {found}")), "{error}");
            write(folder.path(), "etc/c.txt", "");
        }
    }
}

// R10.6: the records of trust are there.
#[test]
fn no_event_is_saved_among_the_operators_data() {
    for (data, path) in [
        ("data", "data/trust.json"),
        ("data", "./data//x.jsonl"),
        ("data", "data/more/events.jsonl"),
        ("data", "link/events.jsonl"),
        ("", "trust.json"),
        ("", "webhooks/x.jsonl"),
    ] {
        let agent = format!(
            r#"{{ "hooks": {{ "onToolCall": [{{ "action": "save_json", "path": "{path}" }}] }} }}"#
        );
        let folder = profile(&agent, &[]);
        std::fs::create_dir_all(folder.path().join("data")).unwrap();
        symlink("data", folder.path().join("link")).unwrap();
        let data = folder.path().join(data);
        let bounds = Bounds { data: Some(&data), ..Bounds::default() };
        let error = crate::load_within(folder.path(), bounds).unwrap_err().to_string();
        assert!(error.contains("the operator's data folder"), "{path}: {error}");
    }
    let agent = r#"{ "hooks": { "onToolCall": [{ "action": "save_json", "path": "logs/events.jsonl" }] } }"#;
    let folder = profile(agent, &[]);
    for data in ["data", ""] {
        let data = folder.path().join(data);
        let bounds = Bounds { data: Some(&data), ..Bounds::default() };
        crate::load_within(folder.path(), bounds).unwrap();
    }
}
