//! What scripts load without a command naming it: installed modules, and files of any kind (R10.9).

use crate::support::{fingerprint, hook, profile, write};
use pintle_policy::Profile;
use pintle_policy::profile::Bounds;
use std::path::Path;

/// Whether a change of that file shows.
fn counts(dir: &Path, file: &str) -> bool {
    let trusted = fingerprint(dir);
    let was = std::fs::read(dir.join(file)).ok();
    write(dir, file, "changed");
    let changes = trusted.diff(&fingerprint(dir));
    match was {
        Some(bytes) => std::fs::write(dir.join(file), bytes).unwrap(),
        None => std::fs::remove_file(dir.join(file)).unwrap(),
    }
    changes.iter().any(|change| change.what == file)
}

const DEPENDENCIES: [&str; 5] = [
    "node_modules/@mcp/sdk/dist/esm/stdio.js",
    "node_modules/dep/main.cjs",
    "node_modules/dep/package.json",
    "node_modules/dep/build/addon.node",
    "node_modules/dep/lib/far.mjs",
];

// R10.9
#[test]
fn all_that_is_installed_for_node_on_the_way_up_counts() {
    let server = |file: &str| {
        format!(
            r#"{{ "mcpServers": {{ "x": {{ "command": "node", "args": ["{file}", "stdio"] }} }} }}"#
        )
    };
    let installed = "node_modules/@mcp/server/dist/index.js";
    for (agent, script, text) in [
        (server(installed), installed, "import \"@mcp/sdk\""),
        (hook(r#""argv": ["node", "hooks/j.js"]"#), "hooks/j.js", "require(\"dep\")"),
        (hook(r#""argv": ["node", "hooks/judge"]"#), "hooks/judge", "require(\"dep\")"),
        (hook(r#""argv": ["hooks/judge"]"#), "hooks/judge", "#!/usr/bin/env node\n"),
        (hook(r#""argv": ["sh", "hooks/j.sh"]"#), "hooks/j.sh", "node -e 'require(\"dep\")'"),
        (hook(r#""argv": ["sh", "hooks/j.sh"]"#), "hooks/j.sh", "node_modules/dep/main.cjs x"),
        (hook(r#""argv": ["hooks/deep/er/j.mjs"]"#), "hooks/deep/er/j.mjs", ""),
    ] {
        let folder = profile(&agent, &[(script, text)]);
        for file in DEPENDENCIES {
            write(folder.path(), file, "as it was");
        }
        write(folder.path(), "src/main.js", "");
        for file in DEPENDENCIES.iter().chain(&["node_modules/late/index.js"]) {
            assert!(counts(folder.path(), file), "{script}: {text}: {file}");
        }
        assert!(!counts(folder.path(), "src/main.js"), "{script}: the agent may work there");
    }
    let folder = profile(
        &hook(r#""argv": ["node", "app/hooks/j.js"]"#),
        &[("app/hooks/j.js", ""), ("app/node_modules/a/x.cjs", ""), ("app/package.json", "{}")],
    );
    for file in ["app/node_modules/a/x.cjs", "node_modules/a/x.cjs", "app/package.json"] {
        assert!(counts(folder.path(), file), "{file}");
    }
    let folder =
        profile(&hook(r#""argv": ["sh", "hooks/c.sh"]"#), &[("hooks/c.sh", "exit 0 # no\n")]);
    assert!(!counts(folder.path(), "node_modules/a/x.js"), "nothing starts Node");
}

#[test]
fn an_environment_of_python_counts_where_its_interpreter_is_started() {
    for place in [".venv", "tools/env"] {
        let python = format!("{place}/bin/python");
        let module = format!("{place}/lib/python3.12/site-packages/dep/rules.py");
        for (agent, text) in [
            (hook(&format!(r#""command": "{python} hooks/j.py""#)), "import dep".to_owned()),
            (
                hook(r#""argv": ["sh", "hooks/j.py"]"#),
                format!("exec \"$PINTLE_PROFILE_DIR/{python}\""),
            ),
        ] {
            let folder = profile(&agent, &[("hooks/j.py", &text), (&module, "as it was")]);
            write(folder.path(), &format!("{place}/pyvenv.cfg"), "home = /usr/bin\n");
            let link = folder.path().join(&python);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            match agent.contains(place) {
                // A hook may start only what lies in the profile: a copy.
                true => std::fs::write(link, "").unwrap(),
                false => std::os::unix::fs::symlink("/usr/bin/env", link).unwrap(),
            }
            assert!(counts(folder.path(), &module), "{place}: {text}");
        }
    }
    let folder = profile(&hook(r#""argv": ["python3", "hooks/j.py"]"#), &[("hooks/j.py", "")]);
    assert!(!counts(folder.path(), ".venv/lib/x.py"), "nothing starts it");
}

// R10.9
#[test]
fn a_file_that_a_script_names_counts_whatever_its_kind() {
    for (says, file) in [
        (". \"$PINTLE_PROFILE_DIR/etc/c.conf\"", "etc/c.conf"),
        (". \"$PINTLE_PROFILE_DIR/lib/common\"", "lib/common"),
        (". ./.env", ".env"),
        (". ./lib/f.inc", "lib/f.inc"),
        ("bash lib/run", "lib/run"),
        ("python3 -c 'exec(open(\"lib/rules.cfg\").read())'", "lib/rules.cfg"),
        ("for f in conf.d/*.conf; do . \"$f\"; done", "conf.d/a.conf"),
        (". lib/rules.txt", "lib/rules.txt"),
        ("echo x > lib/both; . lib/both", "lib/both"),
    ] {
        let folder = profile(
            &hook(r#""argv": ["sh", "hooks/check.sh"]"#),
            &[("hooks/check.sh", says), (file, "\n")],
        );
        assert!(counts(folder.path(), file), "{says}");
        std::fs::remove_file(folder.path().join(file)).unwrap();
        assert!(counts(folder.path(), file), "{says}: a file that comes to be");
    }
    let chain = profile(
        &hook(r#""argv": ["sh", "hooks/check.sh"]"#),
        &[("hooks/check.sh", ". lib/common"), ("lib/common", ". etc/more"), ("etc/more", "")],
    );
    assert!(counts(chain.path(), "etc/more"));
}

#[test]
fn a_list_that_a_script_only_writes_to_does_not_count() {
    for says in [
        "echo x >> seen",
        "echo x >\"$PINTLE_PROFILE_DIR/seen\"",
        "date >>${PINTLE_PROFILE_DIR}/seen",
        "touch seen",
        "date | tee -a seen",
        "open(\"seen\", \"a\").write(x)",
        "open(os.path.join(here, 'seen'), mode='w')",
    ] {
        let folder = profile(
            &hook(r#""argv": ["sh", "hooks/check.sh"]"#),
            &[("hooks/check.sh", says), ("seen", "")],
        );
        assert!(!counts(folder.path(), "seen"), "{says}");
    }
}

#[test]
fn what_a_text_beside_a_script_lists_does_not_count() {
    let folder = profile(
        &hook(r#""argv": ["sh", "hooks/check.sh"]"#),
        &[
            ("hooks/check.sh", "jq . package.json agent.json"),
            ("package.json", r#"{ "files": ["README.md", "src/main.rs"] }"#),
            ("hooks/README.md", "checks src/main.rs"),
            ("src/main.rs", ""),
            ("README.md", ""),
        ],
    );
    assert!(counts(folder.path(), "package.json"));
    assert!(!counts(folder.path(), "src/main.rs") && !counts(folder.path(), "README.md"));
    assert!(!fingerprint(folder.path()).scripts.contains_key("agent.json"));
}

// R10.6
#[test]
fn no_event_is_saved_to_what_a_script_names() {
    let agent = r#"{ "hooks": { "onToolCall": [{ "action": "command", "argv": ["sh", "hooks/check.sh"] },
        { "action": "save_json", "path": "etc/c.txt" }] } }"#;
    let folder = profile(agent, &[("hooks/check.sh", ". \"$PINTLE_PROFILE_DIR/etc/c.txt\"")]);
    for _ in 0..2 {
        let error = Profile::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("`etc/c.txt` is a script that a hook runs"), "{error}");
        write(folder.path(), "etc/c.txt", "");
    }
}

// R10.6: what was trusted stands there.
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
        std::os::unix::fs::symlink("data", folder.path().join("link")).unwrap();
        let data = folder.path().join(data);
        let bounds = Bounds { data: Some(&data), ..Bounds::default() };
        let error = Profile::load_within(folder.path(), bounds).unwrap_err().to_string();
        assert!(error.contains("the operator's data folder"), "{path}: {error}");
    }
    let agent = r#"{ "hooks": { "onToolCall": [{ "action": "save_json", "path": "logs/events.jsonl" }] } }"#;
    let folder = profile(agent, &[]);
    for data in ["data", ""] {
        let data = folder.path().join(data);
        let bounds = Bounds { data: Some(&data), ..Bounds::default() };
        Profile::load_within(folder.path(), bounds).unwrap();
    }
}

// Git rewrites its data with every commit, and runs none of it; what its settings say it does run.
#[test]
fn of_what_git_keeps_only_what_it_runs_counts() {
    let folder =
        profile(&hook(r#""command": "make check""#), &[("Makefile", "check:\n\tgit diff\n")]);
    for data in [
        ".git/HEAD",
        ".git/index",
        ".git/index.lock",
        ".git/objects/ab/cdef",
        ".git/refs/heads/main",
        ".git/logs/HEAD",
        ".git/modules/lib/objects/ab/cdef",
        ".git/worktrees/other/HEAD",
        "lib/.git/index",
    ] {
        assert!(!counts(folder.path(), data), "{data}");
    }
    for run in [
        ".git/config",
        ".git/config.worktree",
        ".git/hooks/pre-commit",
        ".git/hooks/objects/x",
        ".git/info/attributes",
        ".git/modules/lib/config",
        ".git/rebase-merge/git-rebase-todo",
        "objects/x",
        "index",
    ] {
        assert!(counts(folder.path(), run), "{run}");
    }
}

// What is installed is hashed to the last byte, also where no word of it is looked at.
#[test]
fn a_change_at_the_end_of_a_large_installed_file_counts() {
    let agent = hook(r#""argv": ["node", "hooks/j.js"]"#);
    let folder = profile(&agent, &[("hooks/j.js", "require(\"dep\")")]);
    let mut large = vec![b'x'; 3 * 1024 * 1024];
    let path = folder.path().join("node_modules/dep/index.js");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, &large).unwrap();
    let trusted = fingerprint(folder.path());
    *large.last_mut().unwrap() = b'y';
    std::fs::write(&path, &large).unwrap();
    assert_eq!(trusted.diff(&fingerprint(folder.path()))[0].what, "node_modules/dep/index.js");
}
