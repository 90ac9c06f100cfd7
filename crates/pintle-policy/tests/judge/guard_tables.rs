//! What rules for commands deny and let through, line by line (R11.1).

use crate::spec;
use pintle_policy::{Denial, Guard, GuardKind, Reach};
use serde_json::{Value, json};

/// `denied`: a rule and a line that it stops. `harmless`: lines that none of the usual rules stops.
const TABLE: &str = include_str!("../guarded.json");

fn judge(allow: &[&str], deny: &[&str], line: &str) -> Option<Denial> {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    for name in ["src", "sub", "build"] {
        std::fs::create_dir(work.join(name)).unwrap();
    }
    let own = |rules: &[&str]| rules.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
    let guard = Guard::new("*", GuardKind::Shell, &own(allow), &own(deny), "").unwrap();
    let input = json!({ "command": line });
    guard.judge(&spec("terminal"), &input, &Reach::of(&spec("terminal"), &input, &work))
}

fn table() -> Value {
    serde_json::from_str(TABLE).unwrap()
}

// R11.1
#[test]
fn what_a_rule_denies_is_denied_wherever_the_line_runs_it() {
    let table = table();
    let rows = table["denied"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let passed = rows.iter().filter(|row| judge(&[], &[&text(&row[0])], &text(&row[1])).is_none());
    let passed: Vec<&Value> = passed.collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert!(rows.len() > 50);
}

// R11.1
#[test]
fn everyday_lines_pass_rules_about_something_else() {
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
        ("> .env", "echo a > \"tmp_$t.txt\"", false),
        ("> .env", "echo a > tmp_$t.txt", false),
        ("> .env", "echo a > \"$t.env\"", true),
        ("> .env", "echo a > \"${t}nv\"", true),
        ("> .env", "echo a > \"$d/out.txt\"", false),
        ("> .env", "echo a > \"$d/.env\"", true),
        ("> .env", "echo a > \"tmp_$t\"", true),
        ("> .env", "echo a > \"$d/\"", true),
        ("> .env", "echo a > \"$(printf '%.4s' .envx)\"", true),
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
fn a_refusal_says_which_rule_would_allow_it() {
    let why = |line| judge(&["ls"], &[], line).unwrap().reason;
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
        let reason = why(line);
        let advice = format!("to allow it, write `{rule}` in `allow`");
        assert!(reason.ends_with(&advice), "{line}: {reason}");
        let rules = ["ls", "read *", "make *", "npm *", rule];
        assert!(judge(&rules, &[], line).is_none(), "{line} is not allowed by {rule}");
    }
}

// R11.1
#[test]
fn a_deny_rule_means_a_file_in_every_spelling() {
    let rows: &[(&str, &str, bool)] = &[
        ("> config/**", "echo x > config/a", true),
        ("> config/**", "echo x > ./config//a", true),
        ("> config/**", "echo x > WORK/config/a", true),
        ("> config/**", "echo x > src/a", false),
        ("> agent.lock", "echo x > WORK/agent.lock", true),
        ("> agent.lock", "echo x > src/../agent.lock", true),
        ("> agent.lock", "ls | cat > agent.lock", true),
        ("> agent.lock", "{ ls; } > agent.lock", true),
        ("cat .env", "cat < .env", true),
        ("cat .env", "< ./.env cat", true),
        ("cat .env", "cat < \"$F\"", true),
        ("cat .env", "cat WORK/.env", true),
        ("cat .env", "cat ./.e*", false),
        ("cat .env", "cat src/.env", false),
        ("cat .env", "cat a < b", false),
    ];
    for (rule, line, refused) in rows {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap();
        let guard = Guard::new("*", GuardKind::Shell, &[], &[(*rule).to_owned()], "").unwrap();
        let input = json!({ "command": line.replace("WORK", &work.to_string_lossy()) });
        let denial =
            guard.judge(&spec("terminal"), &input, &Reach::of(&spec("terminal"), &input, &work));
        assert_eq!(denial.is_some(), *refused, "deny {rule:?}: {line:?} {denial:?}");
        std::fs::create_dir(work.join("src")).unwrap();
        let inside = json!({ "command": line.replace("WORK/", "../"), "cwd": "src" });
        if line.contains("WORK") {
            assert!(
                guard
                    .judge(
                        &spec("terminal"),
                        &inside,
                        &Reach::of(&spec("terminal"), &inside, &work)
                    )
                    .is_some(),
                "{line}"
            );
        }
    }
}

// R11.1
#[test]
fn an_allow_rule_lets_write_only_where_it_says() {
    for (line, passes) in [
        ("echo x > build/yes", true),
        ("echo x | cat > build/yes", true),
        ("{ echo x; } > build/yes", true),
        ("echo x > build/../no", false),
        ("echo x > no", false),
        ("echo x > \"$F\"", false),
        ("echo x > /dev/null", true),
    ] {
        let denial = judge(&["cat", "echo *", "> build/**"], &[], line);
        assert_eq!(denial.is_none(), passes, "{line:?} {denial:?}");
    }
}

// R11.1
#[test]
fn everyday_commands_pass_a_guard_that_denies_something_else() {
    let table: Value = serde_json::from_str(include_str!("../everyday.json")).unwrap();
    let rows = ["build", "network"].map(|name| table[name].as_array().unwrap().clone());
    let rules = ["sudo *", "npm publish", "make deploy", "> agent.lock"];
    let refused =
        rows.iter().flatten().filter_map(|line| judge(&[], &rules, line.as_str().unwrap()));
    let refused: Vec<String> = refused.map(|denial| denial.reason).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
