//! Set-up that fails runs nothing (R17.5), and what can be held is tried (R17.2).

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process,
    time::{Duration, Instant},
};

use pintle_sandbox::{
    Command, Confinement, Gap, Held, Launcher, Process, Rights, Sandbox, Surroundings, Tier,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::{
    confined::{LAG, Outcome, TIERS, confined, runtime, shell},
    users::{self, as_each_user},
    world::World,
};

/// In the environment of a test that runs again as a launcher: the numbers of the calls it has to do without.
const WITHOUT: &str = "PINTLE_TEST_WITHOUT";

/// A launcher that can be replaced, in a folder of its own.
struct Replaceable {
    folder: tempfile::TempDir,
}

impl Replaceable {
    /// Runs this test program again, which becomes the launcher. What it does is in a file: the script itself stays.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launcher = Self { folder };
        launcher.without(&[]);
        let script = format!("#!/bin/sh\n. {}\n", launcher.deed().display());
        fs::write(launcher.path(), script).unwrap();
        fs::set_permissions(launcher.path(), fs::Permissions::from_mode(0o755)).unwrap();
        launcher
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("launcher")
    }

    fn deed(&self) -> PathBuf {
        self.folder.path().join("deed")
    }

    fn does(&self, line: &str) {
        fs::write(self.deed(), line).unwrap();
    }

    /// From now on these calls are refused.
    fn without(&self, calls: &[i64]) {
        let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
        self.does(&format!(
            "export {WITHOUT}='{}' PINTLE_TEST_LAUNCHER='{}'\nexec {} --exact {TAKEN_AWAY} --nocapture",
            calls.join(" "),
            users::launcher().display(),
            env::current_exe().unwrap().display(),
        ));
    }

    /// A sandbox whose trial is over.
    fn probe(&self) -> Sandbox {
        let sandbox = Sandbox::probe(&Launcher::at(self.path()), LAG);
        let _ = sandbox.tier();
        sandbox
    }
}

/// Takes the calls away from this process and becomes the launcher.
fn become_launcher(calls: &str) -> ! {
    let rules: BTreeMap<i64, Vec<_>> =
        calls.split_whitespace().map(|call| (call.parse().unwrap(), vec![])).collect();
    if !rules.is_empty() {
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let arch = env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
        apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    }
    let error = process::Command::new(users::launcher()).arg0("pintle-sandbox-outer").exec();
    panic!("{error}");
}

fn held(sandbox: &Sandbox, world: &World) -> Held {
    sandbox.hold(Surroundings::new(world.settings()).policy(Rights::Build)).unwrap()
}

/// A command whose file says that it ran.
fn marking(world: &World) -> Command {
    shell("echo > ran", &world.workspace(), &world.variables())
}

fn has_run(world: &World) -> bool {
    world.workspace().join("ran").exists()
}

fn run(held: Held, command: &Command) -> std::io::Result<Outcome> {
    runtime().block_on(confined(held, command))
}

#[track_caller]
fn assert_refused(outcome: &Outcome, why: &str) {
    assert_eq!(outcome.code, pintle_sandbox::NOT_RUN, "{outcome:?}");
    let not_run = outcome.report.not_run.as_deref().unwrap();
    assert!(not_run.contains(why), "{outcome:?}");
    assert_eq!(outcome.output, format!("pintle: nothing was run: {not_run}\n"));
}

const TAKEN_AWAY: &str = "setup_failures::each_call_of_the_set_up_that_is_taken_away_runs_nothing";

