//! Everyday work that goes on inside (R17.4), really done in a small project.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use pintle_sandbox::{Held, Rights, Settings, Surroundings, Tier};

use crate::{
    confined::{Outcome, SANDBOX, TIERS, bare, confined, runtime, shell},
    world::{PATH, World},
};

/// Something that people do, and what it says when it worked.
struct Work {
    name: &'static str,
    script: &'static str,
    says: &'static str,
    /// Why it does not work without namespaces.
    not_at_floor: Option<&'static str>,
}

const WORK: Work = Work { name: "", script: "", says: "", not_at_floor: None };

const NO_SHARED_MEMORY: Option<&str> = Some("there is no /dev/shm of its own");
const NO_OTHER_NETWORK: Option<&str> = Some("there is no loopback of its own");
const NO_SOCKETS: Option<&str> = Some("the host's sockets cannot be told from its own");
const NO_TERMINALS: Option<&str> = Some("there are no terminals of its own");
const NO_OTHER_TMP: Option<&str> = Some("there is no /tmp of its own: TMPDIR names a folder");

/// One after the other, in one repository.
const GIT: &[Work] = &[
    Work { name: "git init", script: "git init -q new && cat new/.git/HEAD", says: "ref:", ..WORK },
    Work {
        name: "git status",
        script: "echo > made && git status --short made",
        says: "?? made",
        ..WORK
    },
    Work {
        name: "git add",
        script: "git add made && git status --short made",
        says: "A  made",
        ..WORK
    },
    Work {
        name: "git commit",
        script: "git commit -qm made && git log --oneline -1",
        says: "made",
        ..WORK
    },
    Work { name: "git branch", script: "git branch side && git branch", says: "side", ..WORK },
    Work {
        name: "git checkout",
        script: "git checkout -q -b other && git branch",
        says: "* other",
        ..WORK
    },
    Work {
        name: "git stash",
        script: "echo more >> made && git stash -q && git stash pop -q && git status --short made",
        says: " M made",
        ..WORK
    },
    Work {
        name: "git merge",
        script: "git commit -qam more && git checkout -q main && git merge -q other && git log --oneline -1",
        says: "more",
        ..WORK
    },
    Work {
        name: "git gc",
        script: "git gc -q && git count-objects -v",
        says: "count: 0\nsize: 0\nin-pack",
        ..WORK
    },
    Work {
        name: "git worktree",
        script: "git worktree add -q tree side && cd tree && echo > there && git add there \
                 && git commit -qm there && git log --oneline -1",
        says: "there",
        ..WORK
    },
];

