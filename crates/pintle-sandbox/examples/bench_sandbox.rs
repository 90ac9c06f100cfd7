//! What it costs to start a process that the kernel holds, beside a bare one and beside bubblewrap with the same rights, and
//! what work costs inside (R17.8). Prints one JSON object per line.
//!
//! `cargo run --release -p pintle-sandbox --example bench_sandbox`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program that `cargo xtask bench` runs"
)]

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

use pintle_sandbox::{
    Confinement, Folder, Output, Policy, Process, Rights, Sandbox, Settings, Stdin, Surroundings,
    Tier, Unconfined,
};

const RUNS: usize = 300;
const WARM_UP: usize = 20;
const CHECKS: usize = 15;
const FUNCTIONS: u32 = 10_000;

type Shape<'a> = Box<dyn FnMut() + 'a>;

fn main() {
    let launcher = pintle_sandbox::init();
    let sandbox = Sandbox::probe(&launcher, Duration::from_secs(5));
    assert_eq!(sandbox.tier(), Tier::Full, "{sandbox}");
    let place = tempfile::tempdir().unwrap();
    let policy = policy(&place.path().canonicalize().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let workspace = policy.write[0].clone();
    let held = |tier: Tier| sandbox.at_most(tier).hold(policy.clone()).unwrap();
    let full = Confinement::Held(held(Tier::Full));
    let floor = Confinement::Held(held(Tier::Floor));
    let none = Confinement::Unconfined(Unconfined::by("this benchmark"));
    let start = &|how: &Confinement, argv: &[&str]| runtime.block_on(run(how, argv, &workspace));

    let bwrap = bubblewrap(&policy);
    let [bare, spawned, full_time, bwrap, floor_time] = in_turns(
        RUNS,
        [
            Box::new(|| start(&none, &["/bin/true"])),
            Box::new(|| finish(Command::new("/bin/true").current_dir(&workspace).env_clear())),
            Box::new(|| start(&full, &["/bin/true"])),
            Box::new(|| finish(Command::new("bwrap").args(&bwrap).arg("/bin/true").env_clear())),
            Box::new(|| start(&floor, &["/bin/true"])),
        ],
    );
    report("confined `true`", full_time, "`true` without a sandbox", bare, "≤ 8×");
    report("confined `true`", full_time, "`true` spawned by the standard library", spawned, "");
    let same_rights = "`true` in bubblewrap with the same rights";
    report("confined `true`", full_time, same_rights, bwrap, "≤ 1.1×");
    report("confined `true` without namespaces", floor_time, "`true` without a sandbox", bare, "");

    let source = workspace.join("src/lib.rs");
    let function = |n| format!("pub fn f{n}(a: u64) -> u64 {{ a.rotate_left(3) ^ {n} }}\n");
    let functions: String = (0..FUNCTIONS).map(function).collect();
    // Cargo compares times: the file changes before each check.
    let change = || fs::write(&source, format!("//! {:?}\n{functions}", Instant::now())).unwrap();
    let test = "let n = 0; for (let i = 0; i < 2e8; i++) n ^= i;";
    let scripts = serde_json::json!({ "scripts": { "test": format!("node -e '{test}'") } });
    fs::write(workspace.join("package.json"), scripts.to_string()).unwrap();
    for (row, line) in [
        ("`cargo check` of 10,000 functions, confined", "cargo check --offline --quiet"),
        ("`npm test`, confined", "npm test --silent"),
    ] {
        let [inside, outside] = in_turns(
            CHECKS,
            [&full, &none].map(|how| -> Shape<'_> {
                Box::new(|| {
                    change();
                    start(how, &["/bin/sh", "-c", line]);
                })
            }),
        );
        report(row, inside, "outside", outside, "≤ 1.1×");
    }
}