// R17.5
#[test]
fn each_call_of_the_set_up_that_is_taken_away_runs_nothing() {
    if let Ok(calls) = env::var(WITHOUT) {
        become_launcher(&calls);
    }
    as_each_user(
        TAKEN_AWAY,
        |_| {},
        || {
            let landlock = [
                (libc::SYS_landlock_create_ruleset, "Landlock"),
                (libc::SYS_landlock_add_rule, "Landlock"),
                (libc::SYS_landlock_restrict_self, "Landlock"),
            ];
            let always = [
                (libc::SYS_capset, "capabilities"),
                (libc::SYS_seccomp, "seccomp"),
                (libc::SYS_prlimit64, "limits"),
            ];
            let namespaces = [
                (libc::SYS_unshare, "unshare"),
                (libc::SYS_mount, "private mounts"),
                (libc::SYS_open_tree, "/"),
                (libc::SYS_move_mount, "mount /"),
                (libc::SYS_openat2, "/"),
                (libc::SYS_mkdirat, "/"),
                (libc::SYS_symlinkat, "/"),
                (libc::SYS_pivot_root, "pivot_root"),
                (libc::SYS_umount2, "the old root"),
                (libc::SYS_socket, "loopback"),
                (libc::SYS_pidfd_open, "pidfd"),
                (libc::SYS_prctl, ""),
            ];
            let launcher = Replaceable::new();
            let full = launcher.probe();
            assert_eq!(full.tier(), Tier::Full, "{full}");
            for tier in TIERS {
                let mut calls = always.to_vec();
                if tier != Tier::View {
                    calls.extend(landlock);
                }
                if tier != Tier::Floor {
                    calls.extend(namespaces);
                }
                let sandbox = full.at_most(tier);
                launcher.without(&[]);
                let world = World::new();
                assert_eq!(run(held(&sandbox, &world), &marking(&world)).unwrap().code, 0);
                assert!(has_run(&world), "{tier:?}: the command does what it is for");
                fs::remove_file(world.workspace().join("ran")).unwrap();
                for (call, why) in calls {
                    launcher.without(&[call]);
                    let outcome = run(held(&sandbox, &world), &marking(&world)).unwrap();
                    assert!(!has_run(&world), "{tier:?} without call {call}: {outcome:?}");
                    assert_refused(&outcome, why);
                }
            }
        },
    );
}

// R17.2
#[test]
fn what_can_be_held_is_found_by_trying() {
    let launcher = Replaceable::new();
    let tier = |calls: &[i64]| {
        launcher.without(calls);
        let sandbox = launcher.probe();
        (sandbox.tier(), sandbox.why_not_full().unwrap_or_default().to_owned())
    };
    assert_eq!(tier(&[]), (Tier::Full, String::new()));
    for call in [libc::SYS_unshare, libc::SYS_mount, libc::SYS_pivot_root, libc::SYS_open_tree] {
        let (found, why) = tier(&[call]);
        assert_eq!(found, Tier::Floor, "{why}");
        assert!(why.contains("not permitted"), "{why}");
    }
    let (found, why) = tier(&[libc::SYS_landlock_create_ruleset]);
    assert_eq!((found, why.contains("Landlock")), (Tier::View, true), "{why}");
    let (found, why) = tier(&[libc::SYS_unshare, libc::SYS_landlock_create_ruleset]);
    assert_eq!(found, Tier::None);
    assert!(why.contains("unshare") && why.contains("Landlock"), "{why}");
    let (found, why) = tier(&[libc::SYS_seccomp]);
    assert_eq!((found, why.contains("seccomp")), (Tier::None, true), "{why}");
}

#[test]
fn a_launcher_that_is_none_holds_nothing() {
    for program in ["/bin/true", "/bin/false", "/bin/cat", "/nowhere", "/"] {
        let sandbox = Sandbox::probe(&Launcher::at(program), Duration::from_secs(1));
        assert_eq!(sandbox.tier(), Tier::None, "{program}: {sandbox}");
        let policy = Surroundings::new(World::new().settings()).policy(Rights::Safe);
        assert!(matches!(sandbox.hold(policy), Err(Gap::NoSandbox(_))), "{program}");
    }
}

#[test]
fn a_launcher_that_was_replaced_since_it_was_tried_runs_nothing() {
    let launcher = Replaceable::new();
    let (sandbox, world) = (launcher.probe(), World::new());
    fs::remove_file(launcher.path()).unwrap();
    fs::copy("/bin/true", launcher.path()).unwrap();
    let error = run(held(&sandbox, &world), &marking(&world)).unwrap_err();
    assert!(error.to_string().contains("was replaced"), "{error}");
    assert!(!has_run(&world));
}

#[test]
fn a_launcher_that_hangs_is_given_up() {
    let launcher = Replaceable::new();
    launcher.does("sleep 300 & exec sleep 300");
    let start = Instant::now();
    let sandbox = Sandbox::probe(&Launcher::at(launcher.path()), Duration::from_millis(300));
    assert!(start.elapsed() < LAG);
    assert_eq!(sandbox.tier(), Tier::None);
    assert!(sandbox.why_not_full().unwrap().contains("took too long"), "{sandbox}");
}

