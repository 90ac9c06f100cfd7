//! Holes that were once found in this sandbox or in another one. None of them may open again.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use pintle_sandbox::{
    Confinement, Gap, Process, ProtectedChange, ProtectedChangeKind, Rights, Settings,
    Surroundings, Tier,
};

use crate::{
    confined::{SANDBOX, TIERS, runtime, shell},
    users::as_each_user,
    world::{SECRET, World},
};

const NAMESPACES: [Tier; 2] = [Tier::Full, Tier::View];

fn held(tier: Tier, settings: Settings) -> Result<pintle_sandbox::Held, Gap> {
    SANDBOX.at_most(tier).hold(Surroundings::new(settings).policy(Rights::Build))
}

fn kinds(changes: &[ProtectedChange]) -> Vec<ProtectedChangeKind> {
    changes.iter().map(|change| change.kind).collect()
}

/// Replaces a file as editors and git do.
fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

#[test]
fn a_cover_that_an_earlier_command_has_prepared_a_link_for_still_covers() {
    as_each_user(
        "holes::a_cover_that_an_earlier_command_has_prepared_a_link_for_still_covers",
        |_| {},
        || {
            for tier in NAMESPACES {
                let world = World::new();
                let mut settings = world.settings();
                let keys = world.workspace().join("inner/keys/key");
                settings.secrets.extend([keys.clone(), world.workspace().join("inner/keys")]);
                let held = held(tier, settings).unwrap();
                let prepare = "for place in / /tmp /dev/shm . inner ~ ~/.cargo; do
                    ln -sf ~/.ssh/id_key $place/.hidden; ln -sf $ROOT/home/.ssh/id_key $place/hidden
                done; mv inner outer; mv inner/keys keys; mv ~/.cargo/credentials.toml ~/.cargo/x; true";
                assert_eq!(world.run(&held, prepare).code, 0);
                let look = "cat ~/.netrc ~/.cargo/credentials.toml ~/.cargo/x inner/keys/key outer/keys/key keys/key; \
                        cat /.hidden /tmp/.hidden hidden .hidden ~/.cargo/.hidden; echo end";
                let outcome = world.run(&held, look);
                assert!(outcome.output.ends_with("end\n"), "{outcome:?}");
                assert!(!outcome.output.contains(SECRET), "{tier:?}: {}", outcome.output);
                assert_eq!(fs::read_to_string(&keys).unwrap(), SECRET);
            }
        },
    );
}

// A workspace under /tmp is mounted in the process's own /tmp, where an earlier command can write.
#[test]
fn a_mount_point_that_an_earlier_command_has_made_a_link_leads_nowhere() {
    as_each_user(
        "holes::a_mount_point_that_an_earlier_command_has_made_a_link_leads_nowhere",
        |_| {},
        || {
            for tier in NAMESPACES {
                let world = World::in_folder(&std::env::temp_dir());
                let before = world.outside();
                let held = world.held(tier, Rights::Build);
                world.run(&held, "cd /; mv $ROOT $ROOT.old; ln -s $ROOT/home/letters $ROOT; mv $HOME $HOME.old; ln -s letters $HOME");
                let outcome = world.run(&held, "cat README");
                assert_eq!(outcome.output, "a project", "{tier:?}: {outcome:?}");
                assert!(world.outside() == before);

                // The link is there, however it came to be there.
                let other = tempfile::tempdir().unwrap();
                let tmp = world.root.join("data/tmp");
                for entry in fs::read_dir(&tmp).unwrap().flatten() {
                    fs::remove_dir_all(entry.path()).unwrap();
                }
                let name = world.root.strip_prefix(std::env::temp_dir()).unwrap();
                symlink(other.path(), tmp.join(name)).unwrap();
                assert_eq!(world.run(&held, "cat README").code, 125, "{tier:?}");
                assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0, "{tier:?}");
            }
        },
    );
}

