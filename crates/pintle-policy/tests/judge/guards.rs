//! What guards let through and what they refuse (R11.1).

use crate::spec;
use pintle_policy::{Denial, Guard, GuardKind, Reach, guard::judge_all};
use serde_json::{Value, json};
use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

fn guard(kind: GuardKind, allow: &[&str], deny: &[&str]) -> Guard {
    let own = |rules: &[&str]| rules.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
    Guard::new("*", kind, &own(allow), &own(deny), "agent.json:7").unwrap()
}

fn judge(guard: &Guard, tool: &str, input: &Value, workspace: &Path) -> Option<Denial> {
    let tool = spec(tool);
    guard.judge(&tool, input, &Reach::of(&tool, input, workspace))
}

fn shell_refuses(guard: &Guard, command: &str) -> bool {
    judge(guard, "terminal", &json!({ "command": command }), Path::new("/")).is_some()
}

// R11.1
#[test]
fn a_deny_rule_stops_the_command_however_it_is_written() {
    let rows: &[(&str, &str, bool)] = &[
        ("rm", "rm x", true),
        ("rm", "/bin/rm x", true),
        ("rm", "ls; r\\m x", true),
        ("rm", "sh -c 'sudo rm x'", true),
        ("rm", "echo \"$(rm x)\"", true),
        ("rm", "$X x", true),
        ("rm", "$(echo rm) x", true),
        ("rm", "curl x | sh", true),
        ("rm", "echo rm", false),
        ("rm", "rmdir x", false),
        ("rm", "git rm x", false),
        ("rm", "ls 'unclosed", true),
        ("rm -rf *", "rm -rf x", true),
        ("rm -rf *", "rm -fr x", true),
        ("rm -rf *", "rm -r -f x", true),
        ("rm -rf *", "rm x -rf", true),
        ("rm -rf *", "rm --recursive --force x", true),
        ("rm -rf *", "rm -Rf x", true),
        ("rm -rf *", "rm --rec --fo x", true),
        ("rm -rf *", "rm --r --f x", true),
        ("rm -rf *", "rm --rec x", false),
        ("rm --recursive", "rm -r x", true),
        ("rm --recursive", "rm --recu x", true),
        ("rm --recursive", "rm x", false),
        ("rm -rf *", "rm x", false),
        ("rm -rf *", "rm $X x", true),
        ("rm -rf *", "rm *", true),
        ("rm -rf *", "rm *.o", false),
        ("rm -rf *", "rm {-rf,x}", true),
        ("git push *", "git push origin main", true),
        ("git push *", "git push", true),
        ("git push", "git -C dir push", true),
        ("git push", "git --no-pager push", true),
        ("git push", "git status", false),
        ("git push", "git log push", false),
        ("git push *", "git commit -m \"$MESSAGE\"", false),
        ("git push *", "git add $FILES", false),
        ("git push *", "git $WHAT origin", true),
        ("git push *", "git -c \"$X\" origin", true),
        ("git push*", "git commit -m \"$MESSAGE\"", false),
        ("git push*", "git log $REF", false),
        ("git push*", "git push $REF", true),
        ("git push*", "git $WHAT $REF", true),
        ("rm build*", "rm a \"$X\"", true),
        ("git push --force", "git push origin main --force", true),
        ("git push --force", "git push origin main", false),
        ("git push -f", "git push origin main -f", true),
        ("git push --force", "git push origin main --forc", true),
        ("git push --force", "git push -f", true),
        ("make deploy", "make build deploy", true),
        ("make deploy", "make all test deploy", true),
        ("make deploy", "make build \"$T\"", true),
        ("make deploy", "make build", false),
        ("rm important", "rm ./important", true),
        ("rm important", "rm a important", true),
        ("rm important", "rm -f a important", true),
        ("rm important", "rm a b", false),
        ("cargo publish", "cargo +nightly publish", true),
        ("cargo publish", "cargo +nightly build", false),
        ("cargo publish", "cargo build publish", false),
        ("git checkout main", "git checkout -f a main", true),
        ("git cherry-pick", "git commit -m \"$M\"", false),
        ("tool deploy", "tool now deploy", true),
        ("cat /etc/*", "cat a /etc/passwd", true),
        ("cat /etc/*", "cat //etc/../etc/passwd", true),
        ("cat /etc/*", "cat etc", false),
        ("npm*", "npmx run", true),
        ("> /etc/*", "echo a > /etc/hosts", true),
        ("> /etc/*", "echo a >> $F", true),
        ("> /etc/*", "echo a > out", false),
        ("LD_PRELOAD=*", "LD_PRELOAD=x ls", true),
        ("LD_PRELOAD=*", "A=x ls", false),
    ];
    for (rule, command, refused) in rows {
        let guard = guard(GuardKind::Shell, &[], &[rule]);
        assert_eq!(shell_refuses(&guard, command), *refused, "deny {rule:?}: {command:?}");
    }
}

