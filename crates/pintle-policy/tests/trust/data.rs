//! What scripts only look into: it counts as it was trusted, and the project is the agent's (R10.9).

use crate::support::{fingerprint, hook, profile, write};
use pintle_policy::Profile;
use pintle_policy::profile::Bounds;
use pintle_policy::trust::ChangeKind;
use std::path::Path;

fn with_script(says: &str, files: &[&str]) -> tempfile::TempDir {
    let mut all: Vec<(&str, &str)> = files.iter().map(|file| (*file, "as it was\n")).collect();
    all.push(("hooks/c.sh", says));
    profile(&hook(r#""argv": ["sh", "hooks/c.sh"]"#), &all)
}

/// What became of the profile by writing a file.
fn change(says: &str, files: &[&str], changed: &str) -> Option<ChangeKind> {
    let folder = with_script(says, files);
    let trusted = fingerprint(folder.path());
    write(folder.path(), changed, "changed\n");
    let changes = trusted.diff(&fingerprint(folder.path()));
    changes.into_iter().find(|it| it.what == changed).map(|it| it.kind)
}

// A list decides what a gate says.
#[test]
fn a_file_that_a_script_reads_by_its_name_counts_as_it_was_trusted() {
    for says in [
        "grep -qf etc/deny.txt && exit 2",
        "! grep -q \"$x\" \"$PINTLE_PROFILE_DIR/etc/deny.txt\"",
        "while read -r no; do [ \"$no\" != x ] || exit 2; done < etc/deny.txt",
        "n=$(wc -l < etc/deny.txt); [ \"$n\" -lt 3 ]",
        "n=$(grep -c x etc/deny.txt) || exit 2",
    ] {
        let changed = change(says, &["etc/deny.txt"], "etc/deny.txt");
        assert_eq!(changed, Some(ChangeKind::Changed), "{says}");
        assert_eq!(change(says, &[], "etc/deny.txt"), None, "later: {says}");
        let folder = with_script(says, &[]);
        let awaited = Profile::load(folder.path()).unwrap().scripts.awaited;
        let why = awaited.why(Path::new("etc/deny.txt")).unwrap_or_default();
        assert!(why.contains("`hooks/c.sh`"), "the agent has to ask: {says}: {why}");
        assert_eq!(awaited.why(Path::new("etc/other.txt")), None, "{says}");
    }
}

#[test]
fn what_a_script_reads_by_a_pattern_is_the_agents_to_work_on() {
    for says in [
        "for f in src/*.txt; do wc -l \"$f\"; done",
        "grep -rn TODO src/*.txt && exit 1",
        "find src -name '*.txt' | xargs grep -l TODO",
        "find src -name '*.txt' | while read -r f; do head -1 \"$f\"; done",
        "cat src/*.txt | wc -l",
        "find src -name '*.py' | xargs python3 -m py_compile",
        "for f in src/*.sh; do bash -n \"$f\" || exit 1; done",
        "echo 'keep src/a.txt as it is' >&2",
        "cat src/*.txt | awk '{print $1}' | sort | uniq -c",
        "cat src/*.txt | sed 's/a/b/' | jq -R .",
        "cat src/*.txt | python3 -I -c 'import json,sys; print(json.load(sys.stdin))'",
        "cat src/*.txt | perl -ne 'print if /x/'",
        "find src -name '*.txt' | xargs sha256sum | diff - /dev/null",
        "for f in src/*; do cat \"$f\" | wc -l; done",
        "ruff check src; sqlite3 /tmp/x.db 'select 1'",
        "cp -r src \"$d/\"",
    ] {
        for file in ["src/a.txt", "src/b.txt", "src/a.py", "src/a.sh", "src/__pycache__/a.pyc"] {
            let files = ["src/a.txt", "src/a.py", "src/a.sh"];
            assert_eq!(change(says, &files, file), None, "{says}: {file}");
        }
    }
}

// Where what is read may be run, it is no data.
#[test]
fn what_a_script_may_run_counts_also_when_it_comes_later() {
    for says in [
        "cat lib/x.txt | sh",
        "eval \"$(cat lib/x.txt)\"",
        "x=$(cat lib/x.txt); sh -c \"$x\"",
        "grep -v '#' lib/x.txt | python3 -",
        "awk -f lib/x.txt",
        "jq -f lib/x.txt",
        "sed -f lib/x.txt",
        "cat lib/x.txt; . lib/x.txt",
        "for f in lib/*.txt; do . \"$f\"; done",
        "find lib -name '*.txt' -exec sh {} \\;",
        "cat lib/*.txt | awk '{system($0)}'",
        "cat lib/*.txt | awk '{$0 | getline x}'",
        "cat lib/*.txt | sed 's/.*/&/e'",
        "cat lib/*.txt | perl -ne 'system($_)'",
        "cat lib/*.txt | python3 -I -c 'import sys; exec(sys.stdin.read())'",
        "cat lib/*.txt | vim -es",
        "cat lib/*.txt | sort | sqlite3 :memory:",
        "cat lib/*.txt | frob",
        "find lib -name '*.txt' | xargs cat | frob",
        "cat lib/x.txt | sqlite3 :memory:",
        "for f in lib/*.txt; do cat \"$f\" | sqlite3 :memory:; done",
        "awk '{system($0)}' lib/x.txt",
        "sqlite3 :memory: < lib/x.txt",
        "sqlite3 -init lib/x.txt :memory:",
        "[ -f lib/x.txt ] && export $(grep -v '^#' lib/x.txt)",
        "while IFS== read -r k v; do export \"$k=$v\"; done < lib/x.txt; ls",
        "while IFS== read -r k v; do declare -x \"$k=$v\"; done < lib/x.txt; ls",
        "n=$(cat lib/x.txt 2>/dev/null || echo 0); [[ $n -gt 3 ]] || true",
        "read -r n < lib/x.txt; echo $((n + 1))",
        "set -a; . lib/x.txt",
        "set -a; source lib/x.txt; set +a",
    ] {
        let kind = change(says, &["lib/x.txt"], "lib/x.txt");
        assert_eq!(kind, Some(ChangeKind::Changed), "{says}");
        assert_eq!(change(says, &["lib/y"], "lib/x.txt"), Some(ChangeKind::Added), "{says}");
    }
}

// The two sets agree: what would make the profile untrusted is asked about before.
#[test]
fn what_would_count_if_it_came_to_be_is_told_before() {
    for (says, file) in [
        ("[ -f lib/more.sh ] && . lib/more.sh", "lib/more.sh"),
        ("bash lib/run.sh", "lib/run.sh"),
        ("python3 \"$PINTLE_PROFILE_DIR/lib/run.py\"", "lib/run.py"),
        ("frob --config etc/frob.toml", "etc/frob.toml"),
        ("frob lib/", "lib/late.sh"),
        ("make check", "Makefile"),
        ("make -s", "GNUmakefile"),
        ("just lint", "justfile"),
        ("npm run lint", "package.json"),
        ("node hooks/x.js", "package.json"),
        ("node hooks/x.js", "node_modules/zz/index.js"),
        ("cat lib/*.txt | sqlite3 :memory:", "lib/late.txt"),
        ("cat lib/x.sql | sqlite3 :memory:", "lib/x.sql"),
        ("awk -flib/late", "lib/late"),
        ("[ -f .env ] && export $(cat .env)", ".env"),
    ] {
        let kind = change(says, &["lib/y.txt"], file);
        assert_eq!(kind, Some(ChangeKind::Added), "{says}");
        let folder = with_script(says, &["lib/y.txt"]);
        let scripts = Profile::load(folder.path()).unwrap().scripts;
        let is_kept = scripts.places().any(|it| Path::new(file).starts_with(it));
        let is_told = is_kept || scripts.awaited.why(Path::new(file)).is_some();
        assert!(is_told, "{says}: {:?}", scripts.awaited);
    }
}

#[test]
fn a_line_counts_with_what_it_reads_and_not_with_what_comes_later() {
    let agent = hook(r#""command": "! grep -qf etc/deny.txt""#);
    let folder = profile(&agent, &[]);
    let trusted = fingerprint(folder.path());
    let awaited = Profile::load(folder.path()).unwrap().scripts.awaited;
    assert!(awaited.why(Path::new("etc/deny.txt")).is_some(), "{awaited:?}");
    write(folder.path(), "etc/deny.txt", "x");
    assert_eq!(trusted.diff(&fingerprint(folder.path())), []);
    let trusted = fingerprint(folder.path());
    write(folder.path(), "etc/deny.txt", "y");
    assert_eq!(trusted.diff(&fingerprint(folder.path())).len(), 1);
}

// A hook that keeps a log beside itself stays trusted.
#[test]
fn a_log_that_a_script_writes_beside_itself_is_no_part_of_it() {
    for (script, says, log) in [
        ("hooks/c.sh", "date >> hooks/hook.log", "hooks/hook.log"),
        ("hooks/c.sh", "date >> \"$(dirname \"$0\")/hook.log\"", "hooks/hook.log"),
        (
            "hooks/c.sh",
            "L=\"$PINTLE_PROFILE_DIR/hooks/a.jsonl\"; jq -c . >> \"$L\"",
            "hooks/a.jsonl",
        ),
        (
            "hooks/c.py",
            "import re\nfrom pathlib import Path\nP = re.compile('x')\nwith open(Path(__file__).parent / 'audit.log', 'a') as f: f.write('x')",
            "hooks/audit.log",
        ),
        (
            "hooks/c.js",
            "fs.appendFileSync(path.join(__dirname, 'audit.jsonl'), x)",
            "hooks/audit.jsonl",
        ),
    ] {
        let agent = hook(&format!(r#""argv": ["./{script}"]"#));
        let folder = profile(&agent, &[(script, says)]);
        let trusted = fingerprint(folder.path());
        write(folder.path(), log, "a\n");
        assert_eq!(trusted.diff(&fingerprint(folder.path())), [], "{says}");
        let scripts = Profile::load(folder.path()).unwrap().scripts;
        assert!(scripts.kept.contains(log), "the agent has to ask: {says}");
        write(folder.path(), "hooks/other.log", "a\n");
        assert_eq!(trusted.diff(&fingerprint(folder.path())).len(), 1, "{says}");
    }
    let line = profile(
        &hook(r#""command": "sh hooks/c.sh >> hooks/hook.log 2>&1""#),
        &[("hooks/c.sh", "true")],
    );
    let trusted = fingerprint(line.path());
    write(line.path(), "hooks/hook.log", "a\n");
    assert_eq!(trusted.diff(&fingerprint(line.path())), []);
}

#[test]
fn what_a_script_writes_beside_itself_counts_where_something_there_may_load_it() {
    for (script, says, log) in [
        ("hooks/c.sh", "date >> hooks/a.log; . hooks/a.log", "hooks/a.log"),
        ("hooks/c.sh", "date >> hooks/a.log; for f in hooks/*; do . \"$f\"; done", "hooks/a.log"),
        ("hooks/c.sh", "date >> hooks/a.log; cat hooks/* | sh", "hooks/a.log"),
        ("hooks/c.sh", "date >> hooks/a.sh", "hooks/a.sh"),
        ("hooks/c.sh", "date >> hooks/a.txt; awk -f hooks/a.txt", "hooks/a.txt"),
        ("hooks/c.sh", "F=hooks/a.log; date >> \"$F\"; frob --rules \"$F\"", "hooks/a.log"),
        (
            "hooks/c.py",
            "import subprocess as s\nopen('hooks/a.log', 'a')\ns.run(['awk', '-f', 'hooks/a.log'])",
            "hooks/a.log",
        ),
        ("hooks/c.py", "open('hooks/a.log', 'a'); exec(open('hooks/a.log').read())", "hooks/a.log"),
        (
            "hooks/c.py",
            "import os\nopen('hooks/a.log', 'a')\nfor f in os.listdir('hooks'): exec(open('hooks/' + f).read())",
            "hooks/a.log",
        ),
        ("hooks/c.js", "fs.appendFileSync('hooks/a.log', x); require('./a.log')", "hooks/a.log"),
    ] {
        let agent = hook(&format!(r#""argv": ["./{script}"]"#));
        let folder = profile(&agent, &[(script, says), (log, "")]);
        let trusted = fingerprint(folder.path());
        write(folder.path(), log, "a\n");
        assert_eq!(trusted.diff(&fingerprint(folder.path())).len(), 1, "{says}");
    }
}

// A file of its own is no data where the script runs what is in it.
#[test]
fn what_a_script_writes_and_runs_counts() {
    for says in [
        "awk -f cache/c",
        "sed -f cache/c",
        "sed -fcache/c",
        "sqlite3 :memory: < cache/c",
        "sqlite3 -init cache/c :memory:",
        "sqlite3 :memory: '.read cache/c'",
        "awk '{system($0)}' cache/c",
        "awk '{system($0)}' < cache/c",
        "cat cache/c | awk '{system($0)}'",
        "cat cache/c | sqlite3 :memory:",
        "while read -r c; do $c; done < cache/c",
        "f=cache/c; while read -r c; do eval \"$c\"; done < $f",
        "f=\"$PINTLE_PROFILE_DIR/cache/c\"; while read -r c; do $c; done < \"$f\"",
        "c=$(cat cache/c); eval \"$c\"",
        "c=$(head -1 cache/c); $c",
        "sh < cache/c",
        "while read -r l; do export \"$l\"; done < cache/c; ls",
    ] {
        let says = format!("date >> cache/c\n{says}");
        assert_eq!(change(&says, &["cache/c"], "cache/c"), Some(ChangeKind::Changed), "{says}");
    }
    for says in [
        "n=$(cat cache/c); echo $((n + 1)) > cache/c",
        "n=$(tr -dc 0-9 < cache/c); echo $((n + 1)) > cache/c",
        "sqlite3 cache/c 'insert into x values (1)'; touch cache/c",
        "grep -q x cache/c || echo x >> cache/c",
        "while read -r l; do [ \"$l\" != x ] || exit 2; done < cache/c; date >> cache/c",
        "tail -n 9 cache/c | awk '{print $1}'; date >> cache/c",
        "jq -c . >> cache/c; sed -n 1p cache/c",
        "last=$(tail -1 cache/c); [ \"$last\" = x ] && exit 0; date >> cache/c",
    ] {
        assert_eq!(change(says, &["cache/c"], "cache/c"), None, "{says}");
        assert_eq!(change(says, &[], "cache/c"), None, "{says}");
    }
}

#[test]
fn what_a_variable_for_hooks_names_is_told_before_it_is_there() {
    let agent = hook(r#""argv": ["sh", "hooks/c.sh"]"#);
    let folder = profile(&agent, &[("hooks/c.sh", "python3 -c 1")]);
    let hook_env = [("PYTHONPATH".to_owned(), format!("{}/lib2", folder.path().display()))].into();
    let bounds = Bounds { hook_env: Some(&hook_env), ..Bounds::default() };
    let scripts = Profile::load_within(folder.path(), bounds).unwrap().scripts;
    assert!(scripts.awaited.why(Path::new("lib2/sitecustomize.py")).is_some());
    assert!(scripts.awaited.why(Path::new("lib2/a/b.py")).is_some());
    assert_eq!(scripts.awaited.why(Path::new("lib3/b.py")), None);
}

#[test]
fn a_script_that_checks_others_or_calls_its_own_functions_runs_no_other_file() {
    for says in [
        "for f in $files; do node --check \"$f\"; done",
        "node --check \"$file\" || exit 2",
        "a() { grep -q x; }\nb() { true; }\nchecks=(a b)\nfor c in \"${checks[@]}\"; do \"$c\" || exit 2; done",
        "function a {\ntrue\n}\nfor c in a; do $c; done",
    ] {
        let folder = with_script(says, &["src/a.js"]);
        let scripts = Profile::load(folder.path()).unwrap().scripts;
        assert_eq!(scripts.unnamed, None, "{says}");
        assert!(!scripts.files.contains("src/a.js"), "{says}");
    }
}

#[test]
fn a_name_that_may_be_something_else_than_a_function_of_the_script_may_be_any_file() {
    for says in [
        "a() { true; }\nfor c in a src/x; do \"$c\"; done",
        "a() { true; }\nchecks=(a $x)\nfor c in \"${checks[@]}\"; do \"$c\"; done",
        "a() { true; }\nchecks=(a)\nchecks+=($(cat))\nfor c in \"${checks[@]}\"; do \"$c\"; done",
        "a() { true; }\nchecks=(a)\nchecks[1]=$x\nfor c in \"${checks[@]}\"; do \"$c\"; done",
        "a() { true; }\nfor c in a; do read -r c; \"$c\"; done",
        "a() { true; }\nfor c in a; do c=$x; \"$c\"; done",
        "a() { true; }\nfor c in a; do true; done; for c in $x; do \"$c\"; done",
    ] {
        let folder = with_script(says, &["src/x"]);
        let scripts = Profile::load(folder.path()).unwrap().scripts;
        assert!(scripts.files.contains("src/x"), "{says}");
    }
}

// Arithmetic runs what stands in an index; a counter changes with every run, so it cannot be a part of trust.
#[test]
fn a_script_that_calculates_with_its_own_file_is_warned_about() {
    for says in [
        "n=$(cat state/n); echo $((n + 1)) > state/n",
        "read -r n < state/n; echo $((n + 1)) > state/n",
        "f=\"$PINTLE_PROFILE_DIR/state/n\"; n=$(cat \"$f\"); n=$((n+1)); echo \"$n\" > \"$f\"",
        "n=$(<state/n); ((n++)); echo \"$n\" > state/n",
        "n=$(cat state/n); [[ $n -gt 3 ]] && exit 2; date > state/n",
    ] {
        let folder = with_script(says, &["state/n"]);
        let risks = Profile::load(folder.path()).unwrap().scripts.risks();
        assert!(risks.iter().any(|it| it.contains("tr -dc 0-9 < state/n")), "{says}: {risks:?}");
    }
    for says in [
        "n=$(tr -dc 0-9 < state/n); echo $((n + 1)) > state/n",
        "n=$(wc -l < state/n); echo $((n + 1)) > state/n",
        "n=$(cat etc/n); echo $((n + 1))",
        "cat state/n; n=1; echo $((n + 1)) > state/n",
    ] {
        let folder = with_script(says, &["state/n"]);
        let risks = Profile::load(folder.path()).unwrap().scripts.risks();
        assert_eq!(risks, Vec::<String>::new(), "{says}");
    }
}
