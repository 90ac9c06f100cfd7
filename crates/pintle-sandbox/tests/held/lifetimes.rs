//! How confined processes end, and that nothing of them stays (R17.6).

use std::{
    env, fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use pintle_sandbox::{
    Confinement, Held, Launcher, Process, ProtectedChange, ProtectedChangeKind, Rights, Sandbox,
    Streams, Tier,
};
use tokio::io::AsyncReadExt;

use crate::{
    confined::{LAG, TIERS, runtime, shell},
    random::Random,
    users::{self, as_each_user},
    world::World,
};

const NAMESPACES: [Tier; 2] = [Tier::Full, Tier::View];

/// In the environment of every command of a test.
const MARK: &str = "PINTLE_TEST_MARK";

/// In the environment of a test that runs again as a host: the root of its world and the tier.
const HOST_IN: &str = "PINTLE_TEST_HOST_IN";
const HOST_TIER: &str = "PINTLE_TEST_HOST_TIER";

/// Starts a script that carries the mark of its world.
fn start(world: &World, held: &Held, script: &str) -> (Process, Streams) {
    let mut variables = world.variables();
    variables.push((MARK, world.root.display().to_string()));
    let command = shell(script, &world.workspace(), &variables);
    Process::start(&command, &Confinement::Held(held.clone())).unwrap()
}

/// The processes of a world: commands by their mark, launchers by their file, which is the world's own.
fn alive(root: &Path) -> Vec<i32> {
    let mark = format!("{MARK}={}", root.display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_marked =
            environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        is_marked || program.starts_with(root)
    })
    .collect()
}