const TOOLS: &[Work] = &[
    Work {
        name: "cargo check",
        script: "cd rust && cargo check --offline 2>&1",
        says: "Finished",
        ..WORK
    },
    Work {
        name: "cargo build",
        script: "cd rust && cargo build --offline --target-dir built && built/debug/work",
        says: "two and two is 4",
        ..WORK
    },
    Work {
        name: "cargo test",
        script: "cd rust && cargo test --offline --target-dir tested 2>&1",
        says: "1 passed",
        ..WORK
    },
    Work { name: "npm test", script: "cd node && npm test", says: "tested by npm", ..WORK },
    Work { name: "npm run", script: "cd node && npm run local", says: "run by npm", ..WORK },
    Work {
        name: "node workers",
        script: "node -e 'const { Worker } = require(\"worker_threads\");
            new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(7 * 6)\", { eval: true })
                .on(\"message\", (m) => console.log(\"worker\", m))'",
        says: "worker 42",
        ..WORK
    },
    Work {
        name: "node fork",
        script: "echo 'process.send(7 * 6)' > child.js && node -e '
            require(\"child_process\").fork(\"./child.js\").on(\"message\", (m) => console.log(\"child\", m))'",
        says: "child 42",
        ..WORK
    },
    Work {
        name: "python multiprocessing",
        script: "python3 -c '
from multiprocessing import Pool
if __name__ == \"__main__\":
    with Pool(2) as pool:
        print(sum(pool.map(abs, range(10))))'",
        says: "45",
        not_at_floor: NO_SHARED_MEMORY,
    },
    Work {
        name: "sqlite",
        script: "python3 -c '
import sqlite3
c = sqlite3.connect(\"base.sqlite\")
c.execute(\"pragma journal_mode = wal\")
c.execute(\"create table t (a)\")
c.execute(\"insert into t values (42)\")
c.commit()
print(c.execute(\"select a from t\").fetchone())'",
        says: "(42,)",
        ..WORK
    },
    Work {
        name: "python venv",
        script: "python3 -m venv --without-pip venv && venv/bin/python -c 'import sys; print(sys.prefix)'",
        says: "/venv",
        ..WORK
    },
    Work {
        name: "python asyncio",
        script: "python3 -c '
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec(\"echo\", \"awaited\", stdout=-1)
    print((await process.communicate())[0])
asyncio.run(main())'",
        says: "awaited",
        ..WORK
    },
    Work {
        name: "make -j4",
        script: "mkdir made-by && cd made-by && printf 'all: a b c d\\n\\tcat a b c d\\n%%:\\n\\techo $@ > $@\\n' > Makefile && make -s -j4",
        says: "d",
        ..WORK
    },
    Work {
        name: "gcc",
        script: "echo 'int main() { return 42; }' > c.c && gcc -o c c.c && ./c; echo $?",
        says: "42",
        ..WORK
    },
    Work {
        name: "address and leak sanitizer",
        script: "echo '#include <stdlib.h>
            int main() { char *volatile p = malloc(7); p = NULL; return 0; }' > leak.c
            gcc -g -fsanitize=address -o leak leak.c && ! ./leak 2>&1",
        says: "LeakSanitizer: detected memory leaks",
        ..WORK
    },
    Work {
        name: "strace",
        script: "strace -f -e trace=execve sh -c /bin/true 2>&1",
        says: "exited with 0",
        ..WORK
    },
    Work {
        name: "gdb",
        script: "gdb -batch -ex run -ex 'info inferiors' /bin/true 2>&1",
        says: "exited normally",
        ..WORK
    },
    Work {
        name: "a here-document",
        script: "bash -c 'cat <<E\nhere $((6 * 7))\nE'",
        says: "here 42",
        ..WORK
    },
    Work {
        name: "tar",
        script: "mkdir t && echo packed > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cat t/f",
        says: "packed",
        ..WORK
    },
    Work {
        name: "sed in place",
        script: "echo one > s && sed -i s/one/two/ s && cat s",
        says: "two",
        ..WORK
    },
    Work {
        name: "mktemp",
        script: "f=$(mktemp) && echo temporary > $f && cat $f && rm $f && d=$(mktemp -d) && rmdir $d",
        says: "temporary",
        ..WORK
    },
    Work {
        name: "/tmp by name",
        script: "echo mine > /tmp/f && cat /tmp/f",
        says: "mine",
        not_at_floor: NO_OTHER_TMP,
        ..WORK
    },
    Work {
        name: "shared memory",
        script: "echo mine > /dev/shm/f && cat /dev/shm/f",
        says: "mine",
        not_at_floor: NO_SHARED_MEMORY,
        ..WORK
    },
    Work {
        name: "a terminal",
        script: "script -qec 'tty; stty size' /dev/null",
        says: "/dev/pts/",
        not_at_floor: NO_TERMINALS,
        ..WORK
    },
    Work { name: "ps", script: "ps aux", says: "ps aux", ..WORK },
    Work { name: "top", script: "top -b -n 1", says: "top -", ..WORK },
    Work {
        name: "how many processors there are",
        script: "nproc && python3 -c 'import os; print(os.cpu_count())'",
        says: "",
        ..WORK
    },
    Work {
        name: "unix sockets",
        script: "python3 -c '
import os, socket, threading
for place in (\"socket\", \"/tmp/socket\", \"\\0hidden\"):
    server = socket.socket(socket.AF_UNIX)
    server.bind(place)
    server.listen()
    threading.Thread(target=lambda: server.accept()[0].send(b\"heard\")).start()
    client = socket.socket(socket.AF_UNIX)
    client.connect(place)
    print(client.recv(9))'",
        says: "b'heard'\nb'heard'\nb'heard'",
        not_at_floor: NO_SOCKETS,
        ..WORK
    },
    Work {
        name: "a server and a client",
        script: "python3 -m http.server 8000 --bind 127.0.0.1 > /dev/null 2>&1 &
            until curl -s http://127.0.0.1:8000/README; do sleep 0.05; done; kill $!",
        says: "a project",
        not_at_floor: NO_OTHER_NETWORK,
        ..WORK
    },
    Work {
        name: "a background job",
        script: "(sleep 0.05; echo late > job) & wait && cat job",
        says: "late",
        ..WORK
    },
    Work { name: "its own name", script: "id -u && hostname && uname -s", says: "Linux", ..WORK },
    Work {
        name: "find and grep",
        script: "find . -name README | xargs grep -n project",
        says: "1:a project",
        ..WORK
    },
];

/// A project with git, cargo, npm and a home folder, made by the host.
fn project(folder: &Path) -> (World, Settings, Vec<(&'static str, String)>) {
    let world = World::in_folder(folder);
    fs::remove_dir_all(world.workspace().join(".git")).unwrap();
    for (path, text) in [
        (
            "home/.gitconfig",
            "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n",
        ),
        ("home/.cargo/registry/index/kept", "kept"),
        ("home/.cargo/config.toml", "# before\n"),
        (
            "home/project/rust/Cargo.toml",
            "[package]\nname = \"work\"\nedition = \"2024\"\n[dependencies]\nsum = { path = \"sum\" }\n[workspace]\n",
        ),
        (
            "home/project/rust/src/main.rs",
            "fn main() {\n    println!(\"two and two is {}\", sum::sum(2, 2));\n}\n#[test]\nfn adds() {\n    assert_eq!(sum::sum(1, 1), 2);\n}\n",
        ),
        ("home/project/rust/sum/Cargo.toml", "[package]\nname = \"sum\"\nedition = \"2024\"\n"),
        ("home/project/rust/sum/src/lib.rs", "pub fn sum(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
        (
            "home/project/node/package.json",
            "{\"scripts\": {\"test\": \"node say.js tested\", \"local\": \"node say.js run\"}}",
        ),
        ("home/project/node/say.js", "console.log(process.argv[2], 'by npm')"),
    ] {
        world.write(path, text);
    }
    // The toolchain's own folder, as it is on a PATH without rustup.
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let sysroot = PathBuf::from(String::from_utf8(sysroot).unwrap().trim());
    let path = format!("{}:{PATH}", sysroot.join("bin").display());
    let mut variables = world.variables();
    variables.retain(|(name, _)| *name != "PATH");
    variables.push(("PATH", path.clone()));
    let made =
        bare("git init -q && git add -A && git commit -qm first", &world.workspace(), &variables);
    assert_eq!(made.code, 0, "{made:?}");
    let settings = Settings { path: Some(path.into()), ..world.settings() };
    (world, settings, variables)
}

fn held(settings: &Settings, tier: Tier) -> Held {
    let policy = Surroundings::new(settings.clone()).policy(Rights::Build);
    SANDBOX.at_most(tier).hold(policy).unwrap()
}

fn run(held: Held, script: &str, folder: &Path, variables: &[(&'static str, String)]) -> Outcome {
    runtime().block_on(confined(held, &shell(script, folder, variables))).unwrap()
}

/// Does each piece of work, some at once, and says which did not work.
fn do_all(works: &[Work], at_once: usize, tier: Tier, folder: &Path) {
    let (world, settings, variables) = project(folder);
    let works: Vec<&Work> =
        works.iter().filter(|work| tier != Tier::Floor || work.not_at_floor.is_none()).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(work) = works.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let held = held(&settings, tier);
                    let done = run(held, work.script, &world.workspace(), &variables);
                    if !done.output.contains(work.says)
                        || done.code != 0 && work.name != "address and leak sanitizer"
                    {
                        failed.lock().unwrap().push(format!("{}: {done:?}", work.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{tier:?}:\n{}", failed.join("\n"));
}

// R17.4
#[test]
fn git_works_inside() {
    for tier in TIERS {
        do_all(GIT, 1, tier, Path::new(env!("CARGO_TARGET_TMPDIR")));
    }
}

// R17.4
#[test]
fn the_tools_of_everyday_work_inside() {
    do_all(TOOLS, 3, Tier::Full, Path::new(env!("CARGO_TARGET_TMPDIR")));
    // Where no folder above has settings of cargo's: without a view it sees them and cannot read them.
    do_all(TOOLS, 3, Tier::Floor, &std::env::temp_dir());
}

// R17.4: a private /tmp must not hide a workspace, a profile or a data folder that lies there.
#[test]
fn a_workspace_under_tmp_works_like_any_other() {
    do_all(GIT, 1, Tier::Full, Path::new("/tmp"));
    for tier in TIERS {
        let (world, mut settings, variables) = project(Path::new("/tmp"));
        let profile = world.root.join("profile");
        fs::create_dir(&profile).unwrap();
        fs::write(profile.join("agent.json"), "{}").unwrap();
        settings.read.push(profile.clone());
        settings.protect.push(profile.clone());
        let script = format!(
            "cat {profile}/agent.json && echo x > made && echo y > $TMPDIR/mine && cat made $TMPDIR/mine \
             && ! echo x > {profile}/agent.json && ! ls {data}",
            profile = profile.display(),
            data = world.root.join("data").display(),
        );
        let done = run(held(&settings, tier), &script, &world.workspace(), &variables);
        assert!(done.code == 0 && done.output.contains("{}x\ny\n"), "{tier:?}: {done:?}");
        assert_eq!(fs::read_to_string(world.workspace().join("made")).unwrap(), "x\n");
        assert_eq!(fs::read_to_string(profile.join("agent.json")).unwrap(), "{}");
    }
}

// R17.4
#[test]
fn caches_are_copied_on_write() {
    let (world, settings, variables) = project(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let before = world.outside();
    let held = held(&settings, Tier::Full);
    let first = "cat ~/.cargo/registry/index/kept && echo new > ~/.cargo/registry/new && echo changed > ~/.cargo/config.toml \
                 && rm ~/.cargo/registry/index/kept && cat ~/.cargo/registry/new ~/.cargo/config.toml";
    let done = run(held.clone(), first, &world.workspace(), &variables);
    assert!(done.output.ends_with("keptnew\nchanged\n"), "{done:?}");
    let later = "cat ~/.cargo/registry/new ~/.cargo/config.toml; ls ~/.cargo/registry/index";
    let done = run(held, later, &world.workspace(), &variables);
    assert_eq!(done.output, "new\nchanged\n", "seen again");
    assert!(world.outside() == before, "and never outside");
}

/// Every name below a folder, with what kind of thing it is.
fn names(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                pending.push(entry.path());
            }
            found.insert(entry.path(), format!("{kind:?}"));
        }
    }
    found
}

// R17.4
#[test]
fn no_stub_is_left_in_the_workspace_or_beside_it() {
    for tier in TIERS {
        // With and without the paths that are protected.
        for script in ["true", "false", "kill -9 $$", "cat /nowhere"] {
            for bare_workspace in [false, true] {
                let world = World::new();
                let mut settings = world.settings();
                if bare_workspace {
                    fs::remove_dir_all(world.workspace()).unwrap();
                    fs::create_dir(world.workspace()).unwrap();
                }
                settings.secrets.push(world.workspace().join("inner/absent"));
                let before = (names(&world.home()), names(&world.root.join("tools")));
                run(held(&settings, tier), script, &world.workspace(), &world.variables());
                let after = (names(&world.home()), names(&world.root.join("tools")));
                assert_eq!(after, before, "{tier:?} {script}");
            }
        }
    }
}