// R17.2: the kernel takes a mount off a file that the host replaces.
#[test]
fn a_protected_file_that_the_host_replaces_meanwhile_is_put_right() {
    as_each_user(
        "holes::a_protected_file_that_the_host_replaces_meanwhile_is_put_right",
        |_| {},
        || {
            for tier in TIERS {
                let world = World::new();
                let rules = world.workspace().join("agent.json");
                let held = world.held(tier, Rights::Build);
                let host = || replace(&rules, "by the host");
                let outcome =
                    world.run_halves(&held, "", host, "echo evil > agent.json; cat agent.json");
                assert!(outcome.output.contains("evil"), "the hole itself, {tier:?}: {outcome:?}");
                let changes = &outcome.report.changed;
                assert_eq!(
                    kinds(changes),
                    [ProtectedChangeKind::PutRight],
                    "{tier:?}: {changes:?}"
                );
                assert_eq!(changes[0].path, rules);
                assert_eq!(fs::read_to_string(&rules).unwrap(), "before");
            }
        },
    );
}

#[test]
fn a_protected_folder_holds_whatever_the_host_does_in_it() {
    for tier in NAMESPACES {
        let world = World::new();
        let held = world.held(tier, Rights::Build);
        let gate = world.workspace().join("hooks/gate.sh");
        let host = || replace(&gate, "by the host");
        let outcome = world.run_halves(&held, "", host, "echo evil > hooks/gate.sh");
        assert_ne!(outcome.code, 0);
        assert_eq!(fs::read_to_string(&gate).unwrap(), "by the host");
    }
}

// What may be read is a list that Landlock holds; a cover is only the second hold.
#[test]
fn a_hidden_file_that_the_host_replaces_meanwhile_stays_hidden() {
    let places = [Path::new(env!("CARGO_TARGET_TMPDIR")), &std::env::temp_dir()];
    for (tier, place) in TIERS.into_iter().flat_map(|tier| places.map(|place| (tier, place))) {
        let world = World::in_folder(place);
        let key = world.root.join("tools/key");
        fs::write(&key, SECRET).unwrap();
        let mut settings = world.settings();
        settings.secrets.push(key.clone());
        let held = held(tier, settings).unwrap();
        let host = || replace(&key, SECRET);
        let outcome = world.run_halves(&held, "", host, "cat $ROOT/tools/readme $ROOT/tools/key");
        let changes = &outcome.report.changed;
        assert!(outcome.output.contains("for everyone"), "{tier:?}: {outcome:?}");
        // The rights on a process's own /tmp reach to what is mounted in it.
        let only_covered = tier == Tier::View || tier == Tier::Full && place.starts_with("/tmp");
        match only_covered {
            true => assert_eq!(kinds(changes), [ProtectedChangeKind::Uncovered]),
            false => assert!(!outcome.output.contains(SECRET), "{tier:?}: {}", outcome.output),
        }
    }
}

// Landlock cannot take a file out of a writable tree: it is said that the cover fell off.
#[test]
fn a_hidden_file_in_the_workspace_that_the_host_replaces_meanwhile_is_reported() {
    for tier in NAMESPACES {
        let world = World::new();
        let key = world.workspace().join("inner/keys/key");
        let mut settings = world.settings();
        settings.secrets.push(key.clone());
        let held = held(tier, settings).unwrap();
        let outcome = world.run_halves(&held, "cat inner/keys/key", || replace(&key, "new"), "");
        assert!(!outcome.output.contains(SECRET), "{outcome:?}");
        let changes = &outcome.report.changed;
        assert_eq!(kinds(changes), [ProtectedChangeKind::Uncovered], "{tier:?}: {changes:?}");
    }
}

#[test]
fn a_secret_in_a_writable_folder_is_not_held_without_namespaces() {
    let world = World::new();
    let key = world.workspace().join("inner/keys/key");
    let mut settings = world.settings();
    settings.secrets.push(key.clone());
    assert_eq!(held(Tier::Floor, settings).unwrap_err(), Gap::Hidden(key));
}