#[test]
fn what_the_process_needs_and_does_not_find_runs_nothing() {
    as_each_user(
        "setup_failures::what_the_process_needs_and_does_not_find_runs_nothing",
        |_| {},
        || {
            let launcher = Replaceable::new();
            let full = launcher.probe();
            for tier in TIERS {
                let (sandbox, world) = (full.at_most(tier), World::new());
                let held = held(&sandbox, &world);
                let marking = marking(&world);

                let folder = world.home().join("letters");
                let outside = shell("echo > ran", &folder, &world.variables());
                let folder = format!("the working folder {}", folder.display());
                assert_refused(&run(held.clone(), &outside).unwrap(), &folder);

                let closed = world.workspace().join("closed");
                fs::write(&closed, "#!/bin/sh\n").unwrap();
                for program in [closed, "/nowhere/program".into(), world.home().join("program")] {
                    let shown = program.display().to_string();
                    let command = Command { program, ..marking.clone() };
                    assert_refused(&run(held.clone(), &command).unwrap(), &shown);
                }

                let mut large = marking.clone();
                large.args.extend((0..100).map(|_| "x".repeat(100_000).into()));
                let error = run(held.clone(), &large).unwrap_err().to_string();
                assert!(error.contains("order of 10") && error.contains("too long"), "{error}");

                fs::rename(world.workspace(), world.root.join("gone")).unwrap();
                let start = runtime().block_on(async {
                    Process::start(&marking, &Confinement::Held(held.clone())).map(drop)
                });
                let error = start.unwrap_err().to_string();
                let workspace = world.workspace().display().to_string();
                assert!(error.contains(&workspace), "{error}");
                assert!(!world.root.join("gone/ran").exists());
                let gap = sandbox.hold(held.policy().clone()).unwrap_err();
                assert!(matches!(&gap, Gap::Path(why) if why.contains(&workspace)), "{gap}");
            }
        },
    );
}

/// In the environment of a test that runs again on a machine without `/tmp`.
const WITHOUT_TMP: &str = "PINTLE_TEST_WITHOUT_TMP";

#[test]
fn a_machine_without_tmp_has_the_floor() {
    if env::var_os(WITHOUT_TMP).is_some() {
        assert!(!Path::new("/tmp").exists());
        let sandbox = Sandbox::probe(&Launcher::at(users::launcher()), LAG);
        assert_eq!(sandbox.tier(), Tier::Floor);
        assert!(sandbox.why_not_full().unwrap().contains("the new root"), "{sandbox}");
        return;
    }
    let mut bwrap = process::Command::new("bwrap");
    bwrap.args(["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]);
    for link in ["bin", "sbin", "lib", "lib64"] {
        bwrap.args(["--symlink", &format!("usr/{link}"), &format!("/{link}")]);
    }
    // The build folder itself may be below `/tmp`.
    let (program, launcher) = ("/programs/test", "/programs/launcher");
    bwrap.arg("--ro-bind").arg(env::current_exe().unwrap()).arg(program);
    bwrap.arg("--ro-bind").arg(users::launcher()).arg(launcher);
    let run = bwrap
        .arg(program)
        .args(["--exact", "setup_failures::a_machine_without_tmp_has_the_floor"])
        .env(WITHOUT_TMP, "1")
        .env(users::LAUNCHER, launcher)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{run:?}");
}

#[test]
fn caches_that_cannot_be_copied_on_write_are_read_only_and_this_is_said() {
    let world = World::new();
    // Nothing can be above a file system that keeps no attributes.
    let settings = pintle_sandbox::Settings {
        cache_store: Some("/proc/self/nowhere".into()),
        ..world.settings()
    };
    let sandbox = Sandbox::probe(&Launcher::at(users::launcher()), LAG);
    let held = sandbox.hold(Surroundings::new(settings).policy(Rights::Build)).unwrap();
    assert_eq!(sandbox.why_caches_are_read_only(), None, "not tried yet");
    let outcome = world.run(&held, "cat ~/.cargo/config.toml; echo x > ~/.cargo/new");
    assert!(outcome.output.starts_with("before"), "{outcome:?}");
    assert!(outcome.output.contains("Read-only file system"), "{outcome:?}");
    assert!(sandbox.why_caches_are_read_only().is_some());
    assert!(sandbox.to_string().contains("caches are read-only"), "{sandbox}");
}