#[track_caller]
fn assert_all_end(root: &Path, what: &str) {
    let deadline = Instant::now() + LAG;
    loop {
        match alive(root) {
            left if left.is_empty() => return,
            left => assert!(Instant::now() < deadline, "{what}: {left:?} live on"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + LAG;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} is not made", path.display());
        thread::sleep(Duration::from_millis(2));
    }
}

/// Two daemons that ignore what they are asked, beside the command itself.
const DAEMONS: &str = r#"
    setsid sh -c 'trap "" TERM HUP; : > one; sleep 300; :' &
    (setsid sh -c '(trap "" TERM HUP; cd /; : > "$0"; exec sleep 300) &' "$PWD/two" &)
    until [ -e one ] && [ -e two ]; do sleep 0.01; done; : > ready; "#;

#[test]
fn a_process_that_is_dropped_takes_its_daemons_along() {
    as_each_user(
        "lifetimes::a_process_that_is_dropped_takes_its_daemons_along",
        |_| {},
        || {
            for tier in NAMESPACES {
                let world = World::new();
                let held = world.held(tier, Rights::Build);
                runtime().block_on(async {
                    let (process, _streams) = start(&world, &held, &format!("{DAEMONS} sleep 300"));
                    wait_for(&world.workspace().join("ready"));
                    drop(process);
                    tokio::time::sleep(pintle_sandbox::TERM_GRACE * 2).await;
                });
                assert_all_end(&world.root, tier.name());
            }
        },
    );
}

#[test]
fn a_command_that_ends_takes_its_daemons_along() {
    for tier in NAMESPACES {
        let world = World::new();
        let held = world.held(tier, Rights::Build);
        let status = runtime().block_on(async {
            let (mut process, _streams) = start(&world, &held, DAEMONS);
            process.wait().await.unwrap()
        });
        assert!(status.success());
        // The end of process 1 is the end of all of them, before the host knows of it.
        assert_eq!(alive(&world.root), [] as [i32; 0], "{tier:?}");
    }
}

/// Starts this test again as a host in a world.
fn start_host(test: &str, world: &World, tier: Tier) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(HOST_IN, &world.root)
        .env(HOST_TIER, tier.name())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The sandbox of a host whose launcher lies in its world, if this test was started as one.
fn as_host() -> Option<(PathBuf, Sandbox)> {
    let root = PathBuf::from(env::var_os(HOST_IN)?);
    let launcher = root.join("launcher");
    fs::copy(users::launcher(), &launcher).unwrap();
    let tier = env::var(HOST_TIER).unwrap();
    let tier = TIERS.into_iter().find(|known| known.name() == tier).unwrap();
    Some((root, Sandbox::probe(&Launcher::at(launcher), LAG).at_most(tier)))
}

/// Starts processes with daemons, four at a time, for ever.
fn be_a_busy_host(root: &Path, sandbox: &Sandbox) -> ! {
    let world = World::at(root);
    let policy = pintle_sandbox::Surroundings::new(world.settings()).policy(Rights::Build);
    let held = sandbox.hold(policy).unwrap();
    runtime().block_on(async {
        loop {
            let mut four =
                [(); 4].map(|()| start(&world, &held, "setsid sleep 300 & : > ready; sleep 0.002"));
            for (process, _) in &mut four {
                process.wait().await.unwrap();
            }
        }
    })
}

const KILLED: &str = "lifetimes::a_host_that_is_killed_at_any_moment_leaves_no_process";

#[test]
fn a_host_that_is_killed_at_any_moment_leaves_no_process() {
    if let Some((root, sandbox)) = as_host() {
        be_a_busy_host(&root, &sandbox);
    }
    let mut random = Random::new();
    for (round, tier) in NAMESPACES.into_iter().cycle().take(24).enumerate() {
        let world = World::new();
        let mut host = start_host(KILLED, &world, tier);
        wait_for(&world.workspace().join("ready"));
        // Any moment of a start, which takes some milliseconds.
        thread::sleep(Duration::from_micros(random.below(20_000)));
        host.kill().unwrap();
        host.wait().unwrap();
        assert_all_end(&world.root, &format!("round {round}, {tier:?}"));
    }
}

// R3.2 needs them apart.
#[test]
fn exit_codes_and_signals_come_through() {
    as_each_user(
        "lifetimes::exit_codes_and_signals_come_through",
        |_| {},
        || {
            for tier in TIERS {
                let world = World::new();
                let held = world.held(tier, Rights::Build);
                let ended = |script: &str| {
                    runtime().block_on(async {
                        let (mut process, _streams) = start(&world, &held, script);
                        let status = process.wait().await.unwrap();
                        assert_eq!(process.report().not_run, None, "{tier:?} {script}");
                        (status.code(), status.signal())
                    })
                };
                for code in [0, 1, 3, 125, 126, 137, 255] {
                    assert_eq!(ended(&format!("exit {code}")), (Some(code), None), "{tier:?}");
                }
                for signal in [1, 2, 6, 9, 11, 13, 15] {
                    let script = format!("kill -{signal} $$; sleep 300");
                    assert_eq!(ended(&script), (None, Some(signal)), "{tier:?}");
                }
                assert_eq!(
                    ended("sh -c 'kill -9 $$'"),
                    (Some(137), None),
                    "{tier:?}: a child's end"
                );
            }
        },
    );
}

#[test]
fn a_command_that_is_asked_to_end_can_clean_up() {
    for tier in TIERS {
        let world = World::new();
        let held = world.held(tier, Rights::Build);
        let script = "trap 'echo cleaned; exit 7' TERM; : > ready; sleep 300 & wait";
        runtime().block_on(async {
            let (mut process, mut streams) = start(&world, &held, script);
            wait_for(&world.workspace().join("ready"));
            process.terminate();
            assert_eq!(process.wait().await.unwrap().code(), Some(7), "{tier:?}");
            process.exited().await;
            let mut said = String::new();
            streams.stdout.read_to_string(&mut said).await.unwrap();
            assert_eq!(said, "cleaned\n", "{tier:?}");
        });
    }
}

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    for tier in NAMESPACES {
        let world = World::new();
        let script = "for i in $(seq 300); do (true &); done; sleep 0.2; \
                      grep -l '^State:.Z' /proc/[0-9]*/status | wc -l";
        let outcome = world.run(&world.held(tier, Rights::Build), script);
        assert_eq!(outcome.output, "0\n", "{tier:?}: {outcome:?}");
    }
}