// R17.4
#[test]
fn a_protected_path_behind_a_symlink_is_refused() {
    for tier in TIERS {
        for (link, target) in [
            (".git", "real"),
            ("hooks", "inner"),
            ("agent.json", "README"),
            (".vscode", "/nowhere"),
        ] {
            let world = World::new();
            let place = world.workspace().join(link);
            // Held before: the start looks again.
            let before = world.held(tier, Rights::Build);
            fs::rename(&place, world.workspace().join("real")).unwrap();
            symlink(target, &place).unwrap();
            match held(tier, world.settings()) {
                Err(Gap::Symlink(path)) => assert!(path.starts_with(&place), "{path:?}"),
                other => panic!("{tier:?} {link}: {other:?}"),
            }
            let command = shell("echo > made", &world.workspace(), &world.variables());
            let started = runtime()
                .block_on(async { Process::start(&command, &Confinement::Held(before)).map(drop) });
            assert!(started.unwrap_err().to_string().contains("symlink"), "{tier:?} {link}");
            assert!(!world.workspace().join("made").exists(), "{tier:?} {link}");
        }
    }
}

// A workspace may lie in a folder that is secret otherwise, such as the data folder.
#[test]
fn what_is_protected_and_secret_stays_so_in_a_writable_folder_that_lies_in_a_secret_one() {
    for tier in TIERS {
        let world = World::new();
        let before = world.protected();
        let mut settings = world.settings();
        settings.secrets.push(world.home());
        if tier != Tier::Floor {
            settings.secrets.push(world.workspace().join("inner/keys"));
        }
        let held = held(tier, settings).unwrap();
        let script = "echo x > made; echo evil > agent.json; mv .git old; echo > .git/commondir
            echo evil > hooks/gate.sh; mv inner outer; cat ~/.ssh/id_key ~/letters/plan.txt; ls ~";
        let outcome = world.run(&held, script);
        assert!(!outcome.output.contains(SECRET), "{tier:?}: {outcome:?}");
        assert!(!outcome.output.contains("letters\n"), "{tier:?}: {outcome:?}");
        assert_eq!(world.protected(), before, "{tier:?}: {outcome:?}");
        assert!(world.workspace().join("made").exists());
        let keys = world.run(&held, "cat inner/keys/key outer/keys/key");
        assert!(tier == Tier::Floor || !keys.output.contains(SECRET), "{tier:?}: {keys:?}");
    }
}

// A profile may be named by a path that leads through a link of its user's.
#[test]
fn a_protected_path_is_protected_by_whatever_name_it_was_given() {
    for tier in NAMESPACES {
        let world = World::new();
        let link = world.root.join("link");
        symlink(world.workspace(), &link).unwrap();
        let settings = Settings { protect: vec![link.join("agent.json")], ..world.settings() };
        let outcome = world.run(&held(tier, settings).unwrap(), "echo evil > agent.json");
        assert_ne!(outcome.code, 0, "{tier:?}");
        assert_eq!(fs::read_to_string(world.workspace().join("agent.json")).unwrap(), "before");
    }
}

