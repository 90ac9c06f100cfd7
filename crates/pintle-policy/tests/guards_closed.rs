//! A program that nobody knows may do with its words what a rule denies; what is known to be harmless passes (R11.1).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::{Denial, Guard, GuardKind, Reach};
use serde_json::{Value, json};

/// `denied`: a rule and a line that it stops. `harmless`: lines that none of the usual rules stops.
const TABLE: &str = include_str!("guarded.json");

fn judge(allow: &[&str], deny: &[&str], line: &str) -> Option<Denial> {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    for name in ["src", "sub", "build"] {
        std::fs::create_dir(work.join(name)).unwrap();
    }
    let own = |rules: &[&str]| rules.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
    let guard = Guard::new("*", GuardKind::Shell, &own(allow), &own(deny), "").unwrap();
    let input = json!({ "command": line });
    guard.judge("terminal", &input, &Reach::of(&input, &work))
}

fn table() -> Value {
    serde_json::from_str(TABLE).unwrap()
}

// R11.1
#[test]
fn what_a_rule_denies_is_denied_also_to_programs_that_nobody_knows() {
    let table = table();
    let rows = table["denied"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let passed = rows.iter().filter(|row| judge(&[], &[&text(&row[0])], &text(&row[1])).is_none());
    let passed: Vec<&Value> = passed.collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert!(rows.len() > 120);
}

// R11.1
#[test]
fn what_is_known_to_be_harmless_passes_rules_about_something_else() {
    let rules = ["sudo *", "rm -rf *", "git push *", "npm publish", "make deploy", "> .env"];
    let table = table();
    let rows = table["harmless"].as_array().unwrap();
    let judged = rows.iter().filter_map(|line| judge(&[], &rules, line.as_str().unwrap()));
    let refused: Vec<String> = judged.map(|denial| denial.reason).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(rows.len() > 130);
}

// R11.1
#[test]
fn words_that_only_look_like_a_denied_command_pass() {
    for line in [
        "echo rm x",
        "grep rm file",
        "grep -rn 'rm -rf' docs",
        "git rm x",
        "git commit -m \"rm x\"",
        "gh pr create --body \"git push and rm x\"",
        "docker rm web",
        "docker image rm x",
        "npm rm left-pad",
        "aws s3 rm s3://a/b",
        "man rm",
        "which rm",
        "type rm",
        "command -v rm",
        "pytest tests/rm",
        "pytest -k rm",
        "cat rm",
        "printf '%s\\n' 'rm x' > notes.txt",
        "cat > README.md <<'E'\nRun `rm -rf build`\nE\n./build.sh",
        "echo 'rm x'; ./run.sh",
        "python3 -c \"print('rm x')\"",
        "tokei src/rm",
        "strace -f ./app 2>&1 | head",
        "rsync -e 'ssh -p 2222' -av src/ h:dst/",
    ] {
        let denial = judge(&[], &["rm *", "git push *"], line);
        assert!(denial.is_none(), "{line}: {denial:?}");
    }
}

// R11.1
#[test]
fn a_variable_stops_nothing_that_it_cannot_be() {
    let rows: &[(&str, &str, bool)] = &[
        ("rm -rf *", "rm -f -- \"$f\"", false),
        ("rm -rf *", "rm -f -- $f", false),
        ("rm -rf *", "rm -rf -- \"$f\"", true),
        ("rm -rf *", "rm -f \"./$x\" build/$x", false),
        ("rm -rf *", "rm -f \"$f\"", true),
        ("rm -rf *", "find . -name '*.o' -exec rm -f {} +", false),
        ("rm -rf *", "find . -exec rm -rf {} +", true),
        ("rm -rf *", "for f in *.tmp; do rm -f \"$f\"; done", false),
        ("rm -rf *", "for f in *; do rm -f \"$f\"; done", true),
        ("rm -rf *", "tmp=a; rm -f \"$tmp\"", false),
        ("rm -rf *", "tmp=-r; rm -f \"$tmp\" x", true),
        ("> .env", "echo a > \"tmp_$t.txt\"", false),
        ("> .env", "echo a > tmp_$t.txt", false),
        ("> .env", "echo a > \"$t.env\"", true),
        ("> .env", "echo a > \"${t}nv\"", true),
        ("> .env", "echo a > \"$d/out.txt\"", false),
        ("> .env", "echo a > \"$d/.env\"", true),
        ("> .env", "echo a > \"tmp_$t\"", true),
        ("> .env", "echo a > \"$d/\"", true),
        ("> .env", "for f in .envx; do echo a > \"${f%x}\"; done", true),
        ("> .env", "for f in .envx; do cp a \"${f%x}\"; done", true),
        ("> .env", "for f in a.txt; do mv \"$f\" \"${f%.txt}.md\"; done", false),
        ("> .env", "echo a > \"$(printf '%.4s' .envx)\"", true),
        ("rm *", "x=rmx; foo ${x%x} y", true),
        ("> 3.txt", "echo a > \"$#.txt\"", true),
        ("> .env", "out=build/o.txt; echo a > \"$out\"", false),
        ("> .env", "tmp=$(mktemp); echo a > \"$tmp\"", false),
        ("> /tmp/**", "tmp=$(mktemp); echo a > \"$tmp\"", true),
        ("> config/**", "echo a > \"$d/o.txt\"", true),
        ("cat .env", "cat \"log_$n.txt\"", false),
        ("cat .env", "cat \"$n\"", true),
    ];
    for (rule, line, refused) in rows {
        let denial = judge(&[], &[rule], line);
        assert_eq!(denial.is_some(), *refused, "deny {rule:?}: {line:?} {denial:?}");
    }
}

// R11.1
#[test]
fn a_value_that_the_line_sets_is_judged_in_its_place() {
    let rows: &[(&[&str], &str, bool)] = &[
        (&["echo *", "out=*", "> build/**"], "out=build/o.txt; echo a > \"$out\"", true),
        (&["echo *", "out=*", "> build/**"], "out=../o.txt; echo a > \"$out\"", false),
        (&["rm -f *", "t=*"], "t=a; rm -f \"$t\"", true),
        (&["rm -f *", "t=*"], "t=-f; rm \"$t\" x", true),
        (&["git log *", "v=*"], "v=log; git $v", true),
        (&["git log *", "v=*"], "v=push; git $v", false),
        (&["git log *", "v=*", "read *"], "v=log; read v < x; git $v", false),
        (&["sed *", "n=*"], "n=5; sed -n \"1,${n}p\" f", true),
        (&["sed *"], "sed -n \"1,${n}p\" f", false),
    ];
    for (allow, line, passes) in rows {
        let denial = judge(allow, &[], line);
        assert_eq!(denial.is_none(), *passes, "allow {allow:?}: {line:?} {denial:?}");
    }
}

// R11.1
#[test]
fn what_touches_nothing_needs_no_rule() {
    for line in [
        "cargo test || true",
        "cargo test || exit 1",
        "set -euo pipefail; cargo test",
        "cargo test || exit $?",
        "while true; do cargo test || break; done; wait",
        "if cargo test; then :; else false; fi",
    ] {
        let denial = judge(&["cargo *"], &[], line);
        assert!(denial.is_none(), "{line}: {denial:?}");
    }
    for line in ["set -k; cargo test", "set -- a; cargo test", ": \"${X:=y}\"", ": > x"] {
        assert!(judge(&["cargo *"], &[], line).is_some(), "{line}");
    }
}

// R11.1
#[test]
fn a_refusal_says_which_rule_would_allow_it_and_why_a_word_counts() {
    let why = |allow: &[&str], deny: &[&str], line| judge(allow, deny, line).unwrap().reason;
    for (line, rule) in [
        ("CI=1 npm test", "CI=* npm test *"),
        ("time make", "time *"),
        ("test -d src", "test *"),
        ("export FOO=bar", "export *"),
        ("NAME=x; ls", "NAME=*"),
        ("while read -r l; do ls; done < f", "read *"),
        ("./run.sh a", "./run.sh *"),
        ("ls > out.txt", "> out.txt"),
    ] {
        let reason = why(&["ls"], &[], line);
        let advice = format!("to allow it, write `{rule}` in `allow`");
        assert!(reason.ends_with(&advice), "{line}: {reason}");
        let rules = ["ls", "read *", "make *", "npm *", rule];
        assert!(judge(&rules, &[], line).is_none(), "{line} is not allowed by {rule}");
    }
    assert_eq!(
        why(&[], &["rm *"], "foo rm -rf x"),
        "`foo rm -rf x`, as `foo` may run `rm -rf x`, is denied by the rule `rm *`"
    );
}

// R11.1
#[test]
fn a_long_line_of_programs_that_nobody_knows_is_judged_all_the_same() {
    let texts: String = (0..900).map(|n| format!("foo 'bar {n}' baz;")).collect();
    for line in [
        format!("foo {}", "git ".repeat(8_000)),
        "echo a | ./run.sh b;".repeat(1_500),
        "foo a b;".repeat(4_000),
        texts,
        "x=a; foo \"$x\" $y;".repeat(1_500),
    ] {
        judge(&[], &["git push *", "rm *", "> .env"], &line);
    }
}