/// The rights of zone `build` in a repository, without copies of caches, which bubblewrap of Debian does not make.
fn policy(place: &Path) -> Policy {
    let workspace = place.join("workspace");
    for folder in ["workspace/src", "workspace/.git/hooks", "tmp", "home/.cargo"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    fs::write(workspace.join(".git/config"), "").unwrap();
    fs::write(workspace.join("agent.json"), "{}").unwrap();
    let manifest = "[package]\nname = \"small\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(workspace.join("Cargo.toml"), manifest).unwrap();
    let surroundings = Surroundings::new(Settings {
        protect: vec![workspace.join("agent.json")],
        workspace,
        home: Some(place.join("home")),
        path: variables().into_iter().find(|(name, _)| name == "PATH").map(|(_, path)| path),
        tmp: Some(place.join("tmp")),
        caches: Some(Vec::new()),
        ..Settings::default()
    });
    surroundings.policy(Rights::Build)
}

/// With the toolchain itself on the path: a wrapper of rustup's would be measured otherwise.
fn variables() -> Vec<(OsString, OsString)> {
    static PATH: LazyLock<OsString> = LazyLock::new(|| {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let sysroot = String::from_utf8(sysroot.stdout).unwrap();
        format!("{}/bin:/usr/bin:/bin", sysroot.trim()).into()
    });
    vec![("PATH".into(), PATH.clone())]
}

async fn run(how: &Confinement, argv: &[&str], folder: &Path) {
    let command = pintle_sandbox::Command {
        program: argv[0].into(),
        args: argv[1..].iter().map(Into::into).collect(),
        env: variables(),
        folder: Folder::Path(folder.to_owned()),
        stdin: Stdin::Null,
        output: Output::Merged,
    };
    let (mut process, _streams) = Process::start(&command, how).unwrap();
    let status = process.wait().await.unwrap();
    assert!(status.success(), "{status}: {:?}", process.report());
    process.exited().await;
}

/// The same view, namespaces and links.
fn bubblewrap(policy: &Policy) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        arguments.extend(words.iter().map(|word| word.as_ref().to_owned()));
    };
    add(&[&"--unshare-all", &"--die-with-parent"]);
    for path in policy.read.iter().filter(|path| path.exists()) {
        match fs::read_link(path) {
            Ok(target) => add(&[&"--symlink", &target, path]),
            Err(_) => add(&[&"--ro-bind", path, path]),
        }
    }
    add(&[&"--ro-bind", &"/sys/devices/system", &"/sys/devices/system"]);
    add(&[&"--proc", &"/proc", &"--dev", &"/dev"]);
    for place in ["/tmp", "/var/tmp"] {
        add(&[&"--bind", policy.tmp.as_ref().unwrap(), &place]);
    }
    for path in &policy.write {
        add(&[&"--bind", path, path]);
    }
    // So that it cannot be renamed away.
    let git: PathBuf = policy.write[0].join(".git");
    add(&[&"--bind", &git, &git]);
    for path in policy.protect.iter().filter(|path| path.exists()) {
        add(&[&"--ro-bind", path, path]);
    }
    for path in &policy.hide {
        match path.is_dir() {
            true => add(&[&"--tmpfs", path]),
            false => add(&[&"--ro-bind", &"/dev/null", path]),
        }
    }
    add(&[&"--remount-ro", &"/", &"--chdir", &policy.write[0]]);
    arguments
}

fn finish(command: &mut Command) {
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    assert!(run.status().unwrap().success(), "{command:?}");
}

/// The median of each shape, all done in turns, so that whatever else the machine does hits them alike.
fn in_turns<const N: usize>(runs: usize, mut shapes: [Shape<'_>; N]) -> [Duration; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for run in 0..runs + WARM_UP.min(runs) {
        for (shape, times) in shapes.iter_mut().zip(&mut times) {
            let started = Instant::now();
            shape();
            if run >= WARM_UP.min(runs) {
                times.push(started.elapsed());
            }
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn report(row: &str, time: Duration, against: &str, base: Duration, hold: &str) {
    let ratio = time.as_secs_f64() / base.as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "row": row, "value": time.as_nanos(), "unit": "ns", "against": against,
            "base": base.as_nanos(), "ratio": ratio, "hold": hold,
        })
    );
}