#[test]
fn a_git_file_that_a_command_wrote_grants_nothing_at_the_next_session() {
    // Where the file leads, and what a command can put there.
    let attempts = [
        "rm -rf .git; echo gitdir: $HOME/letters > .git",
        "rm -rf .git; mkdir evil; echo gitdir: evil > .git; echo $PWD/.git > evil/gitdir; echo $HOME/letters > evil/commondir",
        "rm -rf .git; mkdir -p evil/worktrees/x; echo gitdir: evil/worktrees/x > .git; cd evil/worktrees/x
         echo ../../../.git > gitdir; echo $HOME/letters > commondir",
        "rm -rf .git; ln -s $HOME/letters .git",
        "rm -rf .git; mkdir -p evil/worktrees; ln -s $HOME/letters evil/worktrees/x; echo gitdir: evil/worktrees/x > .git",
    ];
    for attempt in attempts {
        let world = World::new();
        // A first session without a repository, in which nothing of it is protected yet.
        let done = crate::confined::bare(attempt, &world.workspace(), &world.variables());
        assert_eq!(done.code, 0, "{attempt}");
        let policy = Surroundings::new(world.settings()).policy(Rights::Build);
        let letters = world.home().join("letters");
        let is_granted = |tree: &PathBuf| {
            let tree = tree.canonicalize().unwrap();
            letters.starts_with(&tree) || tree.starts_with(&letters)
        };
        assert!(!policy.write.iter().any(is_granted), "{attempt}: {:?}", policy.write);
    }
}

#[test]
fn the_sweep_never_follows_a_link_that_a_command_has_planted() {
    as_each_user(
        "holes::the_sweep_never_follows_a_link_that_a_command_has_planted",
        |_| {},
        || {
            for attack in [
                "mv hooks old; ln -s ~/letters hooks",
                "rm -rf hooks; ln -s ~/letters hooks",
                "rm agent.json; ln -s ~/letters/note agent.json",
                "mv .git old; ln -s ~/letters .git",
                "rm -rf .git/hooks; ln -s ~/letters .git/hooks",
                "rm -rf .vscode; ln -s ../letters .vscode; echo x > .envrc",
                "rm -rf .git; mkdir .git; ln -s ~ .git/modules; ln -s ~/letters .git/info",
            ] {
                let world = World::new();
                let (before, protected) = (world.outside(), world.protected());
                let held = world.held(Tier::Floor, Rights::Build);
                let outcome = world.run(&held, attack);
                assert_eq!(outcome.code, 0, "{attack}");
                let changes = outcome.report.changed;
                assert!(!changes.is_empty(), "{attack}");
                assert!(world.outside() == before, "{attack}: {changes:?}");
                assert_eq!(world.protected(), protected, "{attack}: {changes:?}");
            }
        },
    );
}

// It has the same user as the command, and the socket to the host.
#[test]
fn process_1_cannot_be_made_to_speak_for_the_command() {
    as_each_user(
        "holes::process_1_cannot_be_made_to_speak_for_the_command",
        |_| {},
        || {
            for tier in NAMESPACES {
                let world = World::new();
                let script = r#"
                "$TOOL" take-descriptor 1 0 && echo taken
                "$TOOL" ptrace-read 1 4096 && echo traced
                ls /proc/1/fd/0 && echo listed
                cat /proc/1/environ /proc/1/maps && echo read
                gdb -p 1 -batch 2>&1 | grep -q "^0x" && echo attached
                echo end"#;
                let outcome = world.run(&world.held(tier, Rights::Build), script);
                let said: Vec<&str> = outcome.output.lines().collect();
                assert_eq!(said.last(), Some(&"end"), "{outcome:?}");
                for word in ["taken", "traced", "listed", "read", "attached"] {
                    assert!(!said.contains(&word), "{tier:?} {word}: {outcome:?}");
                }
                assert_eq!(outcome.report.not_run, None);
            }
        },
    );
}

#[test]
fn a_command_carries_nothing_along() {
    as_each_user(
        "holes::a_command_carries_nothing_along",
        |_| {},
        || {
            for tier in TIERS {
                let world = World::new();
                let script = "ls /proc/self/fd | tr '\\n' ' '; grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status";
                let outcome = world.run(&world.held(tier, Rights::Build), script);
                let none = "0000000000000000";
                let expected = format!(
                    "0 1 2 3 CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\n\
                 NoNewPrivs:\t1\nSeccomp:\t2\n"
                );
                // Without a user namespace only root could give up what a program may gain; nothing gains it anyway.
                let bounds = |text: &str| -> Vec<String> {
                    let lines = text.lines().filter(|line| !line.starts_with("CapBnd"));
                    lines.map(str::to_owned).collect()
                };
                match tier {
                    Tier::Floor => {
                        assert_eq!(bounds(&outcome.output), bounds(&expected), "{tier:?}")
                    }
                    _ => assert_eq!(outcome.output, expected, "{tier:?}"),
                }
            }
        },
    );
}