// R11.1
#[test]
fn an_allow_rule_lets_through_only_what_it_surely_matches() {
    let rows: &[(&[&str], &str, bool)] = &[
        (&["ls"], "ls", true),
        (&["ls"], "ls -la src", true),
        (&["ls"], "ls $X", true),
        (&["ls"], "ls; rm x", false),
        (&["ls"], "ls | cat", false),
        (&["ls", "cat"], "ls | cat", true),
        (&["ls"], "ls $(rm x)", false),
        (&["ls"], "./ls", false),
        (&["ls"], "/tmp/ls", false),
        (&["ls"], "\"ls\" x", true),
        (&["ls"], "$LS x", false),
        (&["*"], "$LS x", false),
        (&["*"], "ls x", true),
        (&["ls"], "PATH=/tmp ls", false),
        (&["A=* ls"], "A=1 ls", true),
        (&["ls"], "PATH=/tmp; ls", false),
        (&["ls"], "ls > out", false),
        (&["ls"], "ls > /dev/null 2>&1", true),
        (&["ls", "> build/*"], "ls > build/out", true),
        (&["ls", "> build/*"], "ls > build/../../out", false),
        (&["git log *"], "git log --oneline", true),
        (&["git log *"], "git push", false),
        (&["git log *"], "git $X", false),
        (&["git"], "sudo git status", false),
        (&["git", "sudo"], "sudo git status", true),
        (&["ls"], "sh -c ls", false),
        (&["ls", "sh"], "sh -c ls", true),
        (&["ls", "sh"], "sh -c 'rm x'", false),
        (&["sh"], "sh", false),
        (&["sh", "rm *"], "sh <<'E'\nrm x\nE", true),
        (&["sh"], "sh <<'E'\nrm x\nE", false),
        (&["make"], "make \"$T\"", true),
        (&["make"], "t=all; make \"$t\"", false),
        (&["make", "t=*"], "t=all; make \"$t\"", true),
        (&["make all", "t=*"], "t=all; make \"$t\"", false),
        (&["git"], "git commit -m \"$M\"", true),
        (&["git log"], "git \"$W\"", false),
        (&["ls"], "(", false),
        (&["ls"], "", true),
    ];
    for (allow, command, passes) in rows {
        let guard = guard(GuardKind::Shell, allow, &[]);
        assert_eq!(!shell_refuses(&guard, command), *passes, "allow {allow:?}: {command:?}");
    }
}

#[test]
fn a_refusal_names_the_command_the_rule_and_the_place() {
    let guard = guard(GuardKind::Shell, &[], &["rm -rf *"]);
    let denial =
        judge(&guard, "terminal", &json!({ "command": "ls && rm -rf build" }), Path::new("/"))
            .unwrap();
    assert_eq!(denial.reason, "`rm -rf build` is denied by the rule `rm -rf *`");
    assert_eq!(
        (denial.rule.as_deref(), denial.source.as_str()),
        (Some("rm -rf *"), "agent.json:7")
    );
}

#[test]
fn a_shell_guard_refuses_an_input_without_a_command() {
    let guard = guard(GuardKind::Shell, &[], &["rm"]);
    for input in [json!({}), json!({ "command": 1 }), Value::Null] {
        assert!(judge(&guard, "terminal", &input, Path::new("/")).is_some(), "{input}");
    }
}

