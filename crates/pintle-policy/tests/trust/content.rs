//! What changed since a profile was trusted, and which files a command makes count (R10.9).

use crate::support::{fingerprint, hook, profile, write};
use pintle_policy::profile::MOST_FILES;
use pintle_policy::trust::{ChangeKind, Fingerprint, TrustLock, content_hash};
use pintle_policy::{Contents, Profile};
use std::path::Path;

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
    write(dir, "agent.json", &hook("\"argv\": [\"sh\", \"hooks/a.sh\"]"));
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
    assert_eq!(kinds(&lock), [("hooks/a.sh".into(), ChangeKind::Changed)]);
    write(dir, "agent.json", &hook("\"command\": \"env X=1 sh -c './more/b.sh | cat'\""));
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
    write(dir, "agent.json", &hook(command));
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
    let beside = ["guard.py", "helper.py", "notes.txt", "json/__init__.py"];
    assert_eq!(shows(r#""argv": ["python3", "guard.py"]"#, &beside), beside);
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
    let installed = ["hooks/guard.js", "hooks/node_modules/x/index.js", "hooks/.git/config"];
    assert_eq!(shows(r#""argv": ["node", "hooks/guard.js"]"#, &installed), installed);
    let compiled = ["hooks/guard.py", "hooks/__pycache__/helper.pyc", "hooks/.venv/lib/x.py"];
    assert_eq!(shows(r#""argv": ["hooks/guard.py"]"#, &compiled), compiled);
}

// R10.9: what a command runs without naming it could be any file.
#[test]
fn of_a_command_that_does_not_name_what_it_runs_every_file_counts() {
    let files = ["Makefile", "hooks/judge.py", "notes.txt", "package.json"];
    for command in [
        r#""command": "make check""#,
        r#""argv": ["npm", "run", "check"]"#,
        r#""argv": ["python3", "-m", "hooks.judge"]"#,
        r#""argv": ["python3", "-m", "hooks.judge", "hooks/judge.py"]"#,
        r#""argv": ["python3", "-m", "hooks"]"#,
        r#""argv": ["python3", "-Bm", "hooks"]"#,
        r#""argv": ["python3", "-c", "import hooks.judge"]"#,
        r#""argv": ["env", "X=1", "make", "check"]"#,
        r#""argv": ["sh", "-c", "true && make check"]"#,
        r#""argv": ["timeout", "5", "make"]"#,
        r#""command": "PYTHONPATH=. python3 hooks/judge.py""#,
        r#""command": "export PYTHONPATH=.; python3 hooks/judge.py""#,
        r#""command": "python3 - < hooks/judge.py""#,
        r#""argv": ["awk", "-fhooks/judge.py"]"#,
        r#""command": "find . -name 'judge*' -exec python3 {} +""#,
        r#""command": "jq -e 'include \"notes\"; .ok'""#,
    ] {
        assert_eq!(shows(command, &files), files, "{command}");
    }
}

#[test]
fn an_option_and_what_is_read_name_files_too() {
    let files = ["data/words", "rules/judge.awk", "more/input.txt", "notes.txt"];
    let command = r#""command": "awk -frules/judge.awk data/words < more/input.txt""#;
    assert_eq!(shows(command, &files), &files[..3]);
    let command = r#""argv": ["jq", "-ef", "rules/judge.awk"]"#;
    assert_eq!(shows(command, &files), [files[1]]);
    let handed_on = r#""command": "cp rules/judge.awk /nowhere/x && cat notes.txt""#;
    assert_eq!(shows(handed_on, &files), [files[1], files[3]]);
    let server =
        r#""mcpServers": { "x": { "command": "sh", "args": ["-c", "python3 rules/judge.awk"] } }"#;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "rules/judge.awk", "");
    write(folder.path(), "agent.json", &format!("{{ {server} }}"));
    assert!(fingerprint(folder.path()).scripts.contains_key("rules/judge.awk"));
    let server = r#""mcpServers": { "x": { "command": "node", "args": ["a.js"], "env": { "NODE_PATH": "rules" } } }"#;
    write(folder.path(), "agent.json", &format!("{{ {server} }}"));
    write(folder.path(), "a.js", "");
    assert!(fingerprint(folder.path()).scripts.contains_key("rules/judge.awk"));
}

#[test]
fn a_command_that_runs_nothing_but_itself_makes_no_file_count() {
    let files = ["Makefile", "hooks/judge.py", "notes.txt", "seen"];
    for command in [
        r#""argv": ["true"]"#,
        r#""command": "env > seen""#,
        r#""command": "cat >> seen; exit 2""#,
        r#""command": "while [ -e notes.txt ]; do sleep 0.1; done""#,
        r#""command": "cp /nowhere/x seen && cat seen""#,
        r#""command": "jq -e '.toolInput.path | startswith(\"/srv\") | not'""#,
        r#""argv": ["sh", "-c", "echo no >&2; exit 1"]"#,
        r#""command": "curl -sf http://127.0.0.1:9/ -d @-""#,
    ] {
        assert!(shows(command, &files).is_empty(), "{command}");
    }
}

/// Whether a profile with these files shows a change of `changed`, when its hook is `sh hooks/check.sh`.
fn reaches(files: &[(&str, &str)], changed: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        write(folder.path(), file, text);
    }
    write(folder.path(), "agent.json", &hook(r#""argv": ["sh", "hooks/check.sh"]"#));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    write(folder.path(), changed, "changed\n");
    let changes = lock.changes("p", &fingerprint(folder.path()));
    changes.iter().any(|change| change.what == changed)
}

// R10.9: a script that runs a script.
#[test]
fn a_program_that_a_script_speaks_of_is_trusted_or_not_with_it() {
    for (says, reached) in [
        (". lib/common.sh", "lib/common.sh"),
        (". \"$PINTLE_PROFILE_DIR/lib/common.sh\"", "lib/common.sh"),
        (". \"$(dirname \"$0\")/../lib/common.sh\"", "lib/common.sh"),
        ("exec python3 tools/judge.py \"$@\"", "tools/judge.py"),
        ("exec tools/judge", "tools/judge.sh"),
        ("for f in \"$PINTLE_PROFILE_DIR\"/rules.d/*.sh; do . \"$f\"; done", "rules.d/a.sh"),
        ("cd lib && . ./rules.sh", "lib/rules.sh"),
        ("exec make -s check", "Makefile"),
    ] {
        assert!(reaches(&[("hooks/check.sh", says), (reached, "as it was")], reached), "{says}");
    }
    let chain = [
        ("hooks/check.sh", "python3 tools/judge.py"),
        ("tools/judge.py", "import helper\nfrom more.rules import all"),
        ("tools/helper.py", "x = 1"),
        ("tools/more/rules.py", "all = []"),
        ("tools/other.py", "x = 1"),
        ("src/main.py", "print(1)"),
    ];
    assert!(reaches(&chain, "tools/helper.py"));
    assert!(reaches(&chain, "tools/more/rules.py"));
    assert!(reaches(&chain, "tools/other.py"), "Python looks there first");
    let package = [
        ("hooks/check.sh", "python3 tools/judge.py; node tools/judge.js"),
        ("tools/judge.py", "sys.path.insert(0, root)\nfrom lib import rules\nimport more"),
        ("tools/judge.js", "require('./far'); require('mm')"),
        ("lib/rules.py", ""),
        ("more/__init__.py", ""),
        ("tools/far/index.js", ""),
        ("node_modules/mm/index.js", ""),
    ];
    for (file, _) in &package {
        assert!(reaches(&package, file), "{file}");
    }
    assert!(!reaches(&chain, "src/main.py"), "the agent may work there");
    assert!(reaches(&[("hooks/check.sh", "[ -f lib/more.sh ] && . lib/more.sh")], "lib/more.sh"));
}

#[test]
fn a_script_outside_the_folder_counts_and_what_the_system_brings_does_not() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "judge.py", "as it was\n");
    let script = elsewhere.path().join("judge.py").display().to_string();
    write(folder.path(), "agent.json", &hook(&format!(r#""argv": ["sh", "{script}"]"#)));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    assert_eq!(fingerprint(folder.path()).scripts.keys().collect::<Vec<_>>(), [&script]);
    write(elsewhere.path(), "judge.py", "as it is now\n");
    write(elsewhere.path(), "rules.py", "which it may import\n");
    assert_eq!(lock.changes("p", &fingerprint(folder.path())).len(), 2);
    let system = hook(r#""command": "sh /usr/bin/ldd""#);
    write(folder.path(), "agent.json", &system);
    assert!(fingerprint(folder.path()).scripts.is_empty());
}

#[test]
fn links_count_as_what_they_say_and_what_they_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    write(dir, "hooks/guard.py", "");
    write(dir, "lib/far.py", "as it was\n");
    std::os::unix::fs::symlink("../lib/far.py", dir.join("hooks/near.py")).unwrap();
    std::fs::create_dir_all(dir.join("hooks/.venv/bin")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", dir.join("hooks/.venv/bin/python")).unwrap();
    write(dir, "agent.json", &hook(r#""argv": ["hooks/guard.py"]"#));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(dir));
    write(dir, "lib/far.py", "as it is now\n");
    assert_eq!(lock.changes("p", &fingerprint(dir))[0].what, "hooks/near.py");
    let trusts = |lock: &mut TrustLock| lock.trust("p", fingerprint(dir));
    let changes = |lock: &TrustLock| lock.changes("p", &fingerprint(dir));
    // As a virtual environment and an installer of modules make them; and as an editor does.
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "python3", "as it was\n");
    let link = |to: &Path, at: &str| std::os::unix::fs::symlink(to, dir.join(at)).unwrap();
    link(&elsewhere.path().join("python3"), "hooks/.venv/bin/python3");
    link(Path::new("../lib"), "hooks/lib");
    link(Path::new("."), "hooks/loop");
    link(Path::new("somebody@somewhere.123"), "hooks/.#guard.py");
    trusts(&mut lock);
    assert!(changes(&lock).is_empty());
    write(dir, "lib/more.py", "new\n");
    assert!(changes(&lock).iter().any(|change| change.what == "lib/more.py"));
    trusts(&mut lock);
    write(elsewhere.path(), "python3", "as it is now\n");
    assert_eq!(changes(&lock)[0].what, "hooks/.venv/bin/python3");
    link(elsewhere.path(), "hooks/out");
    let profile = Profile::load(dir).unwrap();
    let error = Fingerprint::of(&profile, &mut Contents::default()).unwrap_err();
    assert!(error.to_string().starts_with("`hooks/out` cannot be read"), "{error}");
}

#[test]
fn what_was_read_once_is_read_again_when_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "hooks/a.sh", "exit 0\n");
    write(folder.path(), "agent.json", &hook(r#""argv": ["sh", "hooks/a.sh"]"#));
    let profile = Profile::load(folder.path()).unwrap();
    let mut contents = Contents::default();
    let first = Fingerprint::of(&profile, &mut contents).unwrap();
    let script = folder.path().join("hooks/a.sh");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for text in ["exit 1\n", "exit 2\n", "exit 3\n"] {
        // The size is the same, and so is the date that anybody can set.
        std::fs::write(&script, text).unwrap();
        std::fs::File::options().write(true).open(&script).unwrap().set_modified(long_ago).unwrap();
        let now = Fingerprint::of(&profile, &mut contents).unwrap();
        assert_eq!(first.diff(&now).len(), 1);
        assert_eq!(now.scripts["hooks/a.sh"], content_hash(text.as_bytes()));
    }
}

#[test]
fn a_file_that_a_script_could_load_and_nobody_has_seen_shows() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "guard.py", "import os\n");
    write(folder.path(), "agent.json", &hook(r#""argv": ["python3", "guard.py"]"#));
    let mut lock = TrustLock::default();
    lock.trust("p", fingerprint(folder.path()));
    write(folder.path(), "os.py", "evil()\n");
    let changes = lock.changes("p", &fingerprint(folder.path()));
    assert_eq!((changes[0].what.as_str(), changes[0].kind), ("os.py", ChangeKind::Added));
}

#[test]
fn a_folder_with_more_than_anybody_looks_at_cannot_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "hooks/check.sh", "");
    for number in 0..MOST_FILES {
        std::fs::File::create(folder.path().join(format!("hooks/{number}.txt"))).unwrap();
    }
    write(folder.path(), "agent.json", &hook(r#""command": "cd hooks && sh check.sh""#));
    let profile = Profile::load(folder.path()).unwrap();
    let error = Fingerprint::of(&profile, &mut Contents::default()).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("`hooks` has more than 50000 files"), "{told}");
    assert!(told.contains("in a folder of their own"), "{told}");
}

#[test]
fn the_lock_file_is_read_back_as_written_and_a_damaged_one_trusts_nothing() {
    let mut lock = TrustLock::default();
    lock.trust(
        "/p",
        Fingerprint {
            definition: content_hash(b""),
            scripts: [("a".into(), content_hash(b"x"))].into(),
            read: [].into(),
        },
    );
    assert_eq!(TrustLock::parse(&lock.to_text()).unwrap(), lock);
    for damaged in
        ["", "{}", "{\"version\":2,\"profiles\":{}}", "{\"version\":1,\"profiles\":{},\"more\":1}"]
    {
        assert!(TrustLock::parse(damaged).is_err(), "{damaged}");
    }
}

// An environment of Python is a folder with a link to the interpreter.
#[test]
fn a_hook_may_be_run_by_the_python_of_an_environment_in_the_profile() {
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), "python3", "an interpreter");
    for target in ["/usr/bin/env".into(), elsewhere.path().join("python3")] {
        let agent = hook(r#""argv": [".venv/bin/python", "hooks/judge.py"]"#);
        let files = [("hooks/judge.py", "x = 1"), (".venv/pyvenv.cfg", ""), (".venv/lib/m.py", "")];
        let folder = profile(&agent, &files);
        std::fs::create_dir(folder.path().join(".venv/bin")).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(".venv/bin/python")).unwrap();
        let before = fingerprint(folder.path());
        for counts in ["hooks/judge.py", ".venv/bin/python", ".venv/lib/m.py"] {
            assert!(before.scripts.contains_key(counts), "{counts}: {before:?}");
        }
        std::fs::remove_file(folder.path().join(".venv/bin/python")).unwrap();
        std::os::unix::fs::symlink("/usr/bin/true", folder.path().join(".venv/bin/python"))
            .unwrap();
        assert_ne!(fingerprint(folder.path()).scripts, before.scripts);
    }
    // No other link leads out.
    let folder = profile(&hook(r#""argv": ["bin/python"]"#), &[("bin/a", "")]);
    std::os::unix::fs::symlink("/usr/bin/env", folder.path().join("bin/python")).unwrap();
    let told = pintle_policy::Profile::load(folder.path()).unwrap_err().to_string();
    assert!(told.contains("leads out of the profile's folder"), "{told}");
}

#[test]
fn a_link_to_a_folder_out_there_is_called_one() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = profile(&hook(r#""argv": ["hooks/c.sh"]"#), &[("hooks/c.sh", "true")]);
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("hooks/d")).unwrap();
    let profile = pintle_policy::Profile::load(folder.path()).unwrap();
    let told = pintle_policy::trust::Fingerprint::of(&profile, &mut Default::default());
    let told = told.unwrap_err().to_string();
    assert!(told.contains("`hooks/d`") && told.contains("a link to a folder outside"), "{told}");
}
