//! R17.2, R17.3: what a machine cannot hold is asked about, and every command says what holds. A machine that can hold less is
//! this one without some of its system calls.

use std::{collections::BTreeMap, thread};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use crate::support::{Said, World};

const UNSHARE: i64 = libc::SYS_unshare;
const LANDLOCK: i64 = libc::SYS_landlock_create_ruleset;

/// Runs the program on a machine without these calls.
pub(crate) fn run_without(world: &World, calls: &[i64], arguments: &[&str]) -> Said {
    let mut command = world.command(arguments);
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    // A filter holds for one thread and what it starts.
    let run = move || {
        let arch =
            if cfg!(target_arch = "aarch64") { TargetArch::aarch64 } else { TargetArch::x86_64 };
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        apply_filter(&filter).unwrap();
        command.output().unwrap()
    };
    world.said(thread::spawn(run).join().unwrap())
}

fn settings(world: &World, text: &str) {
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("pintle.toml"), text).unwrap();
}

#[test]
fn without_a_sandbox_every_command_is_asked_about_and_none_runs_by_itself() {
    let world = World::new();
    let nothing = [UNSHARE, LANDLOCK];
    let said = run_without(&world, &nothing, &["doctor"]);
    assert!(
        said.out.contains("✗ sandbox   none (unshare: ") && said.out.contains("on Ubuntu: "),
        "{said:?}"
    );
    for level in ["permissive", "standard"] {
        settings(&world, &format!("level = \"{level}\"\n"));
        let said = run_without(&world, &nothing, &["chat", "-q", "run touch marker"]);
        assert!(said.err.contains("there is no sandbox here"), "{said:?}");
        assert!(
            said.out.contains("no sandbox holds it, so it may change this machine"),
            "{said:?}"
        );
        assert!(!world.file("marker").exists());
    }
    let said = run_without(
        &world,
        &nothing,
        &["hooks", "explain", "--tool", "terminal", "--args", r#"{"command":"ls"}"#],
    );
    assert!(said.out.contains("! sandbox   there is no sandbox here"), "{said:?}");
}

#[test]
fn a_sandbox_that_is_required_and_not_there_starts_nothing() {
    let world = World::new();
    settings(&world, "[sandbox]\nmode = \"required\"\n");
    let said = run_without(&world, &[UNSHARE, LANDLOCK], &["chat", "-q", "run touch marker"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("`mode = \"required\"`") && said.err.contains("on Ubuntu: "),
        "{said:?}"
    );
    assert!(!world.file("marker").exists());
    assert_eq!(world.run(&["chat", "-q", "run touch marker"]).code, Some(0));
    assert!(world.file("marker").exists(), "with a sandbox it starts");
}

#[test]
fn without_namespaces_commands_run_and_what_is_protected_is_put_right() {
    let world = World::new();
    world.write(".git/hooks/old", "old\n");
    world.write(".git/config", "[core]\n");
    let said =
        run_without(&world, &[UNSHARE], &["chat", "-q", "run touch marker; touch ../home/out"]);
    assert!(said.err.contains("the sandbox holds less here"), "{said:?}");
    assert!(world.file("marker").exists() && !world.file("../home/out").exists(), "{said:?}");
    let spoil = "run echo evil > .git/hooks/new; echo evil > .git/hooks/old; echo evil >> .git/config; true";
    let said = run_without(&world, &[UNSHARE], &["chat", "-q", spoil]);
    assert!(!world.file(".git/hooks/new").exists(), "{said:?}");
    assert_eq!(std::fs::read_to_string(world.file(".git/hooks/old")).unwrap(), "old\n");
    assert_eq!(std::fs::read_to_string(world.file(".git/config")).unwrap(), "[core]\n");
    assert!(said.out.contains("is protected: the change was undone"), "{said:?}");
    settings(&world, "level = \"permissive\"\n");
    let said = run_without(&world, &[UNSHARE], &["chat", "-q", "run curl https://example.org"]);
    assert!(said.out.contains("cannot filter hosts"), "{said:?}");
}

#[test]
fn a_sandbox_that_is_switched_off_is_said_at_every_start() {
    let world = World::new();
    settings(&world, "[sandbox]\nmode = \"off\"\n");
    for _ in 0..2 {
        let said = world.run(&["chat", "-q", "run touch ../home/out"]);
        assert!(said.err.contains("the sandbox is switched off in pintle.toml"), "{said:?}");
    }
    assert!(world.file("../home/out").exists());
}