// R11.1: `*` is wherever there is a command, or a path; who names a tool means that tool.
#[test]
fn a_guard_for_all_tools_lets_be_what_has_nothing_for_it_to_judge() {
    let named = |tool: &str, kind, allow: &[&str]| {
        let allow: Vec<String> = allow.iter().map(|rule| rule.to_string()).collect();
        Guard::new(tool, kind, &allow, &["rm".into()], "").unwrap()
    };
    let (shell, path) = (GuardKind::Shell, GuardKind::Path);
    type Row = (&'static str, GuardKind, &'static [&'static str], &'static str, Value, bool);
    let rows: &[Row] = &[
        ("*", shell, &[], "read_file", json!({ "path": "x" }), false),
        ("*", shell, &["ls"], "write_file", json!({ "path": "x", "content": "rm x" }), false),
        ("*_file", shell, &[], "read_file", json!({ "path": "x" }), false),
        ("*", shell, &[], "terminal", json!({ "command": "rm x" }), true),
        ("*", shell, &[], "terminal", json!({}), true),
        ("*", shell, &[], "mcp__a__run", json!({ "command": "rm x" }), true),
        ("*", shell, &[], "mcp__a__run", json!({ "command": ["rm", "x"] }), true),
        ("*", shell, &[], "mcp__a__run", json!({ "query": "x" }), false),
        ("mcp__a__run", shell, &[], "mcp__a__run", json!({ "query": "x" }), true),
        ("mcp__*", shell, &[], "mcp__a__run", json!({ "query": "x" }), true),
        ("*", path, &["src"], "delegate", json!({ "task": "x" }), false),
        ("delegate", path, &["src"], "delegate", json!({ "task": "x" }), false),
        ("*", path, &["src"], "ticket_list", json!({}), false),
        ("*", path, &["src"], "read_file", json!({}), true),
        ("*", path, &["src"], "read_file", json!({ "path": "src/a" }), false),
        // Without a `cwd` a command runs in the workspace.
        ("*", path, &["src"], "terminal", json!({ "command": "ls" }), true),
        ("*", path, &["src"], "terminal", json!({ "command": "ls", "cwd": "src" }), false),
        ("*", path, &["."], "terminal", json!({ "command": "ls" }), false),
        ("*", path, &["**"], "terminal", json!({ "command": "ls" }), false),
        ("*", path, &["src"], "mcp__a__look", json!({ "n": 1 }), false),
        ("*", path, &["src"], "mcp__a__look", json!({ "path": "src/a" }), false),
        ("*", path, &["src"], "mcp__a__look", json!({ "path": "a" }), true),
        ("*", path, &["src"], "mcp__a__look", json!({ "for": "a word" }), false),
        ("mcp__a__*", path, &["src"], "mcp__a__look", json!({ "n": 1 }), true),
        ("mcp__a__*", path, &[], "mcp__a__look", json!({ "n": 1 }), true),
        ("mcp__a__*", path, &[], "mcp__a__look", json!({}), true),
        ("mcp__a__*", path, &[], "mcp__a__look", json!({ "at": "a" }), true),
        ("mcp__a__*", path, &[], "mcp__a__look", json!({ "path": "a" }), false),
        ("list_dir", path, &[], "list_dir", json!({}), false),
    ];
    for (tools, kind, allow, tool, input, refused) in rows {
        let denial = judge(&named(tools, *kind, allow), tool, input, Path::new("/"));
        assert_eq!(denial.is_some(), *refused, "{tools} {kind:?} {tool} {input}: {denial:?}");
    }
}

#[test]
fn a_guard_looks_only_at_the_tools_it_names() {
    let guard = Guard::new("write_*", GuardKind::Json, &[], &["/path".into()], "").unwrap();
    let nowhere = Reach::of(&spec("read_file"), &json!({}), Path::new("/"));
    assert!(judge(&guard, "write_file", &json!({ "path": "x" }), Path::new("/")).is_some());
    assert!(judge(&guard, "read_file", &json!({ "path": "x" }), Path::new("/")).is_none());
    assert!(judge_all(&[guard], &spec("read_file"), &json!({}), &nowhere).is_none());
}

// R11.1: resolved paths
#[test]
fn path_guards_see_through_links_and_dots() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("src/deep")).unwrap();
    std::fs::create_dir_all(work.join("secrets")).unwrap();
    std::fs::create_dir_all(folder.path().join("outside")).unwrap();
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, work.join(at)).unwrap();
    link("secrets", "innocent");
    link("../outside", "away");
    link("loop2", "loop1");
    link("loop1", "loop2");
    link("secrets/new.txt", "dangling");
    link("../secrets", "src/up");
    let rows: &[(&[&str], &[&str], &str, bool)] = &[
        (&[], &["secrets"], "secrets/key", false),
        (&[], &["secrets"], "secrets", false),
        (&[], &["secrets"], "src/../secrets/key", false),
        (&[], &["secrets"], "./secrets/./key", false),
        (&[], &["secrets"], "innocent/key", false),
        (&[], &["secrets"], "innocent/not/yet/there", false),
        (&[], &["secrets"], "dangling", false),
        (&[], &["secrets"], "src/up/key", false),
        (&[], &["secrets/*"], "secrets/key", false),
        (&[], &["**/*.key"], "src/deep/a.key", false),
        (&[], &["*.key"], "src/a.key", true),
        (&[], &["secrets"], "src/main.rs", true),
        (&[], &["secrets"], "secretsx", true),
        (&[], &["secrets"], "loop1/x", false),
        (&["src"], &[], "src/main.rs", true),
        (&["src/**"], &[], "src/deep/new/x", true),
        (&["src"], &[], "src/../secrets/x", false),
        (&["src"], &[], "src/up/x", false),
        (&["src"], &[], "away/x", false),
        (&["src"], &[], "/etc/passwd", false),
        (&["away"], &[], "away/x", true),
        (&["**"], &[], "away/x", false),
        (&["**"], &[], ".", true),
        (&["src/**"], &[], "src", true),
        (&[], &["src/**"], "src", false),
        (&[], &["src/*"], "src", true),
        (&["src"], &["src/deep"], "src/deep/x", false),
        (&["src//**"], &[], "src/deep/x", true),
        (&["src//**"], &[], "/etc/passwd", false),
        (&["src//**"], &[], "secrets/x", false),
        (&["./src/./**/"], &[], "src/deep/x", true),
        (&["./src/./**/"], &[], "secrets/x", false),
        (&["src/**//./*.rs"], &[], "src/deep/a.rs", true),
        (&[], &["secrets//*"], "secrets/key", false),
        (&[], &["./secrets"], "secrets/key", false),
        (&[], &[".//secrets/"], "src/main.rs", true),
        (&["."], &[], "src/x", true),
        (&["."], &[], "/etc/passwd", false),
    ];
    for (allow, deny, path, passes) in rows {
        let guard = guard(GuardKind::Path, allow, deny);
        let denial = judge(&guard, "write_file", &json!({ "path": path }), &work);
        assert_eq!(denial.is_none(), *passes, "allow {allow:?} deny {deny:?}: {path} {denial:?}");
    }
    let allow = guard(GuardKind::Path, &["src"], &[]);
    assert!(judge(&allow, "read_file", &json!({}), &work).is_some(), "nothing to allow");
    assert!(judge(&allow, "x", &json!({ "path": 1 }), &work).is_some());
    assert!(
        judge(&allow, "x", &json!({ "path": "src/a", "cwd": "/" }), &work).is_some(),
        "every path counts"
    );
    let absolute = format!("{}/outside", folder.path().display());
    let deny = guard(GuardKind::Path, &[], &[&absolute]);
    assert!(judge(&deny, "x", &json!({ "filePath": "away/x" }), &work).is_some());
}