// Two overlays must not share a store.
#[test]
fn as_many_processes_as_there_are_copies_of_the_caches_run_at_once() {
    const COPIES: usize = 64;
    let world = World::new();
    let held = world.held(Tier::Full, Rights::Build);
    runtime().block_on(async {
        let mut running = Vec::new();
        for number in 0..COPIES {
            let script = format!(
                "echo {number} > ~/.cargo/mine; : > up-{number}; until [ -e go ]; do sleep 0.05; done
                 [ \"$(cat ~/.cargo/mine)\" = {number} ] && cat ~/.cargo/config.toml"
            );
            running.push((number, start(&world, &held, &script)));
        }
        for number in 0..COPIES {
            wait_for(&world.workspace().join(format!("up-{number}")));
        }
        let command = shell("true", &world.workspace(), &world.variables());
        let error = Process::start(&command, &Confinement::Held(held.clone())).err().unwrap();
        assert!(error.to_string().contains("64 copies of the caches"), "{error}");
        fs::write(world.workspace().join("go"), "").unwrap();
        for (number, (mut process, mut streams)) in running {
            assert!(process.wait().await.unwrap().success(), "{number}");
            let mut said = String::new();
            streams.stdout.read_to_string(&mut said).await.unwrap();
            assert_eq!(said, "before", "{number}");
        }
    });
    assert!(!world.home().join(".cargo/mine").exists());
}

#[test]
fn a_copy_of_the_caches_is_not_given_away_while_its_process_still_ends() {
    let world = World::new();
    let held = world.held(Tier::Full, Rights::Build);
    let slow = "trap '' TERM; echo slow > ~/.cargo/mine; : > ready; sleep 300 & wait; sleep 300";
    let other = "[ ! -e ~/.cargo/mine ]";
    runtime().block_on(async {
        let (process, _streams) = start(&world, &held, slow);
        wait_for(&world.workspace().join("ready"));
        drop(process);
        let (mut process, _streams) = start(&world, &held, other);
        assert!(process.wait().await.unwrap().success(), "it found the first one's cache");
    });
}

fn kinds(changes: &[ProtectedChange]) -> Vec<ProtectedChangeKind> {
    changes.iter().map(|change| change.kind).collect()
}

/// Waits until a script in the background has made this file.
async fn made(path: &Path) {
    let asked = Instant::now();
    while !path.exists() {
        assert!(asked.elapsed() < LAG, "{} was not made", path.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// R17.2: however a process ends.
#[test]
fn without_namespaces_a_dropped_process_leaves_protected_paths_as_they_were() {
    let world = World::new();
    let protected = world.protected();
    let held = Confinement::Held(world.held(Tier::Floor, Rights::Build));
    let script = "echo evil > hooks/new.sh; echo evil > agent.json; : > done; exec sleep 60";
    let command = shell(script, &world.workspace(), &world.variables());
    runtime().block_on(async {
        let process = Process::start(&command, &held).unwrap();
        made(&world.workspace().join("done")).await;
        assert_ne!(world.protected(), protected, "nothing holds it while it runs");
        drop(process);
    });
    assert_eq!(world.protected(), protected);
}

// R17.2: what the second one finds on the disk, the first one wrote.
#[test]
fn without_namespaces_what_one_process_changed_is_not_put_back_by_another() {
    let world = World::new();
    let protected = world.protected();
    let held = Confinement::Held(world.held(Tier::Floor, Rights::Build));
    let command = |script| shell(script, &world.workspace(), &world.variables());
    let attack =
        "echo evil > hooks/new.sh; echo evil > agent.json; : > .codex; : > done; exec sleep 60";
    runtime().block_on(async {
        let (mut first, _output) = Process::start(&command(attack), &held).unwrap();
        first.goes_on(&held);
        made(&world.workspace().join("done")).await;
        let (second, _output) = Process::start(&command("exec sleep 60"), &held).unwrap();
        let changed = first.end().await.changed;
        assert_eq!(changed.len(), 3, "{changed:?}");
        let changed = second.end().await.changed;
        assert_eq!(kinds(&changed), [ProtectedChangeKind::Created], "{changed:?}");
    });
    fs::remove_file(world.workspace().join(".codex")).unwrap();
    assert_eq!(world.protected(), protected);
}

// A server in the background runs for hours, and its user goes on working.
#[test]
fn what_a_person_changed_while_a_process_went_on_stays() {
    for tier in NAMESPACES {
        let world = World::new();
        let (rules, settings) =
            (world.workspace().join("agent.json"), world.workspace().join(".git/config"));
        let held = Confinement::Held(world.held(tier, Rights::Build));
        let script = "echo evil > agent.json; : > .codex; : > done; exec sleep 60";
        let command = shell(script, &world.workspace(), &world.variables());
        let changed = runtime().block_on(async {
            let (mut process, _output) = Process::start(&command, &held).unwrap();
            process.goes_on(&held);
            made(&world.workspace().join("done")).await;
            assert_eq!(fs::read_to_string(&rules).unwrap(), "before", "{tier:?}");
            fs::write(&rules, "by a person").unwrap();
            let fresh = settings.with_extension("new");
            fs::write(&fresh, "by a person's git").unwrap();
            fs::rename(&fresh, &settings).unwrap();
            process.end().await.changed
        });
        let expected = [ProtectedChangeKind::Changed, ProtectedChangeKind::Created];
        assert_eq!(kinds(&changed), expected, "{tier:?}: {changed:?}");
        assert_eq!(
            changed[0].path, settings,
            "its mount fell off: the process may have changed it"
        );
        assert_eq!(fs::read_to_string(&rules).unwrap(), "by a person");
        assert_eq!(fs::read_to_string(&settings).unwrap(), "by a person's git");
    }
}
