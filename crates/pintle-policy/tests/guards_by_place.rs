//! Rules for commands hold from wherever a command runs, and however a file is spelled (R11.1).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::{Guard, GuardKind, Reach, Zone, zone_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap().join("work");
    for name in ["config", "src/deep", "out"] {
        std::fs::create_dir_all(work.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("config", work.join("innocent")).unwrap();
    (folder, work)
}

fn refuses(allow: &[&str], deny: &[&str], input: &Value, work: &Path) -> bool {
    let own = |rules: &[&str]| rules.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
    let guard = Guard::new("*", GuardKind::Shell, &own(allow), &own(deny), "").unwrap();
    guard.judge("terminal", input, &Reach::of(input, work)).is_some()
}

// R11.1
#[test]
fn a_deny_rule_means_a_file_from_wherever_the_command_runs() {
    let (_folder, work) = workspace();
    let rows: &[(&str, &str, bool)] = &[
        ("> config/**", "echo x > config/a", true),
        ("> config/**", "cd config && echo x > a", true),
        ("> config/**", "cd config; echo x > a", true),
        ("> config/**", "(cd src && echo x > ../config/a)", true),
        ("> config/**", "cd innocent && echo x > a", true),
        ("> config/**", "echo x > innocent/a", true),
        ("> config/**", "echo x > WORK/config/a", true),
        ("> config/**", "cd \"$X\" && echo x > a", true),
        ("> config/**", "cd con* && echo x > a", true),
        ("> new/**", "mkdir new; cd n* && echo x > a", true),
        ("> new/**", "mkdir new; for d in */; do (cd \"$d\" && echo x > a); done", true),
        ("> new/**", "mkdir new; env -C new sh -c 'echo x > a'", true),
        ("> new/**", "for d in src out; do (cd \"$d\" && echo x > a); done", false),
        ("> config/**", "cd src && echo x > a", false),
        ("> config/**", "(cd config && ls); echo x > a", false),
        ("> agent.lock", "echo x > WORK/agent.lock", true),
        ("> agent.lock", "echo x > src/../agent.lock", true),
        ("> agent.lock", "cd src && echo x > ../agent.lock", true),
        ("> agent.lock", "cd \"$X\" && echo x > agent.lock", true),
        ("> agent.lock", "cd \"$X\" && echo x > b", false),
        ("> agent.lock", "cd src && echo x > agent.lock", true),
        ("cat .env", "cat < .env", true),
        ("cat .env", "< ./.env cat", true),
        ("cat .env", "cat < \"$F\"", true),
        ("cat .env", "cat WORK/.env", true),
        ("cat .env", "cd src && cat ../.env", true),
        ("cat .env", "cat ./.e*", true),
        ("cat .env", "cat ~/project/.env", true),
        ("cat .env", "cat src/.env", false),
        ("cat .env", "cat a < b", false),
        ("rm config/a", "cd config && rm -f b a", true),
        ("rm config/a", "make -C config && rm a", false),
    ];
    for (rule, command, refused) in rows {
        let command = command.replace("WORK", &work.to_string_lossy());
        let input = json!({ "command": command });
        assert_eq!(refuses(&[], &[rule], &input, &work), *refused, "deny {rule:?}: {command:?}");
    }
    let elsewhere = json!({ "command": "echo x > a", "cwd": "config" });
    assert!(refuses(&[], &["> config/**"], &elsewhere, &work));
    let nowhere = json!({ "command": "echo x > a", "cwd": 1 });
    assert!(refuses(&[], &["> config/**"], &nowhere, &work));
}

// R11.1
#[test]
fn an_allow_rule_lets_write_only_where_it_says() {
    let (_folder, work) = workspace();
    std::os::unix::fs::symlink("../config", work.join("out/link")).unwrap();
    let rows: &[(&str, bool)] = &[
        ("echo x > out/yes", true),
        ("echo x > WORK/out/yes", true),
        ("cd out && echo x > yes", true),
        ("cd src && echo x > ../out/yes", true),
        ("cd out && echo x | cat > yes", true),
        ("cd out && { echo x; } > yes", false),
        ("cd src && echo x > out/yes", false),
        ("cd src; echo x > out/yes", false),
        ("cd nowhere && echo x > out/yes", false),
        ("mkdir out/new && cd out/new && echo x > yes", true),
        ("cd \"$X\" && echo x > out/yes", false),
        ("echo x > out/link/no", false),
        ("echo x > out/../no", false),
        ("cd src && echo x > /dev/null", true),
    ];
    for (command, passes) in rows {
        let input = json!({ "command": command.replace("WORK", &work.to_string_lossy()) });
        let allow = ["cat", "cd *", "echo *", "mkdir *", "> out/**"];
        assert_eq!(!refuses(&allow, &[], &input, &work), *passes, "{command:?}");
    }
}

// R11.2: to `echo` of some shells, and to `printf %b`, three digits follow the zero.
#[test]
fn a_place_in_octal_numbers_is_a_place() {
    let (_folder, work) = workspace();
    for command in [
        "echo '\\0057etc/hostname' | xargs cat",
        "printf '%b' '\\0057etc/hostname' | xargs cat",
        "printf '\\057etc/hostname' | xargs cat",
        "printf 'a\\0/etc/hostname' | xargs -0 cat",
    ] {
        let input = json!({ "command": command });
        let judged =
            zone_of("terminal", Zone::Build, &input, &Reach::of(&input, &work), Default::default());
        assert_eq!(judged.zone, Zone::Machine, "{command}");
    }
}

// R11.1
#[test]
fn everyday_commands_pass_a_guard_that_denies_something_else() {
    let (_folder, work) = workspace();
    let table: Value = serde_json::from_str(include_str!("everyday.json")).unwrap();
    let commands =
        table["build"].as_array().unwrap().iter().chain(table["network"].as_array().unwrap());
    let refused = commands.filter(|command| {
        let input = json!({ "command": command });
        refuses(&[], &["sudo *", "npm publish", "make deploy", "> agent.lock"], &input, &work)
    });
    let refused: Vec<&str> = refused.filter_map(Value::as_str).collect();
    assert_eq!(refused, [""; 0]);
}