// R11.1: of a tool that declares no paths, the usual fields.
#[test]
fn a_path_guard_looks_at_the_usual_fields_of_a_tool_that_declares_none() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(work.join("secrets")).unwrap();
    std::os::unix::fs::symlink("secrets", work.join("innocent")).unwrap();
    let deny = Guard::new("*", GuardKind::Path, &[], &["secrets".into()], "").unwrap();
    for input in [json!({ "path": "innocent/key" }), json!({ "file_path": "a/../secrets/key" })] {
        assert!(judge(&deny, "mcp__a__copy", &input, &work).is_some(), "{input}");
    }
    let other = json!({ "path": "a", "text": "secrets" });
    assert_eq!(judge(&deny, "mcp__a__copy", &other, &work), None);
}

// P2: a name that is no UTF-8 passes no guard that a readable name would not.
#[test]
fn a_path_guard_holds_for_names_that_are_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let strange = |name: &[u8]| OsStr::from_bytes(name).to_owned();
    let work = folder.path().join(strange(b"work\xe9"));
    std::fs::create_dir(&work).unwrap();
    std::os::unix::fs::symlink(strange(b"caf\xe9.key"), work.join("innocent")).unwrap();
    let refuses = |allow: &[&str], deny: &[&str], path: &str| {
        judge(&guard(GuardKind::Path, allow, deny), "x", &json!({ "path": path }), &work).is_some()
    };
    assert!(refuses(&[], &["*.key"], "a.key"));
    assert!(refuses(&[], &["*.key"], "innocent"));
    assert!(refuses(&[], &["**/*.key"], "innocent"));
    assert!(!refuses(&[], &["*.key"], "a.txt"));
    assert!(refuses(&["**"], &[], "a.txt"), "what cannot be compared is not surely allowed");
}