// What one command leaves in its copy of a cache, another project's build or a hook's linter would run.
#[test]
fn copies_of_caches_are_not_shared_by_other_workspaces_or_other_rights() {
    let world = World::new();
    let other = world.root.join("home/other");
    fs::create_dir(&other).unwrap();
    let poison = "echo evil > ~/.cargo/config.toml && cat ~/.cargo/config.toml";
    let same = held(Tier::Full, world.settings()).unwrap();
    assert_eq!(world.run(&same, poison).output, "evil\n");
    assert_eq!(world.run(&same, "cat ~/.cargo/config.toml").output, "evil\n");
    let hook = Settings { write: vec![other.clone()], ..world.settings() };
    let elsewhere =
        Settings { workspace: other, read: vec![world.workspace()], ..world.settings() };
    for settings in [hook, elsewhere] {
        let outcome = world.run(&held(Tier::Full, settings).unwrap(), "cat ~/.cargo/config.toml");
        assert_eq!(outcome.output, "before", "{outcome:?}");
    }
}

// Arguments and environment travel in one message: a NUL would end one text and begin another.
#[test]
fn an_argument_with_a_nul_byte_does_not_become_a_variable() {
    for tier in TIERS {
        let world = World::new();
        let script = "echo > made; env > variables\0EVIL=yes";
        let command = shell(script, &world.workspace(), &world.variables());
        let started = runtime().block_on(async {
            Process::start(&command, &Confinement::Held(world.held(tier, Rights::Build))).map(drop)
        });
        assert!(started.unwrap_err().to_string().contains("NUL"), "{tier:?}");
        assert!(!world.workspace().join("made").exists());
    }
}

#[test]
fn a_temporary_folder_that_may_be_read_cannot_be_written() {
    for tier in NAMESPACES {
        let world = World::new();
        let shared = std::env::temp_dir();
        let mark = format!("{}-{}", tier.name(), std::process::id());
        let settings = Settings { read: vec![shared.clone()], ..world.settings() };
        let outcome = world.run(&held(tier, settings).unwrap(), &format!("echo > /tmp/{mark}"));
        assert!(!shared.join(&mark).exists(), "{outcome:?}");
    }
}

// `/nix`, `/run/systemd/resolve` and the like hold sockets of services that act for whoever connects.
#[test]
fn no_folder_of_a_service_is_part_of_the_system() {
    let world = World::new();
    let policy = Surroundings::new(world.settings()).policy(Rights::Build);
    for socket in [
        "/run/systemd/resolve/io.systemd.Resolve",
        "/nix/var/nix/daemon-socket/socket",
        "/var/guix/daemon-socket/socket",
        "/var/run/docker.sock",
        "/run/dbus/system_bus_socket",
    ] {
        let is_granted = |tree: &PathBuf| Path::new(socket).starts_with(tree);
        assert!(!policy.read.iter().chain(&policy.write).any(is_granted), "{socket}");
    }
}

// R11.2: of the system, what others cannot read is a secret too.
#[test]
fn of_the_system_only_what_everyone_may_read_is_readable() {
    let closed = Path::new("/etc/shadow");
    let mode = fs::metadata(closed).unwrap().permissions().mode();
    assert_eq!(mode & 0o004, 0, "this test needs a closed file");
    let can_read = fs::File::open(closed).is_ok();
    let policy = Surroundings::new(World::new().settings()).policy(Rights::Build);
    assert_eq!(policy.hide.iter().any(|path| path == closed), can_read);
    assert!(!policy.hide.iter().any(|path| path == Path::new("/etc/passwd")));
}