#[test]
fn json_guards_look_at_fields() {
    let input =
        json!({ "to": "a@evil.example", "n": 3, "deep": { "on": true }, "all": ["x.rs", "y.rs"] });
    let rows: &[(&[&str], &[&str], bool)] = &[
        (&[], &["/to=*@evil.example"], false),
        (&[], &["/to=*@good.example"], true),
        (&[], &["/n=3"], false),
        (&[], &["/deep/on=true"], false),
        (&[], &["/missing"], true),
        (&[], &["/deep"], false),
        (&[], &["/all=y.*"], false),
        (&["/all=*.rs"], &[], true),
        (&["/all=x.*"], &[], false),
        (&["/missing=x"], &[], false),
    ];
    for (allow, deny, passes) in rows {
        let denial = judge(&guard(GuardKind::Json, allow, deny), "mail", &input, Path::new("/"));
        assert_eq!(denial.is_none(), *passes, "allow {allow:?} deny {deny:?}");
    }
}

// P6: whoever is refused can see what to write out.
#[test]
fn a_refusal_says_which_word_only_running_it_tells() {
    let deny = ["rm -rf *".into(), "> .env".into()];
    let guard = Guard::new("terminal", GuardKind::Shell, &[], &deny, "").unwrap();
    let why = |command: &str| {
        let folder = tempfile::tempdir().unwrap();
        judge(&guard, "terminal", &json!({ "command": command }), folder.path()).unwrap().reason
    };
    assert_eq!(
        why("rm -f \"$f\""),
        "`rm -f \"$f\"`, in which only running it tells what `\"$f\"` is, is denied by the rule `rm -rf *`"
    );
    assert_eq!(
        why("echo hi > \"$out\""),
        "`echo hi`, in which only running it tells what `\"$out\"` is, is denied by the rule `> .env`"
    );
    assert_eq!(why("rm -rf \"$f\" x"), "`rm -rf \"$f\" x` is denied by the rule `rm -rf *`");
}

// R11.1
#[test]
fn a_set_that_is_turned_round_lets_only_the_others_through() {
    let guard = guard(GuardKind::Shell, &["git [!p]*"], &[]);
    let runs = |command: &str| {
        judge(&guard, "terminal", &json!({ "command": command }), Path::new("/")).is_none()
    };
    assert!(runs("git status") && !runs("git push"));
}

#[test]
fn a_rule_that_could_never_match_is_an_error() {
    for (kind, rule) in [
        (GuardKind::Shell, ""),
        (GuardKind::Shell, "a | b"),
        (GuardKind::Shell, "rm [x"),
        (GuardKind::Path, "../x"),
        (GuardKind::Path, "~/x"),
        (GuardKind::Json, "field=x"),
        (GuardKind::Json, "/field=[x"),
    ] {
        assert!(Guard::check_rule(kind, rule).is_err(), "{kind:?} {rule:?}");
    }
}
